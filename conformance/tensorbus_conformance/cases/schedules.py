"""Level 5: schedules of learning rates against their closed forms, and a parameter that follows.

Each schedule runs over an optimiser with two groups; after each step the rates are compared with
the formula, and the parameters on the device with what plain gradient descent makes of the rates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus import optim
from tensorbus.optim import lr_scheduler
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "optimisers"
_BASES = (0.5, 0.02)
_STEPS = 14
_GRADIENT = 0.25


@dataclass(frozen=True)
class Schedule:
    """A schedule, and the rate of a step that begins with *base*."""

    name: str
    variant: str
    make: Callable[[Any], Any]
    rate: Callable[[float, int], float]
    momentum: Callable[[int], float] | None = None
    """The momentum of a step, where the schedule moves it."""
    metrics: tuple[float, ...] | None = None
    """What is given to ``step``."""


def _named(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda optimizer: getattr(lr_scheduler, name)(optimizer, *args, **kwargs)


def _cosine(base: float, t: float, period: float, low: float = 0.0) -> float:
    return low + (base - low) * (1 + math.cos(math.pi * t / period)) / 2


def _restarts(base: float, t: int, first: int, factor: int, low: float) -> float:
    period = first
    while t >= period:
        t, period = t - period, period * factor
    return _cosine(base, t, period, low)


def _cycle(top: float, t: int, total: int, share: float, linear: bool, three: bool) -> float:
    """The one-cycle policy: up from top / 25 to the top, then down to top / 25e4."""
    low, end = top / 25, top / 25e4
    ends = [share * total - 1]
    values = [low, top]
    if three:
        ends.append(2 * share * total - 2)
        values.append(low)
    return _phases(t, [0.0, *ends, total - 1.0], [*values, end], linear)


def _phases(t: float, ends: list[float], values: list[float], linear: bool) -> float:
    for n in range(len(values) - 1):
        if t <= ends[n + 1] or n == len(values) - 2:
            share = (t - ends[n]) / (ends[n + 1] - ends[n])
            if not linear:
                share = (1 - math.cos(math.pi * share)) / 2
            return values[n] + (values[n + 1] - values[n]) * share
    raise ValueError(f"no phase for step {t}")


def _plateau(base: float, t: int, metrics: tuple[float, ...], **o: Any) -> float:
    """The rate after t metrics, counted through."""
    mode, factor, patience = o.get("mode", "min"), o.get("factor", 0.1), o.get("patience", 10)
    threshold, relative = o.get("threshold", 1e-4), o.get("threshold_mode", "rel") == "rel"
    sign = 1.0 if mode == "max" else -1.0
    best, bad, rest, rate = -sign * math.inf, 0, 0, base
    for value in metrics[:t]:
        limit = best * (1 + sign * threshold) if relative else best + sign * threshold
        better = sign * value > sign * limit
        best, bad = (value, 0) if better else (best, bad + 1)
        if rest > 0:
            rest, bad = rest - 1, 0
        if bad > patience:
            rate = max(rate * factor, o.get("min_lr", 0.0))
            bad, rest = 0, o.get("cooldown", 0)
    return rate


_METRICS = (3.0, 2.0, 2.0, 2.1, 1.9999, 2.2, 2.3, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6)
_PLATEAUS: dict[str, dict[str, Any]] = {
    "plain": {"patience": 1},
    "options": {"factor": 0.5, "patience": 1, "cooldown": 2, "min_lr": 0.01},
    "max": {"mode": "max", "patience": 2, "threshold": 0.5, "threshold_mode": "abs"},
}


def _times(*factors: float) -> Callable[[int], float]:
    return lambda t: factors[t % len(factors)]


_DROPS = _times(1.0, 0.5, 0.75)


def _warm_up(optimizer: Any) -> Any:
    first = lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=4)
    second = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    return lr_scheduler.SequentialLR(optimizer, [first, second], milestones=[5])


def _chained(optimizer: Any) -> Any:
    parts = [
        lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=4),
        lr_scheduler.ExponentialLR(optimizer, gamma=0.9),
    ]
    return lr_scheduler.ChainedScheduler(parts)


def _one_cycle(variant: str, share: float, linear: bool, three: bool) -> Schedule:
    return Schedule(
        "OneCycleLR",
        variant,
        _named(
            "OneCycleLR",
            max_lr=0.4,
            total_steps=_STEPS + 1,
            pct_start=share,
            anneal_strategy="linear" if linear else "cos",
            three_phase=three,
        ),
        lambda base, t: _cycle(0.4, t, _STEPS + 1, share, linear, three),
        lambda t: _phases(
            t,
            [0.0, share * (_STEPS + 1) - 1, *([2 * share * (_STEPS + 1) - 2] if three else []),
             float(_STEPS)],
            [0.95, 0.85, 0.95, *([0.95] if three else [])],
            linear,
        ),
    )  # fmt: skip


_SCALES: dict[str, Callable[[int], float]] = {
    "triangular": lambda t: 1.0,
    "triangular2": lambda t: 0.5 ** (t // 5),
    "exp_range": lambda t: 0.875**t,
}


def _triangles(mode: str, scale: Callable[[int], float]) -> Schedule:
    """Two steps up, three down, over and over."""

    def height(t: int) -> float:
        return (t % 5 / 2 if t % 5 <= 2 else (5 - t % 5) / 3) * scale(t)

    return Schedule(
        "CyclicLR",
        mode,
        _named("CyclicLR", 0.1, 0.5, 2, 3, mode, gamma=0.875),
        lambda base, t: 0.1 + 0.4 * height(t),
        lambda t: 0.9 - 0.1 * height(t),
    )


SCHEDULES = [
    Schedule("LambdaLR", "plain", _named("LambdaLR", lambda t: 1 / (1 + t)),
             lambda base, t: base / (1 + t)),
    Schedule("LambdaLR", "groups", _named("LambdaLR", [lambda t: 0.9**t, lambda t: 0.5**t]),
             lambda base, t: base * (0.9 if base == _BASES[0] else 0.5) ** t),
    Schedule("MultiplicativeLR", "plain", _named("MultiplicativeLR", _DROPS),
             lambda base, t: base * math.prod(_DROPS(i) for i in range(1, t + 1))),
    Schedule("StepLR", "plain", _named("StepLR", 3, 0.5), lambda base, t: base * 0.5 ** (t // 3)),
    Schedule("MultiStepLR", "plain", _named("MultiStepLR", [2, 5, 5, 9], gamma=0.3),
             lambda base, t: base * 0.3 ** sum(t >= m for m in (2, 5, 5, 9))),
    Schedule("ConstantLR", "plain", _named("ConstantLR", 0.25, 4),
             lambda base, t: base * (0.25 if t < 4 else 1)),
    Schedule("LinearLR", "plain", _named("LinearLR", 0.25, 0.8, 6),
             lambda base, t: base * (0.25 + 0.55 * min(t, 6) / 6)),
    Schedule("ExponentialLR", "plain", _named("ExponentialLR", 0.8),
             lambda base, t: base * 0.8**t),
    Schedule("PolynomialLR", "plain", _named("PolynomialLR", 9, 2.0),
             lambda base, t: base * (1 - min(t, 9) / 9) ** 2),
    Schedule("CosineAnnealingLR", "plain", _named("CosineAnnealingLR", 5, 0.001),
             lambda base, t: _cosine(base, t, 5, 0.001)),
    Schedule("CosineAnnealingWarmRestarts", "plain",
             _named("CosineAnnealingWarmRestarts", 4, eta_min=0.001),
             lambda base, t: _restarts(base, t, 4, 1, 0.001)),
    Schedule("CosineAnnealingWarmRestarts", "longer", _named("CosineAnnealingWarmRestarts", 2, 2),
             lambda base, t: _restarts(base, t, 2, 2, 0.0)),
    *(_triangles(mode, scale) for mode, scale in _SCALES.items()),
    _one_cycle("plain", 0.3, False, False),
    _one_cycle("linear", 0.4, True, False),
    _one_cycle("three-phase", 0.3, False, True),
    *(
        Schedule("ReduceLROnPlateau", variant, _named("ReduceLROnPlateau", **options),
                 functools.partial(_plateau, metrics=_METRICS, **options), metrics=_METRICS)
        for variant, options in _PLATEAUS.items()
    ),
    Schedule("SequentialLR", "plain", _warm_up,
             lambda base, t: base * (0.2 + 0.8 * min(t, 4) / 4 if t < 5 else 0.5 ** (t - 5))),
    Schedule("ChainedScheduler", "plain", _chained,
             lambda base, t: base * 0.9**t * (0.1 if t < 4 else 1)),
]  # fmt: skip


def cases() -> Iterator[Case]:
    for schedule in SCHEDULES:
        for what, check in (("", _rates), ("-resumed", _resumed)):
            yield Case(
                f"L5/optim.lr_scheduler.{schedule.name}/float32/{schedule.variant}{what}",
                FAMILY,
                functools.partial(check, schedule, formats.FLOAT32),
                (formats.FLOAT32,),
            )


def _optimizer(bench: Bench, dtype: Dtype, momentum: bool) -> tuple[list[Any], Any]:
    params = [bench.send(np.ones(3, formats.value_dtype(dtype)), dtype) for _ in _BASES]
    groups = [
        {"params": [p.requires_grad_()], "lr": base} for p, base in zip(params, _BASES, strict=True)
    ]
    return params, optim.SGD(groups, lr=1.0, momentum=0.9 if momentum else 0.0)


def _step(schedule: Schedule, scheduler: Any, params: list[Any], optimizer: Any, t: int) -> None:
    for p in params:
        p.grad = p.detach() * 0 + _GRADIENT
    optimizer.step()
    if schedule.metrics is None:
        scheduler.step()
    else:
        scheduler.step(schedule.metrics[t])


def _check_rates(schedule: Schedule, scheduler: Any, optimizer: Any, t: int) -> None:
    want = [schedule.rate(base, t) for base in _BASES]
    got = [group["lr"] for group in optimizer.param_groups]
    if list(scheduler.get_last_lr()) != got:
        raise Mismatch(f"get_last_lr() is {scheduler.get_last_lr()}, the groups have {got}")
    if not np.allclose(got, want, rtol=1e-9, atol=1e-12):
        raise Mismatch(f"the rates of step {t} are {got}, expected {want}")
    if schedule.momentum is not None:
        moments = [group["momentum"] for group in optimizer.param_groups]
        expected = schedule.momentum(t)
        if not np.allclose(moments, expected, rtol=1e-9):
            raise Mismatch(f"the momentum of step {t} is {moments}, expected {expected}")


def _rates(schedule: Schedule, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    params, optimizer = _optimizer(bench, dtype, schedule.momentum is not None)
    scheduler = schedule.make(optimizer)
    moved = np.zeros(2)
    for at in range(_STEPS):
        _check_rates(schedule, scheduler, optimizer, at)
        moved += [schedule.rate(base, at) * _GRADIENT for base in _BASES]
        _step(schedule, scheduler, params, optimizer, at)
    if schedule.momentum is None:
        for p, distance in zip(params, moved, strict=True):
            bench.same(p, np.full(3, 1 - distance), dtype, 16, scale=np.ones(3))


def _resumed(schedule: Schedule, dtype: Dtype, t: Trial) -> None:
    """A schedule with the state of another goes on where that one was."""
    bench = Bench(t)
    momentum = schedule.momentum is not None
    params, optimizer = _optimizer(bench, dtype, momentum)
    scheduler = schedule.make(optimizer)
    for at in range(6):
        _step(schedule, scheduler, params, optimizer, at)
    others, resumed = _optimizer(bench, dtype, momentum)
    again = schedule.make(resumed)
    resumed.load_state_dict(optimizer.state_dict())
    again.load_state_dict(scheduler.state_dict())
    for at in range(6, _STEPS):
        _check_rates(schedule, again, resumed, at)
        _step(schedule, again, others, resumed, at)
