"""Reductions, scans, products and order of ``cpu`` against exact sums and plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus_cpu_numpy.backend import CpuBackend

BACKEND = CpuBackend()
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]
RNG = np.random.default_rng(3)


def kernel(op, name):
    found = BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)
    assert found is not None, f"cpu has no {op} for {name}"
    return found


def layouts(x):
    """The same values in five layouts of memory, and as a view of stride 0."""
    spread = np.empty([2 * n for n in x.shape], x.dtype)[tuple(slice(1, None, 2) for _ in x.shape)]
    spread[...] = x
    offset = np.empty([n + 2 for n in x.shape], x.dtype)[tuple(slice(2, None) for _ in x.shape)]
    offset[...] = x
    back = tuple(slice(None, None, -1) for _ in x.shape)
    order = (*range(1, x.ndim), 0)
    yield x.copy()
    yield x.T.copy().T
    yield x.transpose(order).copy().transpose(np.argsort(order))
    yield x[back].copy()[back]
    yield spread
    yield offset


def wrap(value, name):
    bits = np.dtype(name).itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.dtype(name).kind == "i" and value >> (bits - 1) else value


def exact_sum(x, dims):
    """Correctly rounded sums in float64, one at a time."""
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*kept, *dims).reshape(*[x.shape[d] for d in kept], -1)
    result = np.empty(rows.shape[:-1])
    for index in np.ndindex(*result.shape):
        result[index] = math.fsum(rows[index].tolist())
    return result


SHAPES = [(7,), (3, 5), (2, 3, 4), (2048,), (600, 5), (5, 600), (40, 30, 20), (3, 1100), (1100, 3),
          (1031, 2), (2, 1031, 2), (4, 600, 5), (2, 3, 40, 30)]  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_float_sums_and_means_over_any_dims(name, shape):
    x = (RNG.random(shape) - 0.3).astype(name)
    own = np.dtype(name)
    for count in range(1, x.ndim + 1):
        for dims in itertools.combinations(range(x.ndim), count):
            want = exact_sum(x, dims)
            size = exact_sum(np.abs(x), dims)
            # Pairwise summation's bound, and for float16 one rounding at the end.
            n = math.prod(x.shape[d] for d in dims)
            eps = np.finfo("float32" if name == "float16" else name).eps
            bound = eps * (math.log2(n) + 2) * size + np.finfo(name).eps * np.abs(want)
            for view in layouts(x):
                got = kernel("sum", name)(view, dims, own)
                assert got.shape == want.shape and got.dtype == own
                assert (np.abs(got.astype(np.float64) - want) <= bound).all(), (dims, view.strides)
                got = kernel("mean", name)(view, dims)
                assert got.shape == want.shape and got.dtype == own
                assert (np.abs(got * float(n) - want) <= 2 * bound + np.finfo(name).tiny * n).all()
            out = np.empty((*want.shape, 2), name)[..., 0]
            assert kernel("sum", name)(x, dims, own, out=out) is out
            np.testing.assert_array_equal(out, kernel("sum", name)(x.copy(), dims, own))


def test_large_float32_sums_keep_their_precision():
    x = np.full((200_000, 3), 0.1, np.float32)
    want = 200_000 * float(np.float32(0.1))
    for view, dims in ((x, (0,)), (x.T.copy(), (1,)), (x.reshape(1000, 200, 3), (0, 1))):
        got = kernel("sum", "float32")(view, dims, np.dtype(np.float32))
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_float16_sums_overflow_only_at_the_end():
    x = np.array([60000, 60000, -60000, -30000], np.float16)
    assert kernel("sum", "float16")(x, (0,), np.dtype(np.float16)) == 30000
    assert kernel("cumsum", "float16")(x, 0, np.dtype(np.float16)).tolist()[2:] == [60000, 30000]


@pytest.mark.parametrize("big", [False, True])
def test_sums_of_special_values(big):
    n = 5000 if big else 5
    for special, want in ((np.nan, np.nan), (np.inf, np.inf), (-np.inf, -np.inf)):
        x = np.ones((n, 3), np.float32)
        x[n // 2, 1] = special
        got = kernel("sum", "float32")(x, (0,), np.dtype(np.float32))
        np.testing.assert_array_equal(got, [n, want, n])


@pytest.mark.parametrize("name", ["bool", *INTEGERS])
def test_integer_sums_and_products_wrap_in_the_result_dtype(name):
    x = (RNG.integers(-100, 100, (3, 4, 5)) & 0x7F).astype(name)
    for target, view, dims in itertools.product(
        ("int64", "int32"), layouts(x), [(0,), (2,), (0, 2), (0, 1, 2)]
    ):
        for op, function in (("sum", sum), ("prod", math.prod)):
            got = kernel(op, name)(view, dims, np.dtype(target))
            kept = [d for d in range(3) if d not in dims]
            rows = x.transpose(*kept, *dims).reshape(*[x.shape[d] for d in kept], -1)
            assert got.dtype == np.dtype(target)
            for index in np.ndindex(*got.shape):
                assert got[index] == wrap(function(map(int, rows[index])), target)


@pytest.mark.parametrize("name", FLOATS)
def test_float_products(name):
    x = (RNG.random((6, 4)) + 0.5).astype(name)
    for view in layouts(x):
        got = kernel("prod", name)(view, (0,), np.dtype(name))
        want = [math.prod(column.tolist()) for column in x.T]
        np.testing.assert_allclose(got, want, rtol=8 * np.finfo(name).eps)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_extrema_and_their_first_place(name, dim):
    x = RNG.integers(0, 4, (4, 5, 6)).astype(name)
    if name in FLOATS:
        x[1, 2, 3] = x[3, 2, 3] = np.nan
        x[0, 0, 0] = -np.inf
    rows = np.moveaxis(x, dim, -1)

    def best(row, sign):
        for i, v in enumerate(row):
            if v != v:
                return i
        return min(range(len(row)), key=lambda i: (-sign * row[i], i))

    for view, (suffix, sign) in itertools.product(layouts(x), (("max", 1), ("min", -1))):
        index = kernel("arg" + suffix, name)(view, dim)
        value = kernel("a" + suffix, name)(view, (dim,))
        assert index.dtype == np.int64 and value.dtype == np.dtype(name)
        for at in np.ndindex(*rows.shape[:-1]):
            row = rows[at].astype(np.float64).tolist()
            assert index[at] == best(row, sign)
            np.testing.assert_array_equal(value[at], rows[at][best(row, sign)])
        out = np.empty(index.shape, np.int64)
        assert kernel("arg" + suffix, name)(view, dim, out=out) is out
        np.testing.assert_array_equal(out, index)
        everything = kernel("a" + suffix, name)(view, (0, 1, 2))
        np.testing.assert_array_equal(everything, getattr(np, "a" + suffix)(x))


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
def test_scans_go_left_to_right(name):
    x = RNG.integers(0, 5, (3, 4)).astype(name)
    target = name if name in FLOATS else "int64"
    for view, dim in itertools.product(layouts(x), (0, 1)):
        rows = np.moveaxis(x, dim, -1)
        for op, function in (("cumsum", sum), ("cumprod", math.prod)):
            got = np.moveaxis(kernel(op, name)(view, dim, np.dtype(target)), dim, -1)
            assert got.dtype == np.dtype(target)
            for at in np.ndindex(*rows.shape):
                assert got[at] == function(rows[at[:-1]][: at[-1] + 1].tolist())
        for op, function in (("cummax", max), ("cummin", min)):
            got = np.moveaxis(kernel(op, name)(view, dim), dim, -1)
            assert got.dtype == np.dtype(name)
            for at in np.ndindex(*rows.shape):
                assert got[at] == function(rows[at[:-1]][: at[-1] + 1].tolist())


@pytest.mark.parametrize("name", FLOATS)
def test_nan_sticks_in_running_extrema(name):
    x = np.array([1, 3, np.nan, 9, -9], name)
    np.testing.assert_array_equal(kernel("cummax", name)(x, 0), [1, 3, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(kernel("cummin", name)(x, 0), [1, 1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("size", [3, 24])
def test_matmul_over_layouts(name, size):
    if name in FLOATS:
        a, b = RNG.random((2, size, 5)).astype(name), RNG.random((2, 5, size)).astype(name)
    else:
        info = np.iinfo(name)
        a = RNG.integers(info.min, info.max, (2, size, 5), name, endpoint=True)
        b = RNG.integers(info.min, info.max, (2, 5, size), name, endpoint=True)
    want = np.empty((2, size, size), object)
    for n, i, j in np.ndindex(*want.shape):
        terms = [x * y for x, y in zip(a[n, i].tolist(), b[n, :, j].tolist(), strict=True)]
        want[n, i, j] = math.fsum(terms) if name in FLOATS else wrap(sum(terms), name)
    for left, right in zip(layouts(a), list(layouts(b))[::-1], strict=True):
        got = kernel("matmul", name)(left, right, np.dtype(name))
        assert got.dtype == np.dtype(name)
        if name in FLOATS:
            np.testing.assert_allclose(got, want.astype(float), rtol=8 * np.finfo(name).eps)
        else:
            np.testing.assert_array_equal(got, want.astype(name))
        out = np.empty((2, size, 2 * size), name)[..., ::2]
        assert kernel("matmul", name)(left, right, np.dtype(name), out=out) is out
        np.testing.assert_array_equal(out, got)
    one = np.broadcast_to(a[:1], a.shape)
    np.testing.assert_allclose(
        kernel("matmul", name)(one, b, np.dtype(name))[1].astype(float),
        kernel("matmul", name)(a[0], b[1], np.dtype(name)).astype(float),
    )


@pytest.mark.parametrize("terms", [7, 1024, 3000])
def test_int8_products_are_exact_in_int32(terms):
    a = np.full((9, terms), -128, np.int8)
    b = np.full((terms, 11), -128, np.int8)
    b[::3] = 127
    a[4] = RNG.integers(-128, 127, terms)
    got = kernel("matmul", "int8")(a, b, np.dtype(np.int32))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, a.astype(np.int64) @ b.astype(np.int64))


def test_large_integer_products_leave_float64():
    a = RNG.integers(-(2**62), 2**62, (20, 20))
    b = RNG.integers(-(2**62), 2**62, (20, 20))
    want = np.array([[wrap(sum(x * y for x, y in zip(r, c, strict=True)), "int64")
                      for c in b.T.tolist()] for r in a.tolist()])  # fmt: skip
    np.testing.assert_array_equal(kernel("matmul", "int64")(a, b, np.dtype(np.int64)), want)


def sort_key(value):
    return (1, 0) if value != value else (0, value)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("n", [9, 700])
def test_argsort_is_stable_with_nan_last(name, n):
    x = RNG.integers(0, 5, (3, n)).astype(name)
    if name in FLOATS:
        pool = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -1.5], name)
        x = RNG.choice(pool, (3, n))
    elif name != "bool":
        info = np.iinfo(name)
        x[0] = RNG.choice(np.array([info.min, info.max, 0, 1], name), n)
    for view in layouts(x):
        got = kernel("argsort", name)(view, 1)
        assert got.dtype == np.int64
        for row, indices in zip(x.tolist(), got.tolist(), strict=True):
            assert indices == sorted(range(n), key=lambda i: sort_key(row[i]))
        np.testing.assert_array_equal(kernel("argsort", name)(view.T, 0), got.T)
        values = kernel("sort_values", name)(view, 1)
        np.testing.assert_array_equal(values, np.take_along_axis(x, got, 1))


@pytest.mark.parametrize("n", [1, 3, 4, 11])
@pytest.mark.parametrize("offset", [0, 1, 5, 2**64 - 1, 2**64, 2**128 - 1, 2**256 - 2])
@pytest.mark.parametrize("key", [(0, 0), (2**64 - 1, 3), (20, 2**63)])
def test_random_bits_are_philox(n, offset, key):
    from tensorbus.plugin import ArrayLibraryBackend

    def word(i):
        counter = (offset + i // 4) % 2**256
        c = [(counter >> (64 * w)) % 2**64 for w in range(4)]
        k = list(key)
        for _ in range(10):
            a, b = c[0] * 0xD2E7470EE14C6C93, c[2] * 0xCA5A826395121157
            c = [(b >> 64) ^ c[1] ^ k[0], b % 2**64, (a >> 64) ^ c[3] ^ k[1], a % 2**64]
            k = [(k[0] + 0x9E3779B97F4A7C15) % 2**64, (k[1] + 0xBB67AE8584CAA73B) % 2**64]
        return c[i % 4]

    want = [wrap(word(i), "int64") for i in range(n)]
    got = kernel("random_bits", "int64")(key, offset, n)
    assert got.dtype == np.int64 and got.tolist() == want

    class Plain(ArrayLibraryBackend):
        name = "plain"

    general = Plain().kernel("random_bits", dtypes.int64, 0)(key, offset, n)
    assert general.dtype == np.int64 and general.tolist() == want


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize(("start", "step"), [(0, 1), (3, -2), (0.5, 0.1), (-1.0, 0.25)])
def test_arange(name, start, step):
    got = kernel("arange", name)(40, start, step, np.dtype(name))
    assert got.dtype == np.dtype(name) and got.shape == (40,)
    exact = [start + i * step for i in range(40)]
    if name in FLOATS:
        np.testing.assert_array_equal(got, np.array(exact).astype(name))
    else:
        np.testing.assert_array_equal(got, [wrap(int(v), name) for v in exact])


@pytest.mark.parametrize("op", ["any", "all"])
@pytest.mark.parametrize("name", ["bool", "int32", "float32"])
def test_any_and_all(op, name):
    x = np.array([[0, 0, 0], [1, 0, 2], [3, 4, 5]], name)
    if name == "float32":
        x[2, 0] = np.nan
    want = [getattr(np, op)(row) for row in x != 0]
    for view in layouts(x):
        np.testing.assert_array_equal(kernel(op, name)(view, (1,)), want)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(3, 5), (70, 90)])
def test_softmax_and_its_logarithm(name, dim, shape):
    x = (RNG.standard_normal(shape) * 20).astype(name)
    wide = x.astype(np.longdouble)
    powers = np.exp(wide - wide.max(dim, keepdims=True))
    want = powers / powers.sum(dim, keepdims=True)
    eps = np.finfo(name).eps
    for view in layouts(x):
        got = kernel("softmax", name)(view, dim)
        assert got.dtype == np.dtype(name)
        np.testing.assert_allclose(got, want.astype(np.float64), rtol=40 * eps, atol=eps / 100)
        got = kernel("log_softmax", name)(view, dim)
        np.testing.assert_allclose(got, np.log(want).astype(float), rtol=8 * eps, atol=80 * eps)
