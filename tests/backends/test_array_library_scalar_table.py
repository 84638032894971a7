"""The optional pointwise kernels of ``cpu`` against Python's own functions."""

from __future__ import annotations

import math
import operator
import warnings

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus_cpu_numpy.backend import CpuBackend

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
BACKEND = CpuBackend()
FLOATS = ["float16", "float32", "float64"]
ULP = 4


def kernel(op, name):
    found = BACKEND.kernel(op, dtypes.dtype_by_name(name), 0)
    assert found is not None, f"cpu has no {op} for {name}"
    return found


def guarded(function):
    def run(*args):
        try:
            return function(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return run


def log_of(function):
    return lambda a: -math.inf if a == 0 else function(a)


def atanh(a):
    return math.copysign(math.inf, a) if abs(a) == 1 else math.atanh(a)


def sinh(a):
    try:
        return math.sinh(a)
    except OverflowError:
        return math.copysign(math.inf, a)


def sigmoid(a):
    return 0.0 if a < -700 else 1 / (1 + math.exp(-a))


UNARY = {
    "ceil": lambda a: a if not math.isfinite(a) else math.ceil(a),
    "trunc": lambda a: a if not math.isfinite(a) else math.trunc(a),
    "exp2": guarded(lambda a: 2.0**a),
    "log2": guarded(log_of(math.log2)),
    "log10": guarded(log_of(math.log10)),
    "tan": guarded(math.tan),
    "asin": guarded(math.asin),
    "acos": guarded(math.acos),
    "atan": math.atan,
    "sinh": sinh,
    "cosh": guarded(math.cosh),
    "asinh": math.asinh,
    "acosh": guarded(math.acosh),
    "atanh": guarded(atanh),
    "sign": lambda a: 0 if a != a else (a > 0) - (a < 0),
    "neg": operator.neg,
    "square": guarded(lambda a: a * a),
    "reciprocal": lambda a: math.copysign(math.inf, a) if a == 0 else 1 / a,
    "rsqrt": guarded(lambda a: math.copysign(math.inf, a) if a == 0 else 1 / math.sqrt(a)),
    "sigmoid": sigmoid,
    "relu": lambda a: a if a != a or a > 0 else 0.0,
}
TESTS = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite,
         "logical_not": lambda a: a == 0}  # fmt: skip
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.25, 2.5, -3.75, 20.0, -20.0, 1e-3, 90.0, -90.0,
          math.inf, -math.inf, math.nan]  # fmt: skip


def close(got, want, name, context):
    """Equal, or within a few units in the last place of the dtype."""
    with np.errstate(all="ignore"):
        want = np.array(want, np.float64).astype(name)
        gap = np.abs(got.astype(np.float64) - want.astype(np.float64))
        near = gap <= ULP * np.spacing(np.abs(want)).astype(np.float64)
        if context.startswith("sigmoid"):
            # exp(-x) leaves the dtype where 1 / (1 + exp(-x)) is subnormal: that may be 0.
            near |= (np.abs(want) < np.finfo(name).tiny) & (got == 0)
    same = near | (got == want) | (np.isnan(got) & np.isnan(want))
    assert got.dtype == want.dtype and same.all(), f"{context}: {got[~same]} for {want[~same]}"


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_float(op, name):
    x = np.array(VALUES, name)
    want = [UNARY[op](v) for v in x.tolist()]
    k = kernel(op, name)
    close(k(x), want, name, op)
    close(k(np.repeat(x, 2)[::2]), want, name, op)
    close(np.array([k(np.array(v, name)) for v in x]), want, name, f"{op} of 0-d")
    out = x.copy()
    assert k(out, out=out) is out
    close(out, want, name, f"{op} in place")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if op in ("rsqrt", "sigmoid", "sign", "relu"):
            close(k(x), want, name, f"{op} under strict warnings")


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", TESTS)
def test_questions(op, name):
    x = np.array(VALUES, name)
    got = kernel(op, name)(x)
    assert got.dtype == np.bool_ and got.tolist() == [TESTS[op](v) for v in x.tolist()]


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_two_floats(name):
    x, y = (m.astype(name) for m in np.meshgrid(VALUES, VALUES))

    def remainder(a, b):
        if b == 0 or math.isinf(a) or a != a or b != b:
            return math.nan
        return a % b

    rules = {"remainder": remainder, "copysign": math.copysign, "hypot": math.hypot}
    rows = list(zip(x.ravel().tolist(), y.ravel().tolist(), strict=True))
    for op, rule in rules.items():
        close(kernel(op, name)(x, y).ravel(), [rule(a, b) for a, b in rows], name, op)
    for op, rule in (("gt", operator.gt), ("ge", operator.ge)):
        assert kernel(op, name)(x, y).ravel().tolist() == [rule(a, b) for a, b in rows]


@pytest.mark.parametrize("name", ["int8", "int64", "uint8"])
def test_integers(name):
    x = np.array([0, 1, 2, 7, 100, 127], name)
    if name != "uint8":
        x = np.concatenate([x, -x])
        assert kernel("neg", name)(x).tolist() == [-v for v in x.tolist()]
        assert kernel("sign", name)(x).tolist() == [(v > 0) - (v < 0) for v in x.tolist()]
    y = np.array([3, 5, 7, 2, 9, 4] * (len(x) // 6), name)
    assert kernel("remainder", name)(x, y).tolist() == [
        a % b for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    assert kernel("bitwise_not", name)(x).tolist() == [
        ~v % 256 if name == "uint8" else ~v for v in x.tolist()
    ]


@pytest.mark.parametrize("name", ["int32", *FLOATS])
@pytest.mark.parametrize("low", [-2, 3])
def test_clamps(name, low):
    x = np.array([-5, -2, 0, 1, 2, 9], name)
    if name != "int32":
        x[2] = np.nan
    a, b = (BACKEND.scalar(v, dtypes.dtype_by_name(name)) for v in (low, 2))
    rules = {
        "clamp_min": ((a,), lambda v: max(v, low)),
        "clamp_max": ((b,), lambda v: min(v, 2)),
        "clamp": ((a, b), lambda v: min(max(v, low), 2)),
    }
    for op, (bounds, rule) in rules.items():
        want = np.array([v if v != v else rule(v) for v in x.tolist()], name)
        np.testing.assert_array_equal(kernel(op, name)(x, *bounds), want)
        each = [kernel(op, name)(np.array(v, name), *bounds) for v in x]
        np.testing.assert_array_equal(each, want)
        out = x.copy()
        kernel(op, name)(out, *bounds, out=out)
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("name", ["bool", "int16", "float32", "complex64"])
def test_contiguous_copies(name):
    x = np.arange(12).reshape(3, 4).astype(name)
    for view in (x, x.T, x[::-1, ::2]):
        got = kernel("contiguous", name)(view)
        assert got.flags.c_contiguous and not np.shares_memory(got, x)
        np.testing.assert_array_equal(got, view)
