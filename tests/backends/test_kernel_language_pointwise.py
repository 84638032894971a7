"""Generated pointwise kernels against Python's integers and NumPy in a wider float."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorbus.plugin import POINTWISE

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int32", "int64"]
ARITHMETIC = ["add", "sub", "mul"]
COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
UNARY_FLOATS = "floor round sqrt exp expm1 log log1p sin cos tanh".split()
ULP = {"exp": 3, "log": 3, "expm1": 3, "log1p": 2, "sin": 4, "cos": 4, "tanh": 5, "atan2": 6,
       "pow": 16}  # fmt: skip
SIGNED_ZERO = {"add", "sub", "mul", "div", "abs", "sqrt", "atan2"}
RNG = np.random.default_rng(3)


def edges(name):
    """Values where kernels go wrong, and some ordinary ones."""
    kind = np.dtype(name)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        near = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3, 7, 8, 31, 63, 100]
        return np.array(near + ([-1, -2, -3, -8, -100] if kind.kind == "i" else [200, 255]), kind)
    info = np.finfo(kind)
    near = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7.25, 100.7, 1e-3, info.max, -info.max,
            info.tiny, np.inf, -np.inf, np.nan]  # fmt: skip
    return np.concatenate([np.array(near, kind), RNG.normal(0, 3, 6).astype(kind)])


def pairs(name):
    """All pairs of edge values, as two square matrices."""
    x = edges(name)
    return [m.copy() for m in np.meshgrid(x, x, indexing="ij")]


def layouts(x):
    """The matrix in other layouts of memory, for the dtypes where each layout is worth a kernel."""
    yield x
    if x.dtype.name not in ("float32", "int8"):
        return
    yield x.T.copy().T
    yield x[::-1, ::-1].copy()[::-1, ::-1]
    gaps = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)[1::2, 1::3]
    gaps[...] = x
    yield gaps


def wrap(n, kind):
    """A Python int as *kind* keeps it."""
    bits = kind.itemsize * 8
    n &= (1 << bits) - 1
    return n - (1 << bits) if kind.kind == "i" and n >> (bits - 1) else n


def int_pow(a, b):
    if b < 0:
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    return pow(a, b, 1 << 64)


def shift(a, b, bits, left):
    if not 0 <= b < bits:
        return 0 if left else (-1 if a < 0 else 0)
    return a << b if left else a >> b


def integer_reference(op, a, b, kind):
    bits = kind.itemsize * 8
    if op in ("floor_divide", "fmod") and b == 0:
        return None
    value = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "floor_divide": lambda: a // b,
        "fmod": lambda: int(math.copysign(1, a)) * (abs(a) % abs(b)),
        "pow": lambda: int_pow(a, b),
        "maximum": lambda: max(a, b),
        "minimum": lambda: min(a, b),
        "bitwise_and": lambda: a & b,
        "bitwise_or": lambda: a | b,
        "bitwise_xor": lambda: a ^ b,
        "lshift": lambda: shift(a, b, bits, True),
        "rshift": lambda: shift(a, b, bits, False),
        "abs": lambda: abs(a),
    }[op]()
    return wrap(value, kind)


def float_floor_divide(a, b):
    a, b = float(a), float(b)
    if b == 0:
        return np.float64(a) / np.float64(b)
    if not math.isfinite(a) or math.isnan(b):
        return math.nan
    return a // b


def float_reference(op, x, y):
    """In float64 (long double for float64), still unrounded."""
    if op == "floor_divide":
        exact = [float_floor_divide(a, b) for a, b in zip(x.flat, y.flat, strict=True)]
        return np.array(exact).reshape(x.shape)
    if op == "fmod":
        exact = [
            math.fmod(a, b) if math.isfinite(a) and b and not math.isnan(b) else math.nan
            for a, b in zip(x.flat, y.flat, strict=True)
        ]
        return np.array(exact).reshape(x.shape)
    # What must be correctly rounded would be rounded twice in long double.
    wide = np.longdouble if x.dtype == np.float64 and op in ULP else np.float64
    x, y = x.astype(wide), y.astype(wide)
    if op in ("maximum", "minimum"):
        return getattr(np, op)(x, y)
    names = {"sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power",
             "atan2": "arctan2", "round": "rint", "abs": "absolute"}  # fmt: skip
    function = getattr(np, names.get(op, op))
    return function(x) if op == "abs" or op in UNARY_FLOATS else function(x, y)


def check_floats(op, got, want, what):
    """Within the ULP bound of the operation; exact or correctly rounded where it has none."""
    kind = got.dtype
    bound = 1 if kind == np.float16 and op in ULP else ULP.get(op, 0)
    info = np.finfo(kind)
    with np.errstate(all="ignore"):
        rounded = want.astype(kind)
        assert (np.isnan(got) == np.isnan(rounded)).all(), what
        infinite = np.isinf(got) != np.isinf(rounded)
        # Where rounding decides between the largest number and infinity, either will do.
        assert (np.abs(want[infinite]) > info.max * (1 - bound * 2.0**-10)).all() or not bound
        if not bound:
            same = (got == rounded) | np.isnan(rounded)
            assert same.all(), (what, got[~same], rounded[~same])
        finite = np.isfinite(got) & np.isfinite(rounded)
        exact = want[finite]
        ulp = np.spacing(np.maximum(np.abs(rounded[finite]), info.tiny)).astype(exact.dtype)
        error = np.abs(got[finite].astype(exact.dtype) - exact) / ulp
        assert error.size == 0 or error.max() <= max(bound, 0.5), (what, error.max())
        if op in SIGNED_ZERO:
            zero = (rounded == 0) & (got == 0)
            assert (np.signbit(got[zero]) == np.signbit(rounded[zero])).all(), what


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["abs", *UNARY_FLOATS, *ARITHMETIC, "div", "floor_divide", "fmod",
                                "pow", "atan2", "maximum", "minimum"])  # fmt: skip
def test_floats(generated, op, name):
    x, y = pairs(name)
    unary = op == "abs" or op in UNARY_FLOATS
    want = float_reference(op, x, y)
    for array in layouts(x):
        got = generated(op, array) if unary else generated(op, array, y)
        check_floats(op, got, want, (op, name, array.strides))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["abs", *ARITHMETIC, "floor_divide", "fmod", "pow", "maximum",
                                "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "lshift",
                                "rshift"])  # fmt: skip
def test_integers(generated, op, name):
    x, y = pairs(name)
    want = [
        integer_reference(op, int(a), int(b), x.dtype) for a, b in zip(x.flat, y.flat, strict=True)
    ]
    for array in layouts(x):
        got = generated(op, array) if op == "abs" else generated(op, array, y)
        assert got.dtype == x.dtype
        wrong = [
            (a, b, g, w)
            for a, b, g, w in zip(x.flat, y.flat, got.flat, want, strict=True)
            if w is not None and g != w
        ]
        assert not wrong, wrong[:5]


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", *FLOATS])
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_give_bool(generated, op, name):
    x, y = pairs(name)
    for array in layouts(x):
        got = generated(op, array, y)
        assert got.dtype == bool
        assert (got == COMPARISONS[op](x, y)).all()


@pytest.mark.parametrize("op", ["maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bool(generated, op):
    x, y = pairs("bool")
    got = generated(op, x, y)
    assert got.dtype == bool
    names = {"maximum": np.logical_or, "minimum": np.logical_and}
    assert (got == (names.get(op) or getattr(np, op))(x, y)).all()


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
def test_where_selects_and_never_computes(generated, name):
    x, y = pairs(name)
    c = RNG.random(x.shape) < 0.5
    for array in layouts(x):
        got = generated("where", c, array, y, dtype=name)
        assert np.array_equal(got, np.where(c, x, y), equal_nan=name in FLOATS)
    scalar = generated("where", c, x, 1, dtype=name)
    assert np.array_equal(scalar, np.where(c, x, x.dtype.type(1)), equal_nan=name in FLOATS)


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_numbers_broadcasting_out_and_empties(generated, name):
    x = np.arange(30).reshape(5, 6).astype(name)
    d = generated.put(x).dtype
    three = generated.backend.scalar(3, d)
    assert (generated("add", x, three) == x + x.dtype.type(3)).all()
    assert (generated("sub", three, x) == x.dtype.type(3) - x).all()
    assert (generated("add", x.T, three) == x.T + x.dtype.type(3)).all()
    assert (generated("add", x, x[:, :1]) == x + x[:, :1]).all()
    assert (generated("add", x[0], x[:, None, :]) == x[0] + x[:, None, :]).all()
    assert (generated("add", x, x[2]) == x + x[2]).all()
    assert generated("add", x[:0], x[:0]).shape == (0, 6)
    assert generated("add", x[:0], three).shape == (0, 6)
    assert generated("add", x[:0], x[:1]).shape == (0, 6)
    point = np.array(4).astype(name)
    assert generated("add", point, point) == point + point
    with pytest.raises(RuntimeError, match=r"size of tensor a \(6\) must match .* b \(5\)"):
        generated("add", x, x[:, 0])


def test_out_may_be_strided_and_may_be_an_input(generated):
    x = np.arange(48, dtype="float32").reshape(6, 8)
    base = generated.put(x)
    backend = generated.backend
    d = base.dtype
    part = backend.as_strided(base, (3, 4), (16, -2), base.offset + 7, d, d)
    add = generated.kernel("add", "float32")
    assert add(part, 100.0, out=part) is part
    want = x.copy()
    want[::2, 7::-2] += 100
    assert (generated.get(base) == want).all()
    target = generated.put(np.zeros((8, 6), "float32"))
    turned = generated.kernel("permute", "float32")(target, (1, 0))
    add(generated.put(x), generated.put(x), out=turned)
    assert (generated.get(target) == 2 * x.T).all()


def test_every_pointwise_primitive_is_tested_here(generated):
    dtypes = ("float32", "int32", "bool")
    for op in POINTWISE:
        assert any(
            generated.backend.kernel(op, generated.put(np.zeros(1, d)).dtype, 0) for d in dtypes
        )
