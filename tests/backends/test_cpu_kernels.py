"""Kernels that ``cpu`` has in place of NumPy's own, where they are quicker."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorbus
from tensorbus._base import dtypes
from tensorbus_cpu_numpy import blas, transposing
from tensorbus_cpu_numpy.backend import CpuBackend

# A warning of NumPy is in the name of the kernel; the tests take back the filter for its package.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BACKEND = CpuBackend()


def kernel(op, name):
    return BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "float32", "int64", "float64"])
@pytest.mark.parametrize("n", [5, 5000])
def test_where_beside_a_zero_keeps_every_bit(name, n):
    """A zero beside many elements has a shorter way: not -0, not where it would lose a bit."""
    m = np.random.default_rng(0).random(n) > 0.5
    bits = np.resize(np.arange(-128, 128, dtype=np.int8), n * np.dtype(name).itemsize)
    x = (bits > 0) if name == "bool" else bits.view(name)
    zeros = [np.zeros((), name), *([np.array(-0.0, name)] if "float" in name else [])]
    for zero in zeros:
        for a, b in ((zero, x), (x, zero)):
            got = kernel("where", name)(m, a, b)
            expected = [(a if c else b)[() if (a if c else b).ndim == 0 else i].tobytes()
                        for i, c in enumerate(m)]  # fmt: skip
            assert [v.tobytes() for v in got] == expected
            assert got.dtype == name
    rows = kernel("where", name)(m, zeros[0], np.stack([x, x]))
    assert rows.shape == (2, n) and not rows[:, m].any()
    turned = np.stack([x, x]).T
    assert not kernel("where", name)(np.stack([m, m]).T, zeros[0], turned)[m].any()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_slope_of_relu_keeps_every_bit_of_a_gradient_or_none(name):
    special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-40, -1.0, 2.0]
    y, g = (a.astype(name) for a in np.meshgrid(special, special))
    run = BACKEND.kernel("relu_backward", dtypes.dtype_by_name(name), 0)
    found = run(g, y)
    assert found.dtype == name
    assert found.tobytes() == np.where(y <= 0, np.zeros((), name), g).tobytes()
    np.testing.assert_array_equal(run(g.T, y[::-1]), np.where(y[::-1] <= 0, 0, g.T))
    assert run(g[:1], y) is NotImplemented
    x = tensorbus.tensor([-1.0, 0.0, math.nan, 3.0], requires_grad=True)
    x.relu().backward(tensorbus.tensor([1.0, 2.0, 3.0, math.nan]))
    assert str(x.grad.tolist()) == "[0.0, 0.0, 3.0, nan]"
    one = tensorbus.tensor(2.0, requires_grad=True)
    one.relu().backward()
    assert one.grad.item() == 1


def test_logcumsumexp_of_many_keeps_the_digits():
    """The sum of n equal terms is n times as large: its logarithm to the last digit, at any n."""
    x = np.full((2, 100_000), 3.0, np.float32)
    got = kernel("logcumsumexp", "float32")(x, 1)
    want = (3.0 + np.log(np.arange(1.0, 100_001.0))).astype(np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.stack([want, want]))
    edge = np.array([-np.inf, 1.0, np.inf, 2.0, np.nan, 0.0])
    got = kernel("logcumsumexp", "float64")(edge, 0)
    np.testing.assert_array_equal(got, [-np.inf, 1.0, np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((3,), (0,)),
        ((4096,), (0,)),
        ((5, 1030), (1,)),
        ((3, 2500), (0, 1)),
        ((2, 40, 60), (1, 2)),
        ((64, 48), (0,)),
        ((2, 9000), (1,)),
        ((300, 70), (0,)),
    ],
    ids=str,
)
def test_norms_over_some_dimensions(name, shape, dims):
    x = np.random.default_rng(len(shape)).standard_normal(shape).astype(name)
    for given in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2]):
        found = kernel("vector_norm", name)(given, 2.0, dims)
        expected = np.sqrt((x.astype(np.longdouble) ** 2).sum(dims))
        assert found.dtype == name and found.shape == expected.shape
        np.testing.assert_allclose(found, expected.astype(np.float64), rtol=16 * np.finfo(name).eps)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 8192, 8193, 16_384, 100_001])
def test_norms_of_all_elements(name: str, n: int) -> None:
    x = np.random.default_rng(n).standard_normal((n, 1)).astype(name)
    found = kernel("vector_norm", name)(x, 2.0, (0, 1))
    expected = float(np.sqrt((x.astype(np.longdouble) ** 2).sum()))
    assert found.dtype == name and found.shape == ()
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(name).eps)
    assert kernel("vector_norm", name)(x, 1.0, (0, 1)) is NotImplemented


def test_norms_of_many_elements_keep_what_is_not_finite_and_overflow_as_squares_do():
    x = tensorbus.full((3000,), 2.0)
    for value, expected in ((math.inf, math.inf), (-math.inf, math.inf), (1e20, math.inf)):
        x[2999] = value
        assert x.norm().item() == expected
    x[1] = math.nan
    assert math.isnan(x.norm().item())
    assert tensorbus.full((4096,), 1e-30).norm().item() == 0.0


@pytest.mark.parametrize("name", ["uint8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(128, 128), (130, 512), (512, 131), (2, 256, 128)], ids=str)
def test_transposed_copies_are_exact(name, shape):
    x = np.arange(math.prod(shape)).reshape(shape).astype(name)
    turned = tensorbus.from_numpy(x).mT
    found = turned.contiguous()
    assert found.is_contiguous() and np.array_equal(found.numpy(), x.swapaxes(-1, -2))
    into = tensorbus.zeros(turned.shape, dtype=turned.dtype)
    assert np.array_equal(into.copy_(turned).numpy(), x.swapaxes(-1, -2))
    back = transposing.column_major(x[-1] if x.ndim > 2 else x)
    assert back.flags.f_contiguous and back.base is not x
    assert np.array_equal(back, x[-1] if x.ndim > 2 else x)


@pytest.mark.parametrize("name", ["float32", "complex128"])
@pytest.mark.parametrize("n", [1, 63, 64, 130, 256, 300])
def test_lower_triangles_for_lapack(name, n):
    x = np.random.default_rng(n).standard_normal((n, n)).astype(name)
    lower = transposing.lower_column_major(x)
    assert lower.flags.f_contiguous and np.array_equal(lower, np.tril(x))


@pytest.mark.parametrize("src", dtypes.ALL, ids=str)
def test_conversions_are_those_that_make_an_array_first(src):
    """Those of NumPy are written at once, into arrays with gaps, overlapping ones too."""
    x = np.array([0.0, -0.0, 1.5, -2.75, 100.0, 250.0, np.inf, np.nan])
    given = BACKEND.empty((8, 2), src, 0)[:, 0]
    BACKEND.copy_(given, src, x, dtypes.float64)
    for dst in dtypes.ALL:
        found = BACKEND.empty((8, 2), dst, 0)[:, 1]
        BACKEND.copy_(found, dst, given, src)
        expected = BACKEND.empty((8,), dst, 0)
        expected[...] = given if src is dst else BACKEND.cast(given, src, dst)
        assert found.tobytes() == expected.tobytes()


def test_a_matrix_is_written_over_by_its_own_transpose():
    x = np.arange(256.0 * 256).reshape(256, 256)
    t = tensorbus.from_numpy(x.copy())
    assert np.array_equal(t.copy_(t.mT).numpy(), x.T)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4), (70, 50), (2, 60, 40), (257, 256), (50_000, 3)])
def test_extreme_sums_are_those_of_float64(name: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(name)
    rank = len(shape)
    for summed, ranked in ((rank - 2, rank - 2), (rank - 1, rank - 2)):
        sums = np.abs(x.astype(np.longdouble)).sum(summed)
        for largest, want in ((True, sums.max(ranked)), (False, sums.min(ranked))):
            got = kernel("extreme_sum", name)(x, summed, ranked, largest)
            assert got.dtype == name
            # The rounding of each absolute value's place in the sum, in blocks of 32 and more.
            np.testing.assert_allclose(got, want.astype(name), rtol=32 * np.finfo(name).eps)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(256, 8), (3, 256, 8), (257, 8), (5000, 2)])
def test_sums_of_columns_are_no_worse_than_numpys(name: str, shape: tuple[int, ...]) -> None:
    """Of equal numbers, whose roundings all go one way, and beside what is not finite."""
    x, dim = np.full(shape, 0.1, name), len(shape) - 2
    want = shape[dim] * np.longdouble(x.flat[0])
    run = kernel("extreme_sum", name)
    for given in (x, -x, np.asfortranarray(x)):
        found = np.abs(run(given, dim, dim, True) - want)
        assert (found <= np.abs(np.add.reduce(x, dim)[..., 0] - want)).all()
    for bad in (np.nan, np.inf, -np.inf):
        x[..., 7, 1] = bad
        assert np.array_equal(run(x, dim, dim, True), np.abs(x[..., 7, 1]), equal_nan=True)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 8192, 8193, 100_000, 131_072, 9_000_000])
def test_norms_are_no_worse_than_pairwise_sums(name: str, n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n).astype(name)
    run, eps = kernel("vector_norm", name), float(np.finfo(name).eps)
    want = np.sqrt(np.add.reduce(np.square(x.astype(np.longdouble))))
    assert run(x, 2, (0,)).dtype == name
    pairwise = np.abs(np.sqrt(np.add.reduce(x * x)) - want)
    assert np.abs(run(x, 2, (0,)) - want) <= max(pairwise, eps * want)
    same = run(np.full(n, 0.1, name), 2, (0,))
    assert float(same) == pytest.approx(0.1 * math.sqrt(n), rel=64 * eps)
    for bad, found in ((np.nan, np.nan), (np.inf, np.inf), (-np.inf, np.inf)):
        x[n // 2] = bad
        assert np.array_equal(run(x, 2, (0,)), found, equal_nan=True)


def test_norms_whose_squares_have_a_larger_sum_than_float32() -> None:
    """Only the square of a number, or of those of a block, may leave the dtype."""
    run = kernel("vector_norm", "float32")
    assert run(np.full(1_000_000, 1e17, "f4"), 2, (0,)) == pytest.approx(1e20)
    assert run(np.full(8193 * 2, 1e20, "f4"), 2, (0,)) == math.inf
    assert run(np.full(1_000_000, 1e-20, "f4"), 2, (0,)) == pytest.approx(1e-17, rel=1e-4)
    assert run(np.full(1_000_000, 1e-30, "f4"), 2, (0,)) == 0


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 4099, 80_001, 131_072, 131_077, 140_013])
def test_normals_are_those_of_the_stream_in_pieces(n: int) -> None:
    key, offset, half = (5, 1 << 40), (1 << 64) + 3, -(-n // 2)
    counter = [2, 1, 0, 0]  # NumPy's Philox counts up before its first block
    words = np.random.Philox(key=np.array(key, "u8"), counter=np.array(counter, "u8"))
    halves = words.random_raw(half).view("<u4")[: 2 * half] & (2**24 - 1)
    first, second = (halves * 2.0**-24).reshape(2, half)
    radius, angle = np.sqrt(-2 * np.log(1 - first)), 2 * np.pi * second
    expected = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]
    found = kernel("normal", "float32")(key, offset, n)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=3e-6)


@pytest.mark.parametrize("name", ["float32", "float64", "complex64"])
def test_products_and_sums_may_name_another_dtype_than_their_own(name):
    x = np.arange(6).reshape(2, 3).astype(name)
    names = {"float32": "float64", "float64": "float32", "complex64": "complex128"}
    another = np.dtype(names[name])
    for op, operands, expected in (("matmul", (x, x.T), x @ x.T), ("sum", (x, (0,)), x.sum(0))):
        if op == "sum" and name == "complex64":
            continue
        whole = kernel(op, name)
        for target in (np.dtype(name), another):
            found = whole(*operands, target)
            assert found.dtype == target
            np.testing.assert_array_equal(found, expected)
        assert whole.for_dtype(another) is None
        assert op == "sum" or name == "float32" or whole.for_dtype(np.dtype(name)) is np.matmul


@pytest.mark.parametrize("small_kernels", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 32, 33])
@pytest.mark.parametrize(("width", "outputs"), [(256, 64), (255, 64), (256, 63), (784, 128)])
def test_linear_maps_of_few_and_many_rows(monkeypatch, small_kernels, rows, width, outputs):
    monkeypatch.setattr(blas, "has_small_kernels", lambda: small_kernels)
    rng = np.random.default_rng(rows)
    x, w, b = (rng.standard_normal(shape).astype(np.float32)
               for shape in ((rows, width), (outputs, width), (outputs,)))  # fmt: skip
    linear = kernel("linear", "float32")
    plain = x.astype(np.float64) @ w.T.astype(np.float64)
    for given, bias in ((x, None), (x, b), (x.T.copy().T, b), (x.reshape(rows, 1, width), b)):
        found = linear(given, w, bias)
        expected = plain if bias is None else plain + b
        assert found.dtype == np.float32 and found.shape == (*given.shape[:-1], outputs)
        assert found.flags.c_contiguous and (found.flags.owndata or given.ndim == 3)
        np.testing.assert_allclose(found.reshape(rows, outputs), expected, rtol=1e-4, atol=1e-4)
