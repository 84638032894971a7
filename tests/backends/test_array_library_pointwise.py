"""The 31 pointwise primitives of ``cpu`` against Python's own numbers, element by element."""

from __future__ import annotations

import cmath
import math
import operator
import warnings

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.plugin import POINTWISE
from tensorbus_cpu_numpy.backend import CpuBackend

# Kernels that are ufuncs warn in the name of their caller: here that is this file.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BACKEND = CpuBackend()
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]
RNG = np.random.default_rng(7)


def kernel(op, name):
    found = BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)
    assert found is not None, f"cpu has no {op} for {name}"
    return found


def values(name):
    """Edge values of the dtype and a few ordinary ones."""
    kind = np.dtype(name)
    if kind.kind == "b":
        return np.array([True, False])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        edges = [0, 1, 2, 3, 5, 7, 31, 100, info.max, info.max - 1, info.min, info.min + 1]
        if kind.kind == "i":
            edges += [-1, -2, -3, -7, -100]
        return np.array(edges, kind)
    info = np.finfo(kind)
    edges = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3,
        -7.25,
        100.7,
        1e-3,
        info.max,
        -info.max,
    ]
    edges += [info.tiny, np.inf, -np.inf, np.nan]
    return np.array(edges, kind)


def layouts(x):
    """The same matrix in five layouts of memory."""
    gaps = np.empty((x.shape[0] * 2, x.shape[1] * 3), x.dtype)[1::2, 1::3]
    gaps[...] = x
    offset = np.empty((x.shape[0] + 1, x.shape[1] + 2), x.dtype)[1:, 2:]
    offset[...] = x
    yield "contiguous", x.copy()
    yield "transposed", x.T.copy().T
    yield "negative", x[::-1, ::-1].copy()[::-1, ::-1]
    yield "gaps", gaps
    yield "offset", offset


def wrap(value, name):
    """A Python int as the dtype keeps it."""
    kind = np.dtype(name)
    bits = kind.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.kind == "i" and value >> (bits - 1) else value


def guarded(function):
    def run(*args):
        try:
            return function(*args)
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return run


def float_pow(a, b):
    try:
        return math.pow(a, b)
    except ValueError:
        if a == 0:
            odd = b == int(b) and int(b) % 2 if math.isfinite(b) else False
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf


def float_div(a, b):
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def float_floor_divide(a, b):
    if b == 0:
        return float_div(a, b)
    if math.isinf(a) or math.isnan(a) or math.isnan(b):
        return math.nan
    return float(a // b)


def pick(a, b, largest):
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        return math.nan
    return max(a, b) if largest else min(a, b)


def int_pow(a, b):
    if b >= 0:
        return pow(a, b, 1 << 64)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


def shifted(a, b, name, left):
    bits = np.dtype(name).itemsize * 8
    if not 0 <= b < bits:
        return 0 if left or a >= 0 else -1
    return a << b if left else a >> b


def log_of(function):
    return lambda a: -math.inf if a == 0 else function(a)


UNARY = {
    "abs": abs,
    "floor": lambda a: a if not math.isfinite(a) else float(math.floor(a)),
    "round": lambda a: a if not math.isfinite(a) else float(round(a)),
    "sqrt": guarded(math.sqrt),
    "exp": guarded(math.exp),
    "expm1": guarded(math.expm1),
    "log": guarded(log_of(math.log)),
    "log1p": guarded(lambda a: -math.inf if a == -1 else math.log1p(a)),
    "sin": guarded(math.sin),
    "cos": guarded(math.cos),
    "tanh": math.tanh,
}
BINARY_FLOAT = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": float_div,
    "floor_divide": float_floor_divide,
    "fmod": guarded(math.fmod),
    "pow": float_pow,
    "atan2": math.atan2,
    "maximum": lambda a, b: pick(a, b, True),
    "minimum": lambda a, b: pick(a, b, False),
}
BINARY_INT = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_divide": lambda a, b: a // b,
    "fmod": lambda a, b: int(math.copysign(abs(a) % abs(b), a)) if abs(a) < 2**53
    else (abs(a) % abs(b)) * (1 if a > 0 else -1),
    "pow": int_pow,
    "maximum": lambda a, b: max(a, b),
    "minimum": lambda a, b: min(a, b),
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}  # fmt: skip
COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le}
CORRECT = {"abs", "floor", "round", "sqrt", "add", "sub", "mul", "div", "floor_divide", "fmod",
           "maximum", "minimum"}  # fmt: skip
ULP = {"exp": 3, "expm1": 3, "log": 3, "log1p": 2, "sin": 4, "cos": 4, "tanh": 5, "atan2": 6,
       "pow": 16}  # fmt: skip


def expected(function, operands, name):
    flat = [function(*row) for row in zip(*[o.reshape(-1).tolist() for o in operands], strict=True)]
    with np.errstate(all="ignore"):
        return np.array(flat, np.float64).astype(name).reshape(operands[0].shape)


def check_floats(op, got, want, name, context):
    assert got.dtype == np.dtype(name), context
    assert got.shape == want.shape, context
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if op in ULP:
        with np.errstate(all="ignore"):
            gap = np.abs(got.astype(np.float64) - want.astype(np.float64))
            same |= gap <= ULP[op] * np.spacing(np.abs(want)).astype(np.float64)
    bad = np.argwhere(~same)
    assert len(bad) == 0, f"{context}: {got[tuple(bad[0])]} for {want[tuple(bad[0])]} at {bad[0]}"


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary_floats(op, name):
    base = np.concatenate([values(name), (RNG.standard_normal(21) * 3).astype(name)])
    for label, x in layouts(base.reshape(4, 10)):
        got = kernel(op, name)(x)
        check_floats(op, got, expected(UNARY[op], [x], name), name, f"{op} {name} {label}")


def pairs(name):
    v = values(name)
    a, b = (m.copy() for m in np.meshgrid(v, v))
    return a, b


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", sorted(BINARY_FLOAT))
def test_binary_floats_on_every_pair_of_edge_values(op, name):
    a, b = pairs(name)
    want = expected(BINARY_FLOAT[op], [a, b], name)
    if op == "mul" and name == "float16":
        want = (a.astype(np.float32) * b.astype(np.float32)).astype(name)
    if op == "floor_divide":
        # The quotient is rounded to the dtype before it is floored: compare where it is exact.
        with np.errstate(all="ignore"):
            exact = np.abs(want.astype(np.float64)) < 2 ** np.finfo(name).nmant
            exact |= ~np.isfinite(want)
            a, b, want = a[exact][None], b[exact][None], want[exact][None]
    for (label, x), (_, y) in zip(layouts(a), list(layouts(b))[::-1], strict=True):
        check_floats(op, kernel(op, name)(x, y), want, name, f"{op} {name} {label}")


@pytest.mark.parametrize("name", FLOATS)
def test_zeros_keep_their_sign_where_ieee_says_so(name):
    x, y = np.array([0.0, -0.0, -0.0, -3.0], name), np.array([-0.0, -0.0, 0.0, 0.0], name)
    assert np.signbit(kernel("add", name)(x, y)).tolist() == [False, True, False, True]
    assert np.signbit(kernel("mul", name)(x, y)).tolist() == [True, False, True, True]
    assert np.signbit(kernel("abs", name)(x)).tolist() == [False] * 4
    assert np.signbit(kernel("sqrt", name)(x[:3])).tolist() == [False, True, True]
    assert np.signbit(kernel("atan2", name)(x, y)).tolist() == [False, True, True, True]


@pytest.mark.parametrize(("a", "b"), [(1.0, 5e-324), (1e300, 1e-9), (-1e300, 3.0), (5.5, -2.0)])
def test_fmod_is_exact_at_any_quotient(a, b):
    got = kernel("fmod", "float64")(np.array([a]), np.array([b]))
    assert got[0] == math.fmod(a, b)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", sorted(BINARY_INT))
def test_binary_integers_wrap(op, name):
    a, b = pairs(name)
    if op in ("floor_divide", "fmod"):
        a, b = a[b != 0][None].copy(), b[b != 0][None].copy()
    want = [
        wrap(BINARY_INT[op](x, y), name)
        for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    ]
    want = np.array(want, name).reshape(a.shape)
    for label, x in layouts(a):
        got = kernel(op, name)(x, b)
        assert got.dtype == np.dtype(name)
        np.testing.assert_array_equal(got, want, f"{op} {name} {label}")
        out = x.copy()
        assert kernel(op, name)(out, b, out=out) is out
        np.testing.assert_array_equal(out, want, f"{op} {name} {label} in at")


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_abs_keeps_the_least(name):
    x = values(name)
    want = [wrap(abs(v), name) for v in x.tolist()]
    np.testing.assert_array_equal(kernel("abs", name)(x), np.array(want, name))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("left", [True, False])
def test_shifts_by_any_count(left, name):
    op = "lshift" if left else "rshift"
    a, b = pairs(name)
    rows = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    want = np.array([wrap(shifted(x, y, name, left), name) for x, y in rows], name)
    for label, x in layouts(a):
        np.testing.assert_array_equal(kernel(op, name)(x, b), want.reshape(a.shape), label)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("op", sorted(COMPARE))
def test_comparisons(op, name):
    a, b = pairs(name)
    rows = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    want = np.array([COMPARE[op](x, y) for x, y in rows]).reshape(a.shape)
    for label, x in layouts(a):
        got = kernel(op, name)(x, b)
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, want, f"{op} {name} {label}")


@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum"])
def test_bools_stay_bools(op):
    a, b = pairs("bool")
    logic = {"bitwise_xor": operator.xor, "bitwise_or": operator.or_, "maximum": operator.or_}
    got = kernel(op, "bool")(a, b)
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, logic.get(op, operator.and_)(a, b))


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("n", [5, 100])
def test_where_selects_and_never_mixes(name, n):
    pool = values(name) if "complex" not in name else np.array([1 + 2j, complex("nan"), 3], name)
    a, b = RNG.choice(pool, (n, n)), RNG.choice(pool, (n, n))
    mask = RNG.random((n, n)) < 0.5
    want = a.copy()
    for at in np.argwhere(~mask):
        want[tuple(at)] = b[tuple(at)]
    for label, x in layouts(a):
        for m in (mask, mask.T.copy().T):
            got = kernel("where", name)(m, x, b)
            assert got.dtype == np.dtype(name)
            np.testing.assert_array_equal(got, want, f"{name} {label}")
            kernel("where", name)(m, x, b, out=x)
            np.testing.assert_array_equal(x, want, f"{name} {label} in at")
            x[...] = a


def test_where_takes_scalars_and_broadcasts():
    mask = RNG.random((90, 90)) < 0.5
    one, zero = (BACKEND.scalar(v, dtypes.float32) for v in (1.0, 0.0))
    np.testing.assert_array_equal(kernel("where", "float32")(mask, one, zero), mask * 1.0)
    row = RNG.random(90).astype(np.float32)
    want = np.array([[row[j] if mask[i, j] else 0 for j in range(90)] for i in range(90)])
    np.testing.assert_array_equal(kernel("where", "float32")(mask, row, zero), want)
    column = mask[:, :1]
    want = np.repeat(column, 90, 1) * row
    np.testing.assert_array_equal(kernel("where", "float32")(column, row, zero), want)


@pytest.mark.parametrize("op", sorted(set(POINTWISE) - {"where"}))
def test_scalar_operands_zero_dims_and_strided_out(op):
    name = "int32" if "bitwise" in op or "shift" in op else "float32"
    k = kernel(op, name)
    x = np.array([[1, 2, 3], [4, 5, 6]], name)
    two = BACKEND.scalar(2, dtypes.dtype_by_name(name))
    arguments = (x,) if op in UNARY else (x, two)
    want = k(*arguments)
    each = [[k(*(np.array(v, name), *arguments[1:])) for v in row] for row in x]
    np.testing.assert_array_equal(np.array(each), want)
    room = np.zeros((4, 9), want.dtype)
    out = room[1::2, 2::3].T
    k(*[a.T if a.ndim else a for a in arguments], out=out)
    np.testing.assert_array_equal(out.T, want)
    assert (room[::2] == 0).all() and (room[:, [0, 1, 3, 4, 6, 7]] == 0).all()
    if op not in UNARY:
        reverse = np.array([[k(two, np.array(v, name)) for v in row] for row in x])
        np.testing.assert_array_equal(k(two, x), reverse)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "exp", "log", "sqrt", "sin", "tanh"])
def test_complex_arithmetic(op, name):
    a = (RNG.standard_normal(20) + 1j * RNG.standard_normal(20)).astype(name)
    b = (RNG.standard_normal(20) + 1j * RNG.standard_normal(20)).astype(name)
    python = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
              "div": operator.truediv}.get(op)  # fmt: skip
    arguments = (a, b) if python else (a,)
    got = kernel(op, name)(*arguments)
    function = python or getattr(cmath, op)
    want = [function(*row) for row in zip(*[x.tolist() for x in arguments], strict=True)]
    np.testing.assert_allclose(got, want, rtol=20 * np.finfo(name).eps)
    assert got.dtype == np.dtype(name)


def test_hot_kernels_are_universal_functions_themselves():
    for op, function in {"add": np.add, "mul": np.multiply, "div": np.true_divide,
                         "exp": np.exp, "maximum": np.maximum, "lt": np.less}.items():  # fmt: skip
        assert kernel(op, "float32") is function


@pytest.mark.parametrize("op", ["rsqrt", "sigmoid", "mean", "sum", "log_softmax"])
def test_python_kernels_survive_warnings_as_errors(op):
    x = np.array([-1e4, 0.0, 88.9, np.inf, -np.inf], np.float16)
    arguments = {"mean": (x, (0,)), "sum": (x, (0,), np.dtype(np.float16)), "log_softmax": (x, 0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strict = kernel(op, "float16")(*arguments.get(op, (x,)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(strict, kernel(op, "float16")(*arguments.get(op, (x,))))
