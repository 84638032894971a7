"""Generated reductions, scans, matrix products and sorts against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tensorbus._base import dtypes

RNG = np.random.default_rng(5)
FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int64"]


def sample(shape, name):
    """Small whole numbers, so that sums and products are exact in any order; halves for floats."""
    x = RNG.integers(0 if name in ("uint8", "bool") else -4, 5, shape)
    return x.astype(name) / 2 if name in FLOATS else x.astype(name)


def as_dtype(name):
    return dtypes.dtype_by_name(name)


def views(x):
    """The same values as a transposed, a reversed and a repeated view would hold them."""
    yield x.astype(x.dtype)
    yield x.T.copy().T
    yield np.flip(np.flip(x).copy())


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("op", ["sum", "prod", "amax", "amin"])
def test_reductions(generated, op, name):
    x = sample((4, 3, 5), name)
    to = ("int64" if name not in FLOATS else name,) if op in ("sum", "prod") else ()
    for view in views(x):
        for dims in [(0,), (1,), (2,), (0, 2), (0, 1, 2)]:
            run = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min}[op]
            want = run(x, axis=dims, dtype=to[0]) if to else run(x, axis=dims)
            got = generated(op, view, dims, *map(as_dtype, to))
            assert got.shape == want.shape and got.dtype == want.dtype
            assert (got == want).all(), (dims, view.strides)


@pytest.mark.parametrize("name", ["uint8", "int64", "float32"])
def test_few_results_are_reduced_in_pieces(generated, name):
    kind = np.dtype(name)
    x = (sample((40_007,), name) * 3).astype(kind)
    at = RNG.integers(0, x.size, 3)
    x[at] = 100
    assert generated("sum", x, (0,), as_dtype(name)) == x.sum(dtype=kind)
    assert generated("sum", x[::-1], (0,), as_dtype(name)) == x.sum(dtype=kind)
    assert generated("amax", x, (0,)) == 100
    assert generated("argmax", x, 0) == at.min()
    two = x[:40_000].reshape(2, 20_000)
    assert (generated("argmin", two, 1) == two.argmin(1)).all()
    assert (generated("sum", two.T, (0,), as_dtype(name)) == two.sum(1, dtype=kind)).all()
    deep = x[:40_000].reshape(200, 2, 100)
    assert (generated("sum", deep, (0, 2), as_dtype(name)) == deep.sum((0, 2), dtype=kind)).all()


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_float_sums_are_no_worse_than_pairwise(generated, name):
    eps = np.finfo(name).eps
    for shape, dims in [((300_000,), (0,)), ((3, 100_000), (1,)), ((20_000, 40), (0,))]:
        x = (RNG.random(shape) * (1e-2 if name == "float16" else 1)).astype(name)
        want = x.astype(np.longdouble).sum(dims)
        error = np.abs(generated("sum", x, dims, as_dtype(name)) - want) / want
        assert error.max() <= 8 * eps, (shape, error.max() / eps)


def test_infinities_and_nan_survive_a_sum(generated):
    x = np.ones(5000, "float32")
    for values, want in [([np.inf], np.inf), ([np.inf, -np.inf], np.nan), ([np.nan], np.nan)]:
        x[1 : 1 + len(values)] = values
        assert np.array_equal(generated("sum", x, (0,), dtypes.float32), want, equal_nan=True)


@pytest.mark.parametrize("name", FLOATS)
def test_nan_wins_extremes(generated, name):
    x = np.array([[1, np.nan, 3, np.nan], [4, -np.inf, np.inf, 2]], name)
    assert np.array_equal(generated("amax", x, (1,)), np.max(x, 1), equal_nan=True)
    assert np.array_equal(generated("amin", x, (0,)), np.min(x, 0), equal_nan=True)
    assert (generated("argmax", x, 1) == [1, 2]).all()
    assert (generated("argmin", x, 1) == [1, 1]).all()
    assert np.array_equal(
        generated("cummax", x, 1), [[1, np.nan, np.nan, np.nan], [4, 4, np.inf, np.inf]], True
    )
    assert np.array_equal(generated("cummin", x, 0), np.minimum.accumulate(x, 0), equal_nan=True)


@pytest.mark.parametrize("name", ["bool", "int8", "float32"])
def test_places_are_the_first(generated, name):
    x = np.array([[0, 1, 1, 0], [1, 0, 0, 1]], name)
    for op in ("argmax", "argmin"):
        for dim in (0, 1):
            got = generated(op, x, dim)
            assert got.dtype == np.int64
            assert (got == getattr(np, op)(x, dim)).all()
    assert generated("argmax", np.array(3).astype(name), 0) == 0


def test_reductions_of_nothing(generated):
    x = np.zeros((3, 0, 2), "float32")
    assert (generated("sum", x, (1,), dtypes.float32) == np.zeros((3, 2))).all()
    assert (generated("prod", x, (1,), dtypes.float32) == np.ones((3, 2))).all()
    assert generated("amax", x, (0,)).shape == (0, 2)
    with pytest.raises(ValueError, match="amax of no elements"):
        generated("amax", x, (1,))


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", *FLOATS])
@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax", "cummin"])
def test_scans(generated, op, name):
    x = sample((3, 4, 5), name)
    if op == "cumprod":
        x = np.sign(x) if name != "bool" else x
    to = ("int64" if name not in FLOATS else name,) if op in ("cumsum", "cumprod") else ()
    run = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate,
           "cummin": np.minimum.accumulate}[op]  # fmt: skip
    for view in views(x):
        for dim in range(3):
            want = run(x, dim, *to)
            got = generated(op, view, dim, *map(as_dtype, to))
            assert got.dtype == want.dtype and (got == want).all()
    out = generated.put(np.zeros((5, 4, 3), want.dtype))
    turned = generated.kernel("permute", want.dtype)(out, (2, 1, 0))
    generated.kernel(op, name)(generated.put(x), 1, *map(as_dtype, to), out=turned)
    assert (generated.get(turned) == run(x, 1, *to)).all()


@pytest.mark.parametrize("op", ["cumsum", "cummax"])
def test_long_scans_are_cut(generated, op):
    x = sample((2, 30_001), "float32")
    run = np.cumsum if op == "cumsum" else np.maximum.accumulate
    to = (dtypes.float32,) if op == "cumsum" else ()
    assert (generated(op, x, 1, *to) == run(x, 1)).all()
    assert (generated(op, x[:, ::-1], 1, *to) == run(x[:, ::-1], 1)).all()


@pytest.mark.parametrize("name", ["int8", "int64", *FLOATS])
def test_matmul(generated, name):
    a, b = sample((2, 3, 5), name), sample((2, 5, 4), name)
    to = as_dtype(name)
    assert (generated("matmul", a, b, to) == a @ b).all()
    assert (generated("matmul", a[:, ::-1], b[:, :, ::-1], to) == a[:, ::-1] @ b[:, :, ::-1]).all()
    assert (generated("matmul", a[0], b, to) == a[0] @ b).all()
    assert (generated("matmul", a[:, :, :0], b[:, :0], to) == np.zeros((2, 3, 4))).all()
    assert generated("matmul", a[:, :0], b, to).shape == (2, 0, 4)


def test_matmul_of_int8_is_exact_in_int32(generated):
    a, b = np.full((2, 300), -128, "int8"), np.full((300, 2), -128, "int8")
    got = generated("matmul", a, b, dtypes.int32)
    assert got.dtype == np.int32 and (got == 300 * 128 * 128).all()


@pytest.mark.parametrize("m, k, n", [(6, 4, 32), (7, 9, 33), (50, 17, 70), (13, 64, 47)])
def test_blocked_matmul(generated, m, k, n):
    a, b = sample((2, m, k), "float32"), sample((2, k, n), "float32")
    f32 = dtypes.float32
    assert (generated("matmul", a, b, f32) == a @ b).all()
    b_turned = b.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    a_turned = a.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    assert (generated("matmul", a_turned, b_turned, f32) == a @ b).all()
    assert (generated("matmul", a[0], b, f32) == a[0] @ b).all()
    wide = generated.put(np.full((2, m + 2, n + 3), -1, "float32"))
    inner = generated.backend.as_strided(
        wide, (2, m, n), wide.strides, wide.offset + wide.strides[1] + 2, wide.dtype, wide.dtype
    )
    generated.kernel("matmul", "float32")(generated.put(a), generated.put(b), f32, out=inner)
    want = np.full((2, m + 2, n + 3), -1, "float32")
    want[:, 1:-1, 2:-1] = a @ b
    assert (generated.get(wide) == want).all()


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", *FLOATS])
def test_argsort_is_stable(generated, name):
    x = sample((3, 50), name)
    if name in FLOATS:
        x[:, ::7], x[:, ::11], x[:, 5], x[:, 9] = np.nan, -0.0, np.inf, -np.inf
    elif name != "bool":
        x[:, 5], x[:, 9] = np.iinfo(name).min, np.iinfo(name).max
    for view in views(x):
        for dim in (0, 1):
            got = generated("argsort", view, dim)
            assert got.dtype == np.int64
            assert (got == np.argsort(x, dim, kind="stable")).all()
    assert generated("argsort", x[0, 0], 0, dtype=name) == 0 if x[0, 0].ndim else True


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 1000, 4097])
def test_argsort_lengths(generated, n):
    x = RNG.integers(0, max(2, n // 3), (2, n)).astype("float32")
    assert (generated("argsort", x, 1) == np.argsort(x, 1, kind="stable")).all()
