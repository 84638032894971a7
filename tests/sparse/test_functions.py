"""Functions of sparse tensors against NumPy's on the dense arrays, on every device."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import tensorbus
from tensorbus import discovery

RNG = np.random.default_rng(3)
ROWS, COLUMNS = RNG.integers(0, 4, 9), RNG.integers(0, 6, 9)  # some places twice
V = RNG.uniform(0.2, 1.5, 9).round(2)
A = np.zeros((4, 6))
np.add.at(A, (ROWS, COLUMNS), V)
B = np.where(RNG.random((4, 6)) < 0.4, RNG.uniform(0.5, 1, (4, 6)), 0).round(2)
D = RNG.standard_normal((6, 3)).round(2)


def softmax(x, axis):
    there = np.where(A != 0, x, -np.inf)
    most = there.max(axis, keepdims=True)
    powers = np.exp(there - np.where(np.isinf(most), 0, most))
    sums = powers.sum(axis, keepdims=True)
    return np.where(A != 0, powers / np.where(sums == 0, 1, sums), 0)


def log_softmax(x, axis):
    return np.where(A != 0, np.log(np.where(A != 0, softmax(x, axis), 1)), 0)


def of_terms(reduce):
    """A product of A and D whose terms are reduced as given, those of places of A alone."""
    rows = [(A[i, :, None] * D)[A[i] != 0] for i in range(len(A))]
    return np.stack([reduce(terms, axis=0) if len(terms) else np.zeros(3) for terms in rows])


t = tensorbus
OF = t.tensor([5, 0, 0])
CASES = {
    "add": (lambda a, b, d: a + b, A + B),
    "add alpha": (lambda a, b, d: t.add(a, b, alpha=-2), A - 2 * B),
    "sub": (lambda a, b, d: a - b, A - B),
    "neg": (lambda a, b, d: -a, -A),
    "mul": (lambda a, b, d: a * b, A * B),
    "mul number": (lambda a, b, d: 2 * a, 2 * A),
    "mul dense": (lambda a, b, d: a * b.to_dense(), A * B),
    "mul row": (lambda a, b, d: a * d[:, 0], A * D[:, 0]),
    "dense mul": (lambda a, b, d: b.to_dense() * a, A * B),
    "div": (lambda a, b, d: a / 4, A / 4),
    "pow": (lambda a, b, d: a**2, A**2),
    "square": (lambda a, b, d: t.square(a), A**2),
    "sqrt": (lambda a, b, d: a.sqrt(), np.sqrt(A)),
    "tanh": (lambda a, b, d: t.tanh(a), np.tanh(A)),
    "dense + sparse": (lambda a, b, d: b.to_dense() + a, A + B),
    "dense - sparse": (lambda a, b, d: b.to_dense() - a, B - A),
    "mm": (lambda a, b, d: t.mm(a, d), A @ D),
    "matmul": (lambda a, b, d: a @ d, A @ D),
    "dense mm sparse": (lambda a, b, d: d.t() @ a.t(), D.T @ A.T),
    "sparse mm sparse": (lambda a, b, d: a @ b.t(), A @ B.T),
    "mv": (lambda a, b, d: a.mv(d[:, 1]), A @ D[:, 1]),
    "addmm": (lambda a, b, d: t.addmm(t.ones_like(d)[:4], a, d, beta=3), A @ D + 3),
    "smm": (lambda a, b, d: a.smm(d), A @ D),
    "hspmm": (lambda a, b, d: t.hspmm(a, d), A @ D),
    "bmm": (lambda a, b, d: t.bmm(t.stack([a, b]), t.stack([d, -d])), np.stack([A @ D, -B @ D])),
    "sum": (lambda a, b, d: a.sum(), A.sum()),
    "sum 0": (lambda a, b, d: t.sparse.sum(a, 0), A.sum(0)),
    "sum 1 kept": (lambda a, b, d: a.sum(1, keepdim=True), A.sum(1, keepdims=True)),
    "sum both": (lambda a, b, d: t.sparse.sum(a, (0, 1)), A.sum()),
    "norm": (lambda a, b, d: a.norm(), np.sqrt((A**2).sum())),
    "softmax 0": (lambda a, b, d: t.sparse.softmax(a, 0), softmax(A, 0)),
    "softmax 1": (lambda a, b, d: t.sparse.softmax(a, 1), softmax(A, 1)),
    "log_softmax": (lambda a, b, d: t.sparse.log_softmax(a, -1), log_softmax(A, 1)),
    "t": (lambda a, b, d: a.t(), A.T),
    "T": (lambda a, b, d: a.T, A.T),
    "permute": (lambda a, b, d: a.permute(1, 0), A.T),
    "unsqueeze": (lambda a, b, d: a.unsqueeze(1), A[:, None]),
    "squeeze": (lambda a, b, d: a.unsqueeze(0).squeeze(), A),
    "row": (lambda a, b, d: a[1], A[1]),
    "element": (lambda a, b, d: a[int(ROWS[0]), int(COLUMNS[0])], A[ROWS[0], COLUMNS[0]]),
    "column": (lambda a, b, d: a[:, -1], A[:, -1]),
    "slices": (lambda a, b, d: a[1:3, 2:], A[1:3, 2:]),
    "index_select": (lambda a, b, d: a.index_select(1, OF.to(d.device)), A[:, [5, 0, 0]]),
    "cat 0": (lambda a, b, d: t.cat([a, b]), np.concatenate([A, B])),
    "cat 1": (lambda a, b, d: t.cat([a, b], 1), np.concatenate([A, B], 1)),
    "stack": (lambda a, b, d: t.stack([a, b], 1), np.stack([A, B], 1)),
    "sparse_mask": (lambda a, b, d: a.sparse_mask(b), np.where(B != 0, A, 0)),
    "masked": (lambda a, b, d: b.to_dense().sparse_mask(a.coalesce()), np.where(A != 0, B, 0)),
    "csr": (lambda a, b, d: a.to_sparse_csr(), A),
    "csc": (lambda a, b, d: a.to_sparse_csc(), A),
    "bsr": (lambda a, b, d: a.to_sparse_bsr((2, 3)), A),
    "bsc": (lambda a, b, d: a.to_sparse_bsc((4, 2)), A),
    "csr of csc": (lambda a, b, d: a.to_sparse_csc().to_sparse_csr(), A),
    "csr mm": (lambda a, b, d: a.to_sparse_csr() @ d, A @ D),
    "csr mm csr": (lambda a, b, d: a.to_sparse_csr() @ b.t().to_sparse_csr(), A @ B.T),
    "csr add": (lambda a, b, d: a.to_sparse_csr() + b.to_sparse_csr(), A + B),
    "csr t": (lambda a, b, d: a.to_sparse_csr().t(), A.T),
    "bsr t": (lambda a, b, d: a.to_sparse_bsr((2, 3)).t(), A.T),
    "csr mul": (lambda a, b, d: a.to_sparse_csr() * b.to_dense() * 2, 2 * A * B),
    "spmm": (lambda a, b, d: t.spmm(a, d), A @ D),
    "hsmm": (lambda a, b, d: t.hsmm(a, d), A @ D),
    "saddmm": (lambda a, b, d: t.saddmm(a @ b.t(), a, b.to_dense().t()), 2 * A @ B.T),
    "linear": (lambda a, b, d: t.nn.functional.linear(a, d.t(), d[0]), A @ D + D[0]),
    "mm mean": (lambda a, b, d: t.sparse.mm(a.to_sparse_csr(), d, "mean"), of_terms(np.mean)),
    "mm amax": (lambda a, b, d: t.sparse.mm(a, d, "amax"), of_terms(np.max)),
    "mm amin": (lambda a, b, d: t.sparse.mm(a, d, "amin"), of_terms(np.min)),
    "mm prod": (lambda a, b, d: t.sparse.mm(a, d, "prod"), of_terms(np.prod)),
    "sampled_addmm": (
        lambda a, b, d: t.sparse.sampled_addmm(a.to_sparse_csr(), d[:4], d.t(), beta=2, alpha=3),
        np.where(A != 0, 2 * A + 3 * D[:4] @ D.T, 0),
    ),
    "unbind": (lambda a, b, d: t.stack([row.to_dense() for row in a]), A),
    "spdiags": (
        lambda a, b, d: t.sparse.spdiags(d.t(), t.tensor([0, -2, 1]), (5, 4)),
        scipy.sparse.spdiags(D.T, [0, -2, 1], 5, 4).toarray(),
    ),
    "spdiags csr": (
        lambda a, b, d: t.sparse.spdiags(d[:, 0], t.tensor(-1), (9, 3), t.sparse_csr),
        scipy.sparse.spdiags(D[:, 0], -1, 9, 3).toarray(),
    ),
    "csr row": (lambda a, b, d: a.to_sparse_csr()[2], A[2]),
}  # fmt: skip


def operands(device):
    a = t.sparse_coo_tensor(np.stack([ROWS, COLUMNS]).tolist(), V.tolist(), A.shape, device=device)
    b = t.tensor(B, dtype=t.float32, device=device).to_sparse()
    return a, b, t.tensor(D, dtype=t.float32, device=device)


@pytest.mark.parametrize("name", CASES)
def test_against_dense_arrays(device, name):
    call, expected = CASES[name]
    made = call(*operands(device))
    assert made.device.type == device and tuple(made.shape) == np.shape(expected)
    np.testing.assert_allclose(made.to_dense().cpu().numpy(), expected, rtol=1e-5, atol=1e-5)


SPARSE = "add mul t index_select csr bsr smm row slices stack".split()


@pytest.mark.parametrize("name", SPARSE)
def test_results_stay_sparse(name):
    made = CASES[name][0](*operands("cpu"))
    assert made.layout is not t.strided and made._nnz() < 24


def test_in_place(device):
    a, b, _ = operands(device)
    same = a
    a.mul_(2).add_(b).sub_(b, alpha=3).div_(2)
    assert a is same
    np.testing.assert_allclose(a.to_dense().cpu().numpy(), A - B, atol=1e-5)
    x = t.ones(4, 6, device=device)
    view = x[:]
    x.add_(operands(device)[0], alpha=2)
    np.testing.assert_allclose(view.cpu().numpy(), 1 + 2 * A, atol=1e-5)
    x -= b
    np.testing.assert_allclose(view.cpu().numpy(), 1 + 2 * A - B, atol=1e-5)
    assert a.zero_()._nnz() == 0


def test_no_elements(device):
    a, d = t.sparse_coo_tensor((4, 6), device=device), t.ones(6, 3, device=device)
    for made in (a @ d, a + a, a * 2, a.t(), a.sum(0), a.coalesce(), a.to_sparse_csr(), a[1],
                 t.sparse.softmax(a, 1), a @ a.t(), a * a):  # fmt: skip
        assert not made.to_dense().any()


def test_batches_of_compressed_rows(device):
    crow, col = [[0, 1, 2], [0, 0, 2]], [[1, 0], [0, 2]]
    x = t.sparse_csr_tensor(crow, col, [[1.0, 2.0], [3.0, 4.0]], (2, 2, 3), device=device)
    assert x._nnz() == 2 and x.dense_dim() == 0
    assert x.to_dense().tolist() == [[[0, 1, 0], [2, 0, 0]], [[0, 0, 0], [3, 0, 4]]]
    assert t.sparse_csr_tensor(crow[0], col[0], [1, 2], device=device).shape == (2, 2)


def csr(m, crow, columns, size=(2, 3), make="sparse_csr_tensor"):
    return getattr(m, make)(crow, columns, [1.0, 2.0, 3.0], size, check_invariants=True)


def csc(m, ccol, rows):
    return csr(m, ccol, rows, (3, 2), "sparse_csc_tensor")


COMPRESSED = {
    "columns": lambda m: csr(m, [0, 1, 3], [0, 1, 5]),
    "end": lambda m: csr(m, [0, 1, 2], [0, 1, 2]),
    "begin": lambda m: csr(m, [1, 1, 3], [0, 1, 2]),
    "distinct": lambda m: csr(m, [0, 3, 3], [0, 1, 1]),
    "rows": lambda m: csr(m, [0, 1, 3, 3], [0, 1, 2]),
    "csc rows": lambda m: csc(m, [0, 1, 3], [0, 1, 5]),
    "csc distinct": lambda m: csc(m, [0, 3, 3], [0, 1, 1]),
    "indices of csr": lambda m: m.eye(2).to_sparse_csr().indices(),
    "ccol of csr": lambda m: m.eye(2).to_sparse_csr().ccol_indices(),
    "coalesce of csr": lambda m: m.sparse.sum(m.eye(2).to_sparse_csr()),
    "sampled layout": lambda m: m.sparse.sampled_addmm(
        m.eye(2).to_sparse_csr(), m.ones(1, 2), m.ones(2, 2)
    ),
    "sampled shapes": lambda m: m.sparse.sampled_addmm(
        m.eye(2).to_sparse_csr(), m.ones(2, 4), m.ones(3, 2)
    ),
    "reduce": lambda m: m.sparse.mm(m.eye(2).to_sparse_csr(), m.ones(2, 2), "most"),
    "truth": lambda m: bool(m.eye(2).to_sparse()),
    "same offset": lambda m: m.sparse.spdiags(m.ones(2, 3), m.tensor([1, 1]), (3, 3)),
    "offsets": lambda m: m.sparse.spdiags(m.ones(2, 3), m.tensor([[0, 1]]), (3, 3)),
    "lines": lambda m: m.sparse.spdiags(m.ones(2, 3), m.tensor([0]), (3, 3)),
    "no matrix": lambda m: m.sparse.spdiags(m.ones(2, 3), m.tensor([0, 1]), (3,)),
    "add of other size": lambda m: m.eye(2).to_sparse() + m.eye(3).to_sparse(),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_errors_of_compressed_tensors_are_pytorchs(oracle, name):
    def asked(torch):
        try:
            COMPRESSED[name](torch)
        except RuntimeError as error:
            return str(error).split("\n")[0]
        return "no error"

    assert asked(tensorbus) == oracle(asked)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "bool", "complex64"])
def test_dtypes(dtype):
    d = getattr(t, dtype)
    x = t.tensor([[0, 1], [1, 1]]).to(d)
    s = t.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], t.ones(3, dtype=d), (2, 2))
    assert s.dtype is d and t.equal(s.to_dense(), x) and t.equal(x.to_sparse().to_dense(), x)
    assert t.equal((s.t() * 1).to_dense(), x.t() * 1)


@pytest.mark.parametrize("rows", [3, 10**12])
def test_softmax_of_few_and_of_very_many_rows_reads_nothing(rows, monkeypatch, device):
    """Groups are the rows themselves, or numbered where the rows are more than the elements."""
    at = [[0, rows - 1, 0, 1, 0], [2, 1, 0, 2, 1]]
    x = t.sparse_coo_tensor(at, [1.0, 5.0, 2.0, 7.0, 3.0], (rows, 3), device=device).coalesce()
    backend = discovery.backend(device)
    reads = []
    read = backend.to_host
    monkeypatch.setattr(backend, "to_host", lambda *args: reads.append(args) or read(*args))
    found = t.sparse.softmax(x, 1)
    assert not reads
    e = np.exp([2.0, 3.0, 1.0])
    np.testing.assert_allclose(found.values().cpu().numpy(), [*e / e.sum(), 1, 1], rtol=1e-6)
    assert found.indices().tolist() == [[0, 0, 0, 1, rows - 1], [0, 1, 2, 2, 1]]


def test_floor_division_rounds_the_sums_of_elements_down(device):
    """Elements at one place are added before they are rounded."""
    indices, values = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, -3.0, 5.0, 4.5]

    def made():
        return tensorbus.sparse_coo_tensor(indices, values, (2, 3), device=device)

    expected = np.floor([[0, 0, 7.5], [-3, 0, 5]] / np.float32(2)).tolist()
    in_place = made()
    found = [made() // 2, made().floor_divide(2), tensorbus.floor_divide(made(), 2)]
    found += [in_place.floor_divide_(2), in_place]
    in_place = made()
    in_place //= 2
    for x in [*found, in_place]:
        assert x.is_sparse and x.to_dense().tolist() == expected
    assert tensorbus.true_divide(made(), 2).to_dense().tolist() == [[0, 0, 3.75], [-1.5, 0, 2.5]]
