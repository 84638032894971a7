"""Sparse gradients of bags: the rows of a bag are not made before somebody reads them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn import functional as F
from tensorbus.sparse import coordinates
from tensorbus.sparse.deferred import BagRows

ROWS, WIDTH = 6, 3
INDICES = [0, 3, 3, 1, 5, 1, 1, 0, 2]
OFFSETS = [0, 4, 4, 7]
"""The second bag is empty, and what follows the third bound is in the last one or in none."""
OWNERS = np.array([0, 0, 0, 0, 2, 2, 2, 3, 3])
FACTORS = np.linspace(0.5, 2.5, len(INDICES), dtype=np.float32)
G = np.arange(4.0 * WIDTH, dtype=np.float32).reshape(4, WIDTH) - 5


def rows_of(factors: np.ndarray | None, padding: int | None, left_out: int = 0) -> np.ndarray:
    """The gradient at each index, by hand."""
    rows = G[OWNERS] * (1 if factors is None else factors[:, None])
    rows[len(rows) - left_out :] = 0
    return rows[np.array(INDICES) != padding]


def table_of(rows: np.ndarray, padding: int | None) -> np.ndarray:
    made = np.zeros((ROWS, WIDTH), np.float32)
    np.add.at(made, [i for i in INDICES if i != padding], rows)
    return made


class Case:
    """A table after a backward pass, and what was handed to it."""

    def __init__(self, device: Any, weighted: bool = False, padding: int | None = None) -> None:
        options = {"device": device}
        self.table = tensorbus.zeros(ROWS, WIDTH, **options).requires_grad_()
        self.factors = tensorbus.tensor(FACTORS, **options) if weighted else None
        self.g = tensorbus.tensor(G, **options)
        made = F.embedding_bag(
            tensorbus.tensor(INDICES, **options), self.table, tensorbus.tensor(OFFSETS, **options),
            mode="sum", sparse=True, per_sample_weights=self.factors, padding_idx=padding,
        )  # fmt: skip
        made.backward(self.g)
        self.rows = rows_of(FACTORS if weighted else None, padding)
        self.dense = table_of(self.rows, padding)

    @property
    def grad(self) -> Any:
        return self.table.grad

    @property
    def is_made(self) -> bool:
        return type(self.grad._a.given) is not BagRows


CASES = [(False, None), (True, None), (False, 3), (True, 1)]
cases = pytest.mark.parametrize(("weighted", "padding"), CASES)


@cases
def test_values_are_made_when_they_are_read(device: Any, weighted: bool, padding: Any) -> None:
    case = Case(device, weighted, padding)
    g = case.grad
    assert not case.is_made
    assert g.shape == (ROWS, WIDTH) and g._nnz() == len(case.rows) and not g.is_coalesced()
    assert g.sparse_dim() == g.dense_dim() == 1 and not g.requires_grad and g.is_leaf
    assert not case.is_made
    np.testing.assert_allclose(g._values().cpu(), case.rows)
    assert case.is_made
    g._values().fill_(1)  # the gradient's own memory
    assert g._values().sum() == len(case.rows) * WIDTH


@cases
def test_optimizers_do_not_make_them(device: Any, weighted: bool, padding: Any) -> None:
    for name, lr in (("SGD", 0.5), ("SparseAdam", 0.1), ("Adagrad", 0.1)):
        case = Case(device, weighted, padding)
        other = tensorbus.zeros(ROWS, WIDTH, device=device).requires_grad_()
        other.grad = tensorbus.tensor(case.dense, device=device)
        alike = "Adam" if name == "SparseAdam" else name  # the first step of both is the same
        getattr(tensorbus.optim, name)([case.table], lr=lr).step()
        getattr(tensorbus.optim, alike)([other], lr=lr).step()
        assert not case.is_made
        np.testing.assert_allclose(case.table.detach().cpu(), other.detach().cpu(), rtol=1e-5)


@pytest.mark.parametrize("maximize", [False, True])
def test_sgd_goes_the_right_way(device: Any, maximize: bool) -> None:
    case = Case(device)
    tensorbus.optim.SGD([case.table], lr=0.5, maximize=maximize).step()
    assert not case.is_made
    wanted = case.dense * (0.5 if maximize else -0.5)
    np.testing.assert_allclose(case.table.detach().cpu(), wanted)


@cases
def test_what_reads_a_gradient(device: Any, weighted: bool, padding: Any) -> None:
    for read in (
        lambda g: g.to_dense(),
        lambda g: g.coalesce().to_dense(),
        lambda g: (g * 2).to_dense() / 2,
        lambda g: copy.deepcopy(g).to_dense(),
        lambda g: pickle.loads(pickle.dumps(g.cpu())).to_dense(),
        lambda g: g.clone().to_dense(),
        lambda g: tensorbus.zeros(ROWS, WIDTH, device=device) + g,
        lambda g: tensorbus.zeros(ROWS, WIDTH, device=device).sub_(g, alpha=-1),
        lambda g: (g + g).to_dense() / 2,
    ):
        case = Case(device, weighted, padding)
        np.testing.assert_allclose(read(case.grad).cpu(), case.dense, rtol=1e-6)


def test_what_a_program_writes_to_later_does_not_count(device: Any) -> None:
    case = Case(device, True)
    case.g.zero_()
    case.factors.zero_()
    assert not case.is_made
    np.testing.assert_allclose(case.grad.to_dense().cpu(), case.dense)
    np.testing.assert_allclose(case.grad._values().cpu(), case.rows)


def test_indices_of_no_bag(device: Any) -> None:
    table = tensorbus.zeros(ROWS, WIDTH, device=device).requires_grad_()
    offsets = tensorbus.tensor([*OFFSETS, len(INDICES) - 1], device=device)
    made = F.embedding_bag(
        tensorbus.tensor(INDICES, device=device), table, offsets, mode="sum", sparse=True,
        include_last_offset=True,
    )  # fmt: skip
    made.backward(tensorbus.tensor(G, device=device))
    offsets.zero_()
    rows = rows_of(None, None, left_out=1)
    np.testing.assert_allclose(table.grad.to_dense().cpu(), table_of(rows, None))
    np.testing.assert_allclose(table.grad._values().cpu(), rows)


def test_gradients_of_several_bags_add_up(device: Any) -> None:
    layer = nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True, device=device)
    i, o = (tensorbus.tensor(x, device=device) for x in (INDICES, OFFSETS))
    for _ in range(2):
        (layer(i, o) + layer(i, o)).backward(tensorbus.tensor(G, device=device))
    wanted = 4 * table_of(rows_of(None, None), None)
    np.testing.assert_allclose(layer.weight.grad.to_dense().cpu(), wanted)


def test_a_recorded_gradient_has_its_history(device: Any) -> None:
    table = tensorbus.ones(ROWS, WIDTH, device=device).requires_grad_()
    i, o = (tensorbus.tensor(x, device=device) for x in (INDICES, OFFSETS))
    made = F.embedding_bag(i, table, o, mode="sum", sparse=True)
    (g,) = tensorbus.autograd.grad((made**3).sum(), table, create_graph=True)
    assert g.requires_grad
    (second,) = tensorbus.autograd.grad(g.to_dense().sum(), table)
    sizes = np.bincount(OWNERS, minlength=4)
    rows = np.repeat((6.0 * sizes * sizes)[OWNERS, None], WIDTH, 1)
    np.testing.assert_allclose(second.to_dense().cpu(), table_of(rows.astype(np.float32), None))


@pytest.mark.parametrize("places", [4, 400], ids=["marks", "sorting"])
def test_numbers_are_grouped_either_way(device: Any, places: int) -> None:
    flat = tensorbus.tensor([3, 0, 3, 1], device=device)
    found, groups = coordinates.grouped(flat, places)
    assert found.tolist() == [0, 1, 3] and groups.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize("shape", [(3,), (40, 40)], ids=["few places", "many"])
@pytest.mark.parametrize("alpha", [1, -0.5])
def test_a_sparse_tensor_is_added_in_place(device: Any, shape: Any, alpha: Any) -> None:
    indices = np.array([[2, 0, 2, 1]] * len(shape))
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    s = tensorbus.sparse_coo_tensor(indices, values, (*shape, 2), device=device)
    wanted = np.ones((*shape, 2), np.float32)
    np.add.at(wanted, tuple(indices), alpha * values)
    whole = tensorbus.ones(*shape, 4, device=device)
    for x in (tensorbus.ones(*shape, 2, device=device), whole[..., ::2]):
        before = x._version
        assert x.add_(s, alpha=alpha) is x and x._version == before + 1
        np.testing.assert_allclose(x.cpu(), wanted)
    assert whole[..., 1::2].eq(1).all()


def test_a_recorded_sum_in_place_has_gradients(device: Any) -> None:
    values = tensorbus.ones(2, device=device, requires_grad=True)
    x = tensorbus.zeros(3, device=device)
    x.add_(tensorbus.sparse_coo_tensor([[0, 2]], values, (3,)), alpha=3)
    (x * tensorbus.arange(1.0, 4.0, device=device)).sum().backward()
    assert values.grad.tolist() == [3.0, 9.0]
    leaf = tensorbus.zeros(3, device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.add_(tensorbus.sparse_coo_tensor([[0]], [1.0], (3,), device=device))
