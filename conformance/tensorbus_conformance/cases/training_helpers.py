"""Level 5: how parameters begin (``nn.init``), and helpers of training (``nn.utils``)."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

import tensorbus
from tensorbus import nn
from tensorbus.nn import init, utils
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch, expect
from tensorbus_conformance.op import T
from tensorbus_conformance.trial import Trial

FAMILY = "training"
DTYPES = (formats.FLOAT32, formats.FLOAT64)


def cases() -> Iterator[Case]:
    for module, checks in (("init", INIT), ("utils", UTILS)):
        for (name, variant), check in checks.items():
            for dtype in DTYPES:
                yield Case(
                    f"L5/nn.{module}.{name}/{dtype.name}/{variant}",
                    FAMILY,
                    functools.partial(check, dtype),
                    (dtype,),
                )


# -- nn.init ---------------------------------------------------------------------------------
def _filled(
    bench: Bench, dtype: Dtype, name: str, shape: tuple[int, ...], *args: Any, **kwargs: Any
) -> np.ndarray:
    """What the function puts into a parameter: in place, and not recorded."""
    p = nn.Parameter(tensorbus.full(shape, math.nan, dtype=dtype, device=bench.device))
    got = getattr(init, name)(p, *args, **kwargs)
    expect(got is p, f"{name} returned another tensor than its own")
    expect(p.is_leaf and p.requires_grad, f"{name} was recorded")
    expect(p.dtype is dtype, f"{name} made it {p.dtype.name}")
    return bench.read(p).astype(np.float64)


def _certain(
    name: str, shape: tuple[int, ...], args: tuple[Any, ...], want: Any, dtype: Dtype, t: Trial
) -> None:
    found = _filled(Bench(t), dtype, name, shape, *args)
    exact = formats.round_to(np.broadcast_to(np.asarray(want, np.float64), shape), dtype)
    expect(np.array_equal(found, exact), f"got {found}, expected {exact}")


@dataclass(frozen=True)
class _Law:
    """A distribution by its cumulative function."""

    below: Callable[[np.ndarray], np.ndarray]
    low: float = -math.inf
    high: float = math.inf


def _uniform(low: float, high: float) -> _Law:
    return _Law(lambda x: np.clip((x - low) / (high - low), 0, 1), low, high)


def _around(bound: float) -> _Law:
    return _uniform(-bound, bound)


def _normal(mean: float, std: float, low: float = -math.inf, high: float = math.inf) -> _Law:
    """The normal law, between limits where there are any."""
    first, last = special.ndtr((low - mean) / std), special.ndtr((high - mean) / std)
    return _Law(lambda x: (special.ndtr((x - mean) / std) - first) / (last - first), low, high)


def _drawn(
    name: str, shape: tuple[int, ...], kwargs: dict[str, Any], law: _Law, dtype: Dtype, t: Trial
) -> None:
    """The values follow a law, by the test of Kolmogorov and Smirnov; seeds repeat them."""
    bench = Bench(t)
    tensorbus.manual_seed(3)
    found = _filled(bench, dtype, name, shape, **kwargs)
    expect(found.min() >= law.low - 1e-6, f"{found.min()} was drawn, allowed from {law.low}")
    expect(found.max() <= law.high + 1e-6, f"{found.max()} was drawn, allowed up to {law.high}")
    ordered = np.sort(found, axis=None)
    share = np.arange(ordered.size + 1) / ordered.size
    wanted = law.below(ordered)
    distance = max(float((share[1:] - wanted).max()), float((wanted - share[:-1]).max()))
    limit = math.sqrt(-math.log(1e-4 / 2) / 2 / ordered.size)
    expect(
        distance < limit, f"drawn from another law: distance {distance:.3g}, {limit:.3g} allowed"
    )
    again = _filled(bench, dtype, name, shape, **kwargs)
    expect((again != found).any(), "two calls drew the same values")
    tensorbus.manual_seed(3)
    same = _filled(bench, dtype, name, shape, **kwargs)
    expect(np.array_equal(same, found), "the same seed, other values")


def _orthogonal(shape: tuple[int, ...], gain: float, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(3)
    q = _filled(bench, dtype, "orthogonal_", shape, gain).reshape(shape[0], -1)
    product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    error = np.abs(product - gain**2 * np.eye(len(product))).max()
    bound = 16 * len(q) * formats.unit_roundoff(dtype) * gain**2
    expect(error <= bound, f"columns are off orthogonality by {error:.3g}, allowed {bound:.3g}")


def _sparse(dtype: Dtype, t: Trial) -> None:
    found = _filled(Bench(t), dtype, "sparse_", (20, 6), 0.3, std=0.5)
    zeros = (found == 0).sum(0)
    expect((zeros == 6).all(), f"{zeros} zeros in the columns, expected 6 in each")
    expect(0.3 < found[found != 0].std() < 0.7, "values of another deviation")


def _gain(dtype: Dtype, t: Trial) -> None:
    for name, param, want in (
        ("linear", None, 1), ("sigmoid", None, 1), ("conv2d", None, 1), ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)), ("selu", None, 0.75),
        ("leaky_relu", None, math.sqrt(2 / (1 + 1e-4))), ("leaky_relu", 0.5, math.sqrt(1.6)),
    ):  # fmt: skip
        got = init.calculate_gain(name, param)
        expect(math.isclose(got, want), f"the gain of {name} is {got}, expected {want}")


def _dirac(groups: int) -> np.ndarray:
    want = np.zeros((4, 2, 3))
    for o in range(4):
        channel = o % (4 // groups)
        if channel < 2:
            want[o, channel, 1] = 1
    return want


Check = Callable[[Dtype, Trial], None]


def _fan(shape: tuple[int, ...]) -> tuple[int, int]:
    area = math.prod(shape[2:])
    return shape[1] * area, shape[0] * area


_MATRIX, _KERNEL = (40, 60), (20, 12, 3, 3)
_SIX = math.sqrt(6)


def _laws() -> Iterator[tuple[str, str, tuple[int, ...], dict[str, Any], _Law]]:
    yield "uniform_", "plain", _MATRIX, {}, _uniform(0, 1)
    yield "uniform_", "limits", _MATRIX, {"a": -3.0, "b": 5.0}, _uniform(-3, 5)
    yield "normal_", "plain", _MATRIX, {}, _normal(0, 1)
    yield "normal_", "moments", _MATRIX, {"mean": 2.0, "std": 0.3}, _normal(2, 0.3)
    yield "trunc_normal_", "plain", _MATRIX, {}, _normal(0, 1, -2, 2)
    limits = {"mean": 1.0, "std": 0.5, "a": 0.5, "b": 2.5}
    yield "trunc_normal_", "limits", _MATRIX, limits, _normal(1, 0.5, 0.5, 2.5)
    for variant, shape in (("matrix", _MATRIX), ("kernel", _KERNEL)):
        into, out = _fan(shape)
        both = into + out
        yield "xavier_uniform_", variant, shape, {"gain": 2.0}, _around(2 * _SIX / both**0.5)
        yield "xavier_normal_", variant, shape, {}, _normal(0, math.sqrt(2 / both))
        yield "kaiming_uniform_", variant, shape, {"a": 1.0}, _around(math.sqrt(3 / into))
        relu = {"mode": "fan_out", "nonlinearity": "relu"}
        yield "kaiming_normal_", variant, shape, relu, _normal(0, math.sqrt(2 / out))


def _older(
    name: str, shape: tuple[int, ...], args: tuple[Any, ...], dtype: Dtype, t: Trial
) -> None:
    """The name without the underscore warns, and does the same."""
    bench = Bench(t)
    found = []
    for called in (name, name.removesuffix("_")):
        tensorbus.manual_seed(7)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(_filled(bench, dtype, called, shape, *args))
    expect(np.array_equal(found[0], found[1]), f"{called} gave {found[1]}, {name} {found[0]}")
    texts = [str(w.message) for w in caught if w.category is FutureWarning]
    expect(len(texts) == 1 and name in texts[0], f"{called} warned of {texts}")


INIT: dict[tuple[str, str], Check] = {
    ("constant_", "plain"): functools.partial(_certain, "constant_", (2, 3), (0.1,), 0.1),
    ("ones_", "plain"): functools.partial(_certain, "ones_", (2, 3), (), 1),
    ("zeros_", "plain"): functools.partial(_certain, "zeros_", (2, 3), (), 0),
    ("eye_", "wide"): functools.partial(_certain, "eye_", (2, 3), (), np.eye(2, 3)),
    ("eye_", "tall"): functools.partial(_certain, "eye_", (3, 2), (), np.eye(3, 2)),
    ("dirac_", "plain"): functools.partial(_certain, "dirac_", (4, 2, 3), (), _dirac(1)),
    ("dirac_", "groups"): functools.partial(_certain, "dirac_", (4, 2, 3), (2,), _dirac(2)),
    **{
        (name, variant): functools.partial(_drawn, name, shape, kwargs, law)
        for name, variant, shape, kwargs, law in _laws()
    },
    ("orthogonal_", "square"): functools.partial(_orthogonal, (6, 6), 1.0),
    ("orthogonal_", "tall"): functools.partial(_orthogonal, (8, 5), 2.0),
    ("orthogonal_", "wide"): functools.partial(_orthogonal, (4, 2, 5), 0.5),
    ("sparse_", "plain"): _sparse,
    ("calculate_gain", "plain"): _gain,
    **{
        (name.removesuffix("_"), "older-name"): functools.partial(_older, name, shape, args)
        for name, shape, args in (
            ("uniform_", (2, 3), ()), ("normal_", (2, 3), ()), ("constant_", (2, 3), (0.1,)),
            ("eye_", (2, 3), ()), ("dirac_", (4, 2, 3), ()), ("xavier_uniform_", (2, 3), ()),
            ("xavier_normal_", (2, 3), ()), ("kaiming_uniform_", (2, 3), ()),
            ("kaiming_normal_", (2, 3), ()), ("orthogonal_", (3, 3), ()),
            ("sparse_", (4, 4), (0.5,)),
        )
    },
}  # fmt: skip


# -- nn.utils --------------------------------------------------------------------------------
def _gradients(bench: Bench, dtype: Dtype) -> tuple[list[Any], list[np.ndarray]]:
    """Parameters with gradients, one without, and the gradients."""
    params, hosts = [], []
    for n, shape in enumerate(((3, 2), (4,), ())):
        host = T(*shape, of=(0.5, 3.0)).make(dtype, "gradient", n) * (-1) ** n
        p = nn.Parameter(bench.send(host, dtype).clone())
        p.grad = bench.send(host, dtype)
        params.append(p)
        hosts.append(host.astype(np.float64))
    return [*params, nn.Parameter(bench.send(np.ones(2, host.dtype), dtype))], hosts


def _norm(hosts: list[np.ndarray], p: float) -> np.ndarray:
    flat = np.abs(np.concatenate([h.reshape(-1) for h in hosts]))
    return np.asarray(flat.max() if p == math.inf else (flat**p).sum() ** (1 / p))


def _check_scaled(
    bench: Bench, params: list[Any], hosts: list[np.ndarray], factor: float, dtype: Dtype
) -> None:
    for p, host in zip(params, hosts, strict=False):
        bench.same(p.grad, host * factor, dtype, 8)
    expect(params[-1].grad is None, "a parameter without a gradient got one")


def _clip_norm(name: str, limit: float, p: float, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    total = _norm(hosts, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the older name says that it is one
        got = getattr(utils, name)(params, limit, p)
    bench.same(got, total, dtype, 8)
    _check_scaled(bench, params, hosts, min(1.0, limit / (float(total) + 1e-6)), dtype)


def _clip_one(dtype: Dtype, t: Trial) -> None:
    """A single tensor, and a norm that is no number."""
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    utils.clip_grad_norm_(params[0], 1.0)
    bench.same(params[0].grad, hosts[0] / (_norm(hosts[:1], 2) + 1e-6), dtype, 8)
    params[1].grad[0] = math.inf
    try:
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    except RuntimeError as error:
        expect("is non-finite, so it cannot be clipped" in str(error), str(error))
    else:
        raise Mismatch("an infinite norm was taken")


def _with_norm(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    given = bench.send(np.asarray(8.0, formats.value_dtype(dtype)), dtype)
    utils.clip_grads_with_norm_(params, 2.0, given)
    _check_scaled(bench, params, hosts, 2 / (8 + 1e-6), dtype)


def _total(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    for p in (1.0, 2.0, 3.0, math.inf):
        got = utils.get_total_norm([x.grad for x in params[:-1]], p)
        bench.same(got, _norm(hosts, p), dtype, 8)


def _clip_value(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    utils.clip_grad_value_(params, 1.25)
    for p, host in zip(params, hosts, strict=False):
        bench.same(p.grad, np.clip(host, -1.25, 1.25), dtype)
    expect(params[-1].grad is None, "a parameter without a gradient got one")


def _vector(dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, hosts = _gradients(bench, dtype)
    params = params[:-1]
    flat = np.concatenate([h.reshape(-1) for h in hosts])
    vector = utils.parameters_to_vector(params)
    bench.same(vector, flat, dtype)
    (vector * vector).sum().backward()
    bench.same(params[0].grad, hosts[0] + 2 * hosts[0], dtype, 2)
    utils.vector_to_parameters(vector.detach() * 2, params)
    for p, host in zip(params, hosts, strict=True):
        expect(isinstance(p, nn.Parameter) and p.requires_grad, "no parameter any more")
        bench.same(p, 2 * host, dtype)


UTILS: dict[tuple[str, str], Check] = {
    **{
        ("clip_grad_norm_", variant): functools.partial(_clip_norm, "clip_grad_norm_", limit, p)
        for variant, limit, p in (
            ("plain", 1.5, 2.0),
            ("below", 1e3, 2.0),
            ("p1", 1.5, 1.0),
            ("p3", 1.5, 3.0),
            ("infinity", 0.7, math.inf),
        )
    },
    ("clip_grad_norm_", "one"): _clip_one,
    ("clip_grad_norm", "older-name"): functools.partial(_clip_norm, "clip_grad_norm", 1.5, 2.0),
    ("clip_grads_with_norm_", "plain"): _with_norm,
    ("get_total_norm", "plain"): _total,
    ("clip_grad_value_", "plain"): _clip_value,
    ("parameters_to_vector", "plain"): _vector,
    ("vector_to_parameters", "plain"): _vector,
}
