"""Sparse tensors by coordinates: made, read, converted, printed, copied, saved."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import tensorbus

SHAPES = {
    "matrix": ((4, 5), 2),
    "three": ((3, 4, 2), 3),
    "hybrid": ((4, 5, 3), 1),
    "vector": ((6,), 1),
}


def some(device, shape, sparse_dim, nnz=7, seed=0, dtype=np.float32):
    """A tensor with duplicates out of order, and the dense array that it stands for."""
    rng = np.random.default_rng(seed)
    indices = np.stack([rng.integers(0, n, nnz) for n in shape[:sparse_dim]])
    values = rng.standard_normal((nnz, *shape[sparse_dim:])).astype(dtype)
    dense = np.zeros(shape, np.float64)
    np.add.at(dense, tuple(indices), values.astype(np.float64))
    made = tensorbus.sparse_coo_tensor(indices.tolist(), values.tolist(), shape, device=device)
    return made, dense


@pytest.mark.parametrize("shape, sparse_dim", SHAPES.values(), ids=SHAPES)
def test_to_dense_and_coalesce(device, shape, sparse_dim):
    x, dense = some(device, shape, sparse_dim)
    assert isinstance(x, tensorbus.Tensor)
    assert x.shape == shape and x.layout is tensorbus.sparse_coo and x.is_sparse
    assert (x.sparse_dim(), x.dense_dim()) == (sparse_dim, len(shape) - sparse_dim)
    assert x.device.type == device and x.dtype is tensorbus.float32
    np.testing.assert_allclose(x.to_dense().cpu().numpy(), dense, atol=1e-6)
    c = x.coalesce()
    assert c.is_coalesced() and not x.is_coalesced()
    flat = np.ravel_multi_index(tuple(c.indices().cpu().numpy()), shape[:sparse_dim])
    assert (np.diff(flat) > 0).all()
    assert set(flat) == set(
        np.ravel_multi_index(tuple(x._indices().cpu().numpy()), shape[:sparse_dim])
    )
    np.testing.assert_allclose(c.to_dense().cpu().numpy(), dense, atol=1e-6)
    assert c.coalesce() is c


@pytest.mark.parametrize("shape, sparse_dim", SHAPES.values(), ids=SHAPES)
def test_from_dense_and_back(device, shape, sparse_dim):
    _, dense = some(device, shape, sparse_dim)
    x = tensorbus.tensor(dense.astype(np.float32), device=device)
    s = x.to_sparse(sparse_dim)
    assert s.is_coalesced() and s.sparse_dim() == sparse_dim
    axes = tuple(range(sparse_dim, len(shape)))
    assert s._nnz() == np.count_nonzero((dense != 0).any(axes) if axes else dense)
    assert tensorbus.equal(s.to_dense(), x)


def test_constructors_infer_and_convert(device):
    x = tensorbus.sparse_coo_tensor(
        [[0, 4], [2, 0]], [1, 2], dtype=tensorbus.float64, device=device
    )
    assert x.shape == (5, 3) and x.dtype is tensorbus.float64
    empty = tensorbus.sparse_coo_tensor((2, 3), device=device)
    assert empty._nnz() == 0 and empty.to_dense().tolist() == [[0.0] * 3] * 2
    old = tensorbus.sparse.DoubleTensor([[1], [1]], [5.0], (2, 2))
    assert isinstance(old, tensorbus.sparse.DoubleTensor) and old.to_dense()[1, 1] == 5
    assert not isinstance(old, tensorbus.DoubleTensor)
    assert old.type() == "torch.sparse.DoubleTensor"
    flags = tensorbus.sparse_coo_tensor([[0, 0, 1]], [True, False, False], (3,), device=device)
    assert flags.coalesce().values().tolist() == [True, False]


def checked(t, indices):
    return t.sparse_coo_tensor(indices, [1.0, 2.0], (2, 2), check_invariants=True)


WRONG = {
    "index beyond": lambda t: checked(t, [[0, 3], [0, 1]]),
    "negative": lambda t: checked(t, [[0, -3], [0, 1]]),
    "negative, no size": lambda t: t.sparse_coo_tensor([[0, -3], [0, 1]], [1.0, 2.0]),
    "another nnz": lambda t: t.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0, 3.0], (2, 2)),
    "another rank": lambda t: t.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0], (2, 2, 2)),
    "values do not fit": lambda t: t.sparse_coo_tensor([[0, 1], [0, 1]], t.ones(2, 3), (2, 2, 2)),
    "indices of one dimension": lambda t: t.sparse_coo_tensor([0, 1], [1.0, 2.0], (2, 2)),
    "sparse plus number": lambda t: t.eye(2).to_sparse() + 1,
    "sparse plus dense": lambda t: t.eye(2).to_sparse() + t.eye(2),
    "divided by a matrix": lambda t: t.eye(2).to_sparse() / t.ones(2, 2),
    "indices of uncoalesced": lambda t: t.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).indices(),
    "indices of dense": lambda t: t.eye(2).indices(),
    "crow_indices of coo": lambda t: t.eye(2).to_sparse().crow_indices(),
    "reshape": lambda t: t.eye(2).to_sparse().reshape(4),
    "numpy": lambda t: t.eye(2).to_sparse().numpy(),
    "shrink": lambda t: t.eye(2).to_sparse().sparse_resize_((1, 1), 2, 0),
    "shapes of a product": lambda t: t.sparse.mm(t.eye(2).to_sparse(), t.ones(3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_pytorchs(oracle, name):
    def asked(torch):
        try:
            WRONG[name](torch)
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0].split(" You could")[0]
        return "no error"

    assert asked(tensorbus) == oracle(asked)


def test_what_is_not_there_says_so():
    x = tensorbus.eye(2).to_sparse()
    for f in (
        tensorbus.exp,
        tensorbus.sigmoid,
        lambda t: t.view(4),
        lambda t: tensorbus.ones(2) * t.cos(),
    ):
        with pytest.raises(NotImplementedError, match=r"Could not run 'aten::\w+' .* 'SparseCPU'"):
            f(x)


def test_functions_for_sparse_tensors_refuse_dense_ones():
    for f in (tensorbus.smm, tensorbus.hspmm):
        with pytest.raises(RuntimeError, match="expected a sparse tensor"):
            f(tensorbus.eye(2), tensorbus.eye(2))
    x = tensorbus.eye(2).to_sparse()
    with pytest.raises(NotImplementedError, match="aten::__eq__"):
        assert x == x
    assert tensorbus.typename(x) == "torch.sparse.FloatTensor" and tensorbus.as_tensor(x) is x


def test_checks_of_coordinates_are_switched():
    def beyond(**kwargs):
        return tensorbus.sparse_coo_tensor([[5]], [1.0], (2,), **kwargs)

    check = tensorbus.sparse.check_sparse_tensor_invariants
    with pytest.raises(RuntimeError, match="size is 2 but found index 5"):
        beyond()
    assert beyond(check_invariants=False)._nnz() == 1
    with check(False):
        beyond()
        with check():
            assert check.is_enabled()
            with pytest.raises(RuntimeError, match="found index 5"):
                beyond()
        assert not check.is_enabled()
    check(False)(beyond)()
    with pytest.raises(RuntimeError, match="found index 5"):
        beyond()


PRINTED = {
    "coo": lambda t: t.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, -4.5], (2, 3)),
    "no elements": lambda t: t.sparse_coo_tensor((2, 3)),
    "float64": lambda t: t.sparse_coo_tensor([[0]], [3], (2,), dtype=t.float64),
    "records": lambda t: t.sparse_coo_tensor([[0]], [3.0], (2,), requires_grad=True),
    "hybrid": lambda t: t.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 2)),
    "integers": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2], (2,)),
    "made": lambda t: t.sparse_coo_tensor([[0, 1]], t.ones(2, requires_grad=True), (3,)),
    "many": lambda t: t.ones(40, 40).to_sparse(),
    "csr": lambda t: t.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)),
    "csc": lambda t: t.sparse_csc_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (3, 2), dtype=t.float64),
    "bsr": lambda t: t.sparse_bsr_tensor([0, 1, 2], [0, 1], t.arange(8.0).view(2, 2, 2), (4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_printed_as_pytorch_prints(oracle, name):
    assert repr(PRINTED[name](tensorbus)) == oracle(lambda torch: repr(PRINTED[name](torch)))


def test_printed_with_its_device(device):
    text = repr(tensorbus.sparse_coo_tensor([[1]], [2.0], (3,), device=device))
    assert ("device=" in text) == (device != "cpu")


def test_copies_and_conversions(device):
    x, dense = some(device, (4, 5), 2)
    for y in (
        x.clone(),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        x.cpu().to(device),
        x.double().float(),
    ):
        assert y.is_sparse and y.is_coalesced() == x.is_coalesced()
        assert tensorbus.equal(y.to_dense(), x.to_dense()) and y.device.type == device
    assert x.to(x.device) is x and x.float() is x
    assert x.to(tensorbus.float64).dtype is tensorbus.float64
    zero = tensorbus.zeros_like(x)
    assert zero._nnz() == 0 and zero.shape == x.shape and zero.device.type == device
    y = x.clone()
    y._values().zero_()
    np.testing.assert_allclose(x.to_dense().cpu().numpy(), dense, atol=1e-6)
    assert y.to_dense().abs().sum() == 0


def test_resize_and_clear():
    x, dense = some("cpu", (4, 5), 2)
    x.sparse_resize_((6, 7), 2, 0)
    assert x.shape == (6, 7)
    np.testing.assert_allclose(x.to_dense()[:4, :5].numpy(), dense, atol=1e-6)
    x.sparse_resize_and_clear_((2, 3, 4), 1, 2)
    assert x.shape == (2, 3, 4) and x._nnz() == 0 and (x.sparse_dim(), x.dense_dim()) == (1, 2)


@pytest.mark.parametrize("layout", ["coo", "csr", "bsr"])
def test_saved_and_loaded(layout):
    x, _ = some("cpu", (4, 6), 2)
    x = {"coo": x, "csr": x.to_sparse_csr(), "bsr": x.to_sparse_bsr((2, 3))}[layout]
    file = io.BytesIO()
    tensorbus.save({"x": x, "same": x, "w": tensorbus.ones(2)}, file)
    file.seek(0)
    y = tensorbus.load(file)["x"]
    assert y.layout is x.layout and tensorbus.equal(y.to_dense(), x.to_dense())
