"""Pointwise functions beside PyTorch: values, dtypes, layouts, in-place and ``out=`` forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import tensorbus

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
LAYOUTS = ("row-major", "transposed", "strided", "expanded", "0-dim", "empty")

UNARY = (
    "neg abs sign sgn floor ceil round trunc frac sqrt rsqrt square reciprocal exp exp2 expm1 log "
    "log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh isnan isinf "
    "isfinite logical_not bitwise_not sigmoid relu erf erfc erfinv lgamma digamma sinc deg2rad "
    "rad2deg logit signbit positive nan_to_num angle isposinf isneginf isreal"
).split()

BINARY = (
    "add sub mul div floor_divide fmod remainder pow atan2 maximum minimum hypot logaddexp "
    "logaddexp2 xlogy eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor copysign nextafter heaviside fmax fmin gcd lcm float_power ldexp true_divide"
).split()

# Where tensorbus takes more than PyTorch does: integers in functions that PyTorch has for floats.
WIDER = {"hypot", "logaddexp", "logaddexp2", "frac", "relu"}


def sample(m: Any, dtype: str, layout: str = "row-major", seed: int = 0) -> Any:
    rng = np.random.RandomState(seed)
    if dtype == "bool":
        values = rng.randint(0, 2, (3, 4)).astype(bool)
    elif dtype in INTEGERS:
        values = rng.randint(1 if seed else 0, 6, (3, 4)) * (
            1 if dtype == "uint8" else 1 - 2 * seed
        )
    else:
        values = rng.randn(3, 4).round(3) * 1.5
    x = m.tensor(values.tolist(), dtype=getattr(m, dtype))
    return {
        "row-major": lambda: x,
        "transposed": lambda: x.t(),
        "strided": lambda: x[:, ::2],
        "expanded": lambda: x[0:1].expand(3, 4),
        "0-dim": lambda: x[0, 1],
        "empty": lambda: x[:0],
    }[layout]()


def takes(name: str, dtype: str) -> bool:
    return dtype in FLOATS or name not in WIDER


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, like_torch: Callable[..., None], device: str) -> None:
    dtypes = (*FLOATS, *INTEGERS, "bool") if device == "cpu" else ("float32", "int32")
    for dtype in dtypes:
        if takes(name, dtype) and not (name == "square" and dtype == "bool"):
            like_torch(lambda m, d=dtype: getattr(m, name)(sample(m, d)))
    for layout in LAYOUTS if device == "cpu" else ("transposed", "0-dim", "empty"):
        like_torch(lambda m, k=layout: getattr(m, name)(sample(m, "float32", k)))


@pytest.mark.parametrize("name", [n for n in UNARY if hasattr(tensorbus.Tensor, n + "_")])
def test_unary_in_place_and_out(name: str, like_torch: Callable[..., None], device: str) -> None:
    like_torch(lambda m: getattr(sample(m, "float32"), name + "_")())
    like_torch(lambda m: getattr(sample(m, "float32", "transposed"), name + "_")())
    if device == "cpu":
        if takes(name, "int64"):
            like_torch(lambda m: getattr(sample(m, "int64"), name + "_")())
        if name != "relu":
            like_torch(lambda m: getattr(m, name)(sample(m, "float32"), out=m.empty(0)))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, like_torch: Callable[..., None], device: str) -> None:
    function: Callable[[Any], Callable[..., Any]] = lambda m: getattr(m, name)  # noqa: E731
    for dtype in (*FLOATS, *INTEGERS, "bool") if device == "cpu" else ("float32", "int32"):
        if takes(name, dtype) and not (dtype == "bool" and name in ("floor_divide", "fmod",
                                                                    "remainder")):  # fmt: skip
            like_torch(lambda m, d=dtype: function(m)(sample(m, d), sample(m, d, seed=1)))
    for layout in LAYOUTS if device == "cpu" else ("transposed", "empty"):
        like_torch(
            lambda m, k=layout: function(m)(sample(m, "float32", k), sample(m, "float32", k, 1))
        )
    like_torch(lambda m: function(m)(sample(m, "float32"), sample(m, "float32", seed=1)[0]))
    whole = "bitwise" in name or name in ("gcd", "lcm")
    like_torch(
        lambda m: function(m)(*(m.ones(2, n, dtype=m.int32 if whole else None) for n in (3, 2))),
        text=name not in ("gcd", "lcm"),
    )


@pytest.mark.parametrize("name", [n for n in BINARY if n not in WIDER])
def test_binary_of_two_kinds(name: str, like_torch: Callable[..., None]) -> None:
    function: Callable[[Any], Callable[..., Any]] = lambda m: getattr(m, name)  # noqa: E731
    like_torch(lambda m: function(m)(sample(m, "float32"), sample(m, "int32", seed=1)))
    like_torch(lambda m: function(m)(sample(m, "int32"), sample(m, "uint8") + 1))
    like_torch(
        lambda m: function(m)(sample(m, "float32", "transposed"), sample(m, "float32", "0-dim", 1))
    )


# PyTorch has no in-place form of these.
NOT_IN_PLACE = {"maximum", "minimum", "fmax", "fmin", *WIDER}


@pytest.mark.parametrize("name", [n for n in BINARY if n not in NOT_IN_PLACE])
def test_binary_in_place(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: getattr(sample(m, "float32"), name + "_")(sample(m, "float32", seed=1)))
    like_torch(
        lambda m: getattr(sample(m, "float32", "transposed"), name + "_")(
            sample(m, "float32", seed=1)[0, :3]
        )
    )
    like_torch(lambda m: getattr(sample(m, "int64"), name + "_")(sample(m, "int64", seed=1)))


def test_numbers_on_either_side(like_torch: Callable[..., None]) -> None:
    for number in (2, 2.5, True, 0.0):
        for dtype in ("float32", "int32", "uint8", "bool"):
            like_torch(lambda m, n=number, d=dtype: sample(m, d) + n)
            like_torch(lambda m, n=number, d=dtype: n * sample(m, d))
            like_torch(lambda m, n=number, d=dtype: n - sample(m, d))
            like_torch(lambda m, n=number, d=dtype: sample(m, d) / n)
            like_torch(lambda m, n=number, d=dtype: n > sample(m, d))
            if dtype != "bool":
                like_torch(lambda m, n=number, d=dtype: sample(m, d) ** n)
            if dtype != "bool":  # powers of truth values are not offered
                like_torch(lambda m, n=number, d=dtype: n ** sample(m, d))
    like_torch(lambda m: sample(m, "uint8") + 300)
    like_torch(lambda m: sample(m, "int64") + 2**80)
    like_torch(lambda m: 3 // m.tensor([2, 4]))
    like_torch(lambda m: -7 % m.tensor([2.0, -4.0]))


# Only a device that the host waits for can tell at once.
@pytest.mark.parametrize("device", ["cpu"], indirect=True)
def test_integer_division_by_zero(like_torch: Callable[..., None]) -> None:
    for name in ("floor_divide", "fmod", "remainder"):
        like_torch(lambda m, n=name: getattr(m, n)(m.tensor([1, 2]), m.tensor([1, 0])), text=True)
        like_torch(lambda m, n=name: getattr(m, n)(m.tensor([1, 2]), 0), text=True)
        like_torch(lambda m, n=name: getattr(m, n)(m.tensor([1.0, 2]), 0))


# The reference, the range, the relative error in units of 2**-52, and the absolute error where
# a zero lies within the range: the sum that gives it has terms of that size.
SPECIAL: dict[str, tuple[Callable[[float], float], float, float, float, float]] = {
    "erf": (math.erf, -6, 6, 1.5, 0),
    "erfc": (math.erfc, -6, 25, 8, 0),
    "erfinv": (scipy.special.erfinv, -0.999, 0.999, 6, 0),
    "digamma": (scipy.special.digamma, 0.1, 30, 8, 1e-14),
    "lgamma": (math.lgamma, 0.1, 200, 8, 2e-14),
    "sinc": (np.sinc, -5, 5, 4, 0),
    "logit": (scipy.special.logit, 0.001, 0.999, 8, 1e-14),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_to_the_last_digits(name: str) -> None:
    reference, low, high, units, absolute = SPECIAL[name]
    x = np.linspace(low, high, 1501)
    found = getattr(tensorbus, name)(tensorbus.from_numpy(x)).numpy()
    expected = np.array([reference(v) for v in x.tolist()])
    np.testing.assert_allclose(found, expected, rtol=units * 2.0**-52, atol=absolute)


@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_powers_have_whole_logarithms(device: str) -> None:
    twos = [2.0**k for k in range(-126, 128)]
    x = tensorbus.tensor(twos, device=device)
    assert x.log2().tolist() == [float(k) for k in range(-126, 128)]
    assert tensorbus.arange(-126.0, 128, device=device).exp2().tolist() == twos
    tens = range(-37, 39) if device == "cpu" else range(11)  # composed of pow there
    x = tensorbus.tensor([float(f"1e{k}") for k in tens], device=device)
    assert x.log10().tolist() == [float(k) for k in tens]
    x = tensorbus.tensor([2.5, -1.0, 0.0, math.inf, math.nan], device=device)
    for base, found in ((2, x.log2()), (10, x.log10())):
        first, *others = found.tolist()
        assert first == pytest.approx(math.log(2.5, base), rel=2**-22)
        assert [str(v) for v in others] == ["nan", "-inf", "inf", "nan"]


@pytest.mark.parametrize("device", ["cpu", "strict"])
@pytest.mark.parametrize("repeated", [1, 1000])
def test_sigmoid_ends_in_subnormal_numbers(device: str, repeated: int) -> None:
    x = [-80.5, -88.0, -89.0, -100.0, -103.0, -104.0, -math.inf, 0.0, math.inf, math.nan]
    want = [math.exp(v) if v < 0 else 1 / (1 + math.exp(-v)) for v in x]
    found = tensorbus.tensor(x * repeated, device=device).sigmoid().cpu().numpy()
    expected = np.array(want * repeated).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=2.0**-22, atol=1.5e-45)
    assert 0 < found[4] < 1e-44 and found[5] == 0


def test_erf_of_float32_is_within_two_units() -> None:
    x = np.linspace(0, 4, 100_001, dtype=np.float32)
    want = scipy.special.erf(x.astype(np.float64))
    error = np.abs(tensorbus.from_numpy(x).erf().numpy() - want)
    assert (error / np.spacing(want.astype(np.float32))).max() < 2


# The bits of infinities and NaN are the kernels' own elsewhere.
@pytest.mark.parametrize("device", ["cpu"], indirect=True)
def test_special_values(like_torch: Callable[..., None]) -> None:
    inf, nan = float("inf"), float("nan")
    for name in UNARY:
        if name not in ("bitwise_not", "digamma"):
            like_torch(lambda m, n=name: getattr(m, n)(m.tensor([0.0, -0.0, inf, -inf, nan, 1.0])))


def test_polygamma() -> None:
    x = np.linspace(0.3, 20, 101)
    for n in (0, 1, 2, 5):
        found = tensorbus.polygamma(n, tensorbus.from_numpy(x)).numpy()
        np.testing.assert_allclose(found, scipy.special.polygamma(n, x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", [None, "trunc", "floor", "up"])
def test_division_by_mode(mode: Any, like_torch: Callable[..., None]) -> None:
    values = [-7, -1, 1, 7]
    like_torch(lambda m: m.div(m.tensor(values), 2, rounding_mode=mode), text=True)
    like_torch(lambda m: m.div(m.tensor(values).float(), m.tensor(2.5), rounding_mode=mode))
    like_torch(lambda m: m.tensor(values).float().div_(3, rounding_mode=mode))
    like_torch(lambda m: gradients(m, lambda a, b: m.div(a, b, rounding_mode=mode)))


def gradients(m: Any, f: Callable[..., Any]) -> list[Any]:
    a = m.tensor([1.5, 2.5, -3.0], requires_grad=True)
    b = m.tensor([1.5, -0.5, 2.0], requires_grad=True)
    f(a, b).sum().backward()
    return [a.grad, b.grad]


PAIRS: dict[str, Callable[..., Any]] = {
    "maximum at a tie": lambda m, a, b: m.maximum(a, b),
    "clamp by tensors": lambda m, a, b: a.clamp(min=b),
    "clamp_max": lambda m, a, b: a.clamp_max(b) * b,
    "fmod": lambda m, a, b: a.fmod(b),
    "remainder": lambda m, a, b: a % b,
    "pow": lambda m, a, b: a.abs() ** b,
    "xlogy": lambda m, a, b: m.xlogy(a, b.abs()),
    "lerp by a number": lambda m, a, b: m.lerp(a, b, 0.7),
    "lerp by a tensor": lambda m, a, b: m.lerp(a, b, m.tensor([0.2, 0.5, 0.8])),
    "addcmul": lambda m, a, b: m.addcmul(a, a, b, value=2),
    "addcdiv": lambda m, a, b: m.addcdiv(a, a, b, value=2),
    "fmax": lambda m, a, b: m.fmax(a, b),
    "copysign": lambda m, a, b: m.copysign(a, b),
    "hypot": lambda m, a, b: m.hypot(a, b),
    "add with alpha": lambda m, a, b: m.add(a, b, alpha=3),
    "rsub": lambda m, a, b: m.rsub(a, b, alpha=3),
    "dist": lambda m, a, b: m.dist(a, b, 3) * m.ones(3),
    "logaddexp2": lambda m, a, b: m.logaddexp2(a, b),
    "float_power": lambda m, a, b: m.float_power(a.abs(), b),
}


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_pairs(name: str, like_torch: Callable[..., None]) -> None:
    if name == "float_power":
        like_torch(lambda m: [g.float() for g in gradients(m, lambda a, b: PAIRS[name](m, a, b))])
        return
    like_torch(lambda m: gradients(m, lambda a, b: PAIRS[name](m, a, b)))


def test_closeness(like_torch: Callable[..., None]) -> None:
    nan = float("nan")
    like_torch(lambda m: m.isclose(m.tensor([1.0, 2.0, nan]), m.tensor([1.0, 2.1, nan])))
    like_torch(lambda m: m.isclose(m.tensor([nan]), m.tensor([nan]), equal_nan=True))
    like_torch(lambda m: m.isclose(m.tensor([1, 5]), m.tensor([1, 6]), rtol=0.5))
    like_torch(lambda m: m.allclose(m.ones(2), m.ones(2) + 1e-7))
    like_torch(lambda m: m.allclose(m.ones(2), m.ones(2).int()), text=True)
    like_torch(lambda m: m.isclose(m.ones(2), m.ones(2), rtol=-1), text=True)
    like_torch(lambda m: m.equal(m.ones(2), m.ones(3)))
    like_torch(lambda m: m.equal(m.ones(2), m.ones(2)))


def test_comparison_in_place(like_torch: Callable[..., None]) -> None:
    for name in "eq ne lt le gt ge logical_and logical_or logical_xor".split():
        like_torch(lambda m, n=name: getattr(m.tensor([1, 2, 0]), n + "_")(m.tensor([1, 0, 0])))
    like_torch(lambda m: m.tensor([1.0, 0.0]).logical_not_())


def test_rounding_to_decimals(like_torch: Callable[..., None]) -> None:
    for decimals in (2, 0, -2):
        like_torch(lambda m, d=decimals: m.round(m.tensor([1.2345, -155.5, 2.5]), decimals=d))
    like_torch(lambda m: m.ones(2, dtype=m.int64).round(decimals=1), text=True)


EDGES = {
    "pow": ([0.0, 0.0, 2.0], [0.0, 2.0, 0.0]),
    "atan2": ([0.0, 1.0, -1.0], [0.0, 0.0, 2.0]),
    "logaddexp": ([math.inf, 1.0, -math.inf], [2.0, math.inf, 0.0]),
    "logaddexp2": ([math.inf, 1.0, -math.inf], [2.0, math.inf, 0.0]),
    "maximum": ([1.0, math.nan, 3.0], [1.0, 1.0, math.nan]),
    "minimum": ([1.0, math.nan, 3.0], [1.0, 1.0, math.nan]),
    "xlogy": ([0.0, 0.0, 2.0], [0.0, 1.0, 3.0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_gradients_where_formulas_meet_0_and_infinity(
    name: str, like_torch: Callable[..., None]
) -> None:
    def gradients_at(m: Any) -> list[Any]:
        a, b = (m.tensor(values).requires_grad_() for values in EDGES[name])
        return list(m.autograd.grad(getattr(m, name)(a, b).sum(), (a, b)))

    like_torch(gradients_at)


def test_factors_of_sums_are_taken_in_the_dtype_of_the_result(
    like_torch: Callable[..., None],
) -> None:
    like_torch(lambda m: m.add(m.tensor([1]), m.tensor([100], dtype=m.int8), alpha=2))
    like_torch(lambda m: m.sub(m.tensor([1.0]), m.tensor([3]), alpha=0.5))
    like_torch(lambda m: m.add(m.tensor([True, False]), m.tensor([True, False]), alpha=2))
    like_torch(lambda m: m.tensor([1.0]).add_(m.tensor([3]), alpha=0.5))


def test_bounds_that_integers_cannot_hold(like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: m.tensor([0, 5], dtype=m.uint8).clamp(-1, 3))
    like_torch(lambda m: m.tensor([0, 5], dtype=m.uint8).clamp(0, 300), text=True)
    like_torch(lambda m: m.tensor([True, False]).clamp(0, 2))


# Complex numbers are not claimed by every device.
@pytest.mark.parametrize("device", ["cpu"], indirect=True)
def test_complex_numbers_keep_to_their_functions(like_torch: Callable[..., None]) -> None:
    like_torch(lambda m: m.tensor([3 + 4j, 0j]).abs())
    like_torch(lambda m: m.sgn(m.tensor([3 + 4j, 0j])))
    like_torch(lambda m: m.isclose(m.tensor([1 + 1j]), m.tensor([1 + 1.5j]), atol=0.6))
    like_torch(lambda m: m.float_power(m.tensor([1j]), 2))
    like_torch(lambda m: m.nan_to_num(m.tensor([complex(math.nan, math.inf)]), posinf=1.0))
    for name in ("lgamma", "digamma", "erf", "logit", "isposinf"):
        like_torch(lambda m, n=name: getattr(m, n)(m.tensor([1j])))
    like_torch(lambda m: m.tensor([1j]).clamp(0), text=True)


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        (lambda x: (tensorbus.view_as_complex(x) * (2 - 3j)).abs(), [2.5495, 2.5495]),
        (lambda x: tensorbus.complex(x[:, 0], x[:, 1]).abs(), [0.7071, 0.7071]),
        (lambda x: (x * 1j).abs(), [1.0, 1.0]),
        (lambda x: (x * (2 + 1j)).real, [2.0, 2.0]),
        (lambda x: (x * (2 + 1j)).imag, [1.0, 1.0]),
        (lambda x: tensorbus.polar(x[:, 0], x[:, 1]).real, [0.5403, -0.8415]),
    ],
)
def test_gradients_pass_between_real_and_complex(passes: Any, expected: list[float]) -> None:
    x = tensorbus.ones(3, 2, requires_grad=True)
    passes(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [expected] * 3, atol=1e-4)


def test_truth_values_are_bounded_by_tensors_one_at_a_time() -> None:
    x = tensorbus.tensor([True, False])
    assert tensorbus.clamp_min(x, tensorbus.tensor([True])).tolist() == [True, True]
    assert tensorbus.clamp(x, max=tensorbus.tensor([False])).tolist() == [False, False]
    with pytest.raises(NotImplementedError, match="\"clamp_cpu\" not implemented for 'Bool'"):
        tensorbus.clamp(x, x, x)
