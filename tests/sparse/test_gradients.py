"""Gradients of sparse tensors, and sparse gradients of dense ones."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn import functional as F

INDICES = [[0, 1, 1, 3, 1], [2, 0, 2, 1, 0]]  # one of them twice


def leaf(device="cpu", dtype=tensorbus.float64, requires_grad=True):
    values = [1.0, -2.0, 3.0, 0.5, 1.5]
    return tensorbus.sparse_coo_tensor(
        INDICES, values, (4, 3), dtype=dtype, device=device, requires_grad=requires_grad
    )


def dense(*shape, seed=0):
    return tensorbus.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


FUNCTIONS = {
    "to_dense": lambda s, d: s.to_dense() * d.t(),
    "coalesce": lambda s, d: s.coalesce().values() ** 2,
    "mm": lambda s, d: tensorbus.sparse.mm(s, d),
    "dense @ sparse": lambda s, d: d @ s,
    "mv": lambda s, d: s @ d[:, 0],
    "addmm": lambda s, d: tensorbus.sparse.addmm(d.new_ones(4, 4), s, d, beta=0.5, alpha=2),
    "sparse @ sparse": lambda s, d: s @ s.t(),
    "add": lambda s, d: s + 2 * s.coalesce(),
    "dense + sparse": lambda s, d: d.t() * 2 + s,
    "mul": lambda s, d: s * d.t(),
    "mul sparse": lambda s, d: s * (s * s),
    "sum": lambda s, d: tensorbus.sparse.sum(s, 0) * d[:, 1],
    "sum of all": lambda s, d: s.sum() * d,
    "softmax": lambda s, d: tensorbus.sparse.softmax(s, 1) * d.t(),
    "log_softmax": lambda s, d: tensorbus.sparse.log_softmax(s, 0) * d.t(),
    "transpose": lambda s, d: s.t() * d,
    "index_select": lambda s, d: s.index_select(0, tensorbus.tensor([1, 1, 3])).to_dense() ** 2,
    "select": lambda s, d: s[1].to_dense() * d[:, 0],
    "cat": lambda s, d: tensorbus.cat([s, s * 3], 1),
    "csr": lambda s, d: s.to_sparse_csr() @ d,
    "csc": lambda s, d: s.to_sparse_csc().to_dense() * d.t(),
    "bsr": lambda s, d: s.to_sparse_bsr((2, 3)).to_dense() * d.t(),
    "sin": lambda s, d: (s * 0.1).sin(),
    "sparse_mask": lambda s, d: d.t().sparse_mask(s) * 2,
    "smm": lambda s, d: s.smm(d),
    "mm mean": lambda s, d: tensorbus.sparse.mm(s, d, "mean"),
    "mm amax": lambda s, d: tensorbus.sparse.mm(s.coalesce(), d, "amax"),
    "sampled_addmm": lambda s, d: tensorbus.sparse.sampled_addmm(
        s.to_sparse_csr(), d.t(), d[:, :3], beta=2
    ).to_dense(),
    "spdiags": lambda s, d: tensorbus.sparse.spdiags(d, tensorbus.tensor([0, -1, 2]), (4, 3)) * s,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_finite_differences(name):
    check = tensorbus.sparse.as_sparse_gradcheck(tensorbus.autograd.gradcheck)
    assert check(FUNCTIONS[name], (leaf(), dense(3, 4)))


@pytest.mark.parametrize("name", ["mm", "sparse @ sparse", "coalesce", "softmax", "mul sparse"])
def test_second_gradients(name):
    check = tensorbus.sparse.as_sparse_gradcheck(tensorbus.autograd.gradgradcheck)
    assert check(FUNCTIONS[name], (leaf(), dense(3, 4)))


def test_the_gradient_of_a_sparse_leaf_is_sparse(device):
    s, d = leaf(device, tensorbus.float32), tensorbus.ones(3, 2, device=device)
    assert s.is_leaf and s.requires_grad and s.grad is None
    (s @ d).sum().backward()
    assert s.grad.is_sparse and s.grad._indices().tolist() == INDICES
    assert s.grad._values().tolist() == [2.0] * 5
    (s @ d).sum().backward()
    assert s.grad._values().tolist() == [4.0] * 5
    s.grad = None
    assert s.grad is None


def test_grad_gives_sparse_gradients_of_sparse_inputs(device):
    s, d = leaf(device, tensorbus.float32), tensorbus.ones(3, 2, device=device)
    (g,) = tensorbus.autograd.grad((s @ d).sum(), s, create_graph=True)
    assert g.is_sparse and g.shape == s.shape and g._values().tolist() == [2.0] * 5
    assert s.grad is None


def test_sparse_arguments_of_functions_are_refused():
    class Twice(tensorbus.autograd.Function):
        @staticmethod
        def forward(ctx, x, gradient):
            ctx.gradient = gradient
            return x.to_dense() * 2

        @staticmethod
        def backward(ctx, g):
            return ctx.gradient, None

    for gradient in (leaf(requires_grad=False), tensorbus.ones(4, 3)):
        with pytest.raises(NotImplementedError):
            Twice.apply(leaf(), gradient).sum().backward()
    with pytest.raises(NotImplementedError, match="a sparse tensor is no parameter"):
        nn.Parameter(leaf())


def test_values_given_to_a_constructor_get_gradients(device):
    v = tensorbus.ones(5, device=device, requires_grad=True)
    s = tensorbus.sparse_coo_tensor(INDICES, v, (4, 3))
    assert not s.is_leaf and s.grad_fn.name() == "SparseCooTensorWithDimsAndTensorsBackward0"
    weights = tensorbus.arange(12.0, device=device).view(4, 3)
    (s.to_dense() * weights).sum().backward()
    assert v.grad.tolist() == [2.0, 3.0, 5.0, 10.0, 3.0]
    assert not s.detach().requires_grad


def test_hooks_of_a_sparse_tensor_see_sparse_gradients():
    s, seen = leaf(), []
    s.register_hook(lambda g: seen.append(g) or g * 10)
    s.to_dense().sum().backward()
    assert seen[0].is_sparse and seen[0]._values().tolist() == [1.0] * 5
    assert s.grad._values().tolist() == [10.0] * 5


# -- sparse gradients of dense tensors ----------------------------------------------------------
def table(device):
    return tensorbus.arange(10.0, device=device).view(5, 2).requires_grad_()


def test_embedding_has_a_sparse_gradient(device):
    w, x = table(device), tensorbus.tensor([[1, 3], [1, 0]], device=device)
    out = F.embedding(x, w, sparse=True)
    assert tensorbus.equal(out, F.embedding(x, w)) and out.grad_fn.name() == "EmbeddingBackward0"
    scale = tensorbus.arange(8.0, device=device).view(2, 2, 2)
    (out * scale).sum().backward()
    sparse = w.grad
    assert sparse.is_sparse and sparse._indices().tolist() == [[1, 3, 1, 0]]
    w.grad = None
    (F.embedding(x, w) * scale).sum().backward()
    assert tensorbus.equal(sparse.to_dense(), w.grad)


def test_gradients_meet_sparse_and_dense(device):
    x, y = tensorbus.tensor([1, 3], device=device), tensorbus.tensor([1, 1, 0], device=device)
    wanted = [[1.0] * 2, [3.0] * 2, [0.0] * 2, [1.0] * 2, [0.0] * 2]

    def sparse(w, at):
        return F.embedding(at, w, sparse=True).sum()

    w = table(device)
    (sparse(w, x) + sparse(w, y)).backward()
    assert w.grad.is_sparse and w.grad.to_dense().tolist() == wanted
    kept = w.grad
    sparse(w, x).backward()
    assert w.grad is kept and w.grad.to_dense()[3].tolist() == [2.0, 2.0]

    everywhere = [[n + 1 for n in row] for row in wanted]
    for order in (
        [lambda w: sparse(w, x) + sparse(w, y) + w.sum()],
        [lambda w: w.sum() + sparse(w, x) + sparse(w, y)],
        [lambda w: sparse(w, x), lambda w: w.sum() + sparse(w, y)],
        [lambda w: w.sum(), lambda w: sparse(w, x), lambda w: sparse(w, y)],
        [lambda w: sparse(w, x), lambda w: sparse(w, y), lambda w: w.sum()],
    ):
        w = table(device)
        for loss in order:
            loss(w).backward()
        assert not w.grad.is_sparse and w.grad.tolist() == everywhere


def test_a_dense_gradient_keeps_its_memory(device):
    w = table(device)
    w.sum().backward()
    g = w.grad
    F.embedding(tensorbus.tensor([2], device=device), w, sparse=True).sum().backward()
    assert w.grad is g and g[2].tolist() == [2.0, 2.0]


def test_what_is_no_leaf_gets_a_dense_gradient(device):
    w = table(device)
    F.embedding(tensorbus.tensor([1, 1], device=device), w * 2, sparse=True).sum().backward()
    assert not w.grad.is_sparse and w.grad[1].tolist() == [4.0, 4.0]


def test_hooks_and_grad_see_sparse_gradients(device):
    w, seen = table(device), []
    w.register_hook(lambda g: seen.append(g) or g * 2)
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    loss = F.embedding(tensorbus.tensor([1], device=device), w, sparse=True).sum()
    (g,) = tensorbus.autograd.grad(loss, w, retain_graph=True)
    assert g.is_sparse and g._values().tolist() == [[2.0, 2.0]] and w.grad is None
    loss.backward()
    assert seen[1].is_sparse and seen[2] is w.grad
    assert w.grad.to_dense()[1].tolist() == [2.0, 2.0]


def test_create_graph_records_through_a_sparse_gradient(device):
    w, x = table(device), tensorbus.tensor([1, 2, 1], device=device)
    (g,) = tensorbus.autograd.grad(
        (F.embedding(x, w, sparse=True) ** 3).sum(), w, create_graph=True
    )
    assert g.is_sparse and g.requires_grad
    g.to_dense().sum().backward()
    expected = 6 * tensorbus.arange(10.0, device=device).view(5, 2)
    expected = expected * tensorbus.tensor([0.0, 2, 1, 0, 0], device=device)[:, None]
    assert tensorbus.allclose(w.grad.to_dense(), expected)


def test_the_padding_row_and_modes(device):
    layer = nn.Embedding(4, 2, padding_idx=1, sparse=True, device=device)
    layer(tensorbus.tensor([1, 2], device=device)).sum().backward()
    assert layer.weight.grad._indices().tolist() == [[2]]
    with tensorbus.autograd.detect_anomaly(check_nan=True):
        layer(tensorbus.tensor([3], device=device)).sum().backward()
    assert layer.weight.grad.to_dense().sum() == 4
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad._nnz() == 0
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported"):
        F.embedding(tensorbus.tensor([1]), tensorbus.ones(2, 2).requires_grad_(),
                    scale_grad_by_freq=True, sparse=True)  # fmt: skip
