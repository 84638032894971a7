"""Level 5: each optimiser against its published formulas in float64, on a small problem.

Two groups of parameters with rates of their own follow the gradients of a sum of squares and of a
linear term that changes from step to step; one parameter never gets a gradient.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import optim
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.optimizer_reference import ALGORITHMS, lbfgs
from tensorbus_conformance.trial import Trial

FAMILY = "optimisers"
DTYPES = (formats.FLOAT32, formats.FLOAT64)
_STEPS = 7
_ULP = 8.0
"""Allowed error after all steps, at the largest parameter."""

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "SGD": {
        "plain": {"lr": 0.1},
        "momentum": {"lr": 0.1, "momentum": 0.9},
        "dampening": {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.1},
        "nesterov": {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        "maximize": {"lr": 0.05, "maximize": True, "weight_decay": 0.1},
    },
    "Adam": {
        "plain": {},
        "options": {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1},
        "amsgrad": {"lr": 0.05, "amsgrad": True, "betas": (0.5, 0.6)},
        "maximize": {"lr": 0.05, "maximize": True},
        "decoupled": {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True},
    },
    "AdamW": {
        "plain": {"lr": 0.05},
        "amsgrad": {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True, "betas": (0.5, 0.6)},
        "maximize": {"lr": 0.05, "maximize": True},
    },
    "NAdam": {
        "plain": {"lr": 0.05},
        "options": {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.2, "momentum_decay": 0.1},
        "decoupled": {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True},
        "maximize": {"lr": 0.05, "maximize": True},
    },
    "RAdam": {
        "plain": {"lr": 0.05},
        "options": {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.2},
        "decoupled": {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True},
        "maximize": {"lr": 0.05, "maximize": True},
    },
    "Adagrad": {
        "plain": {"lr": 0.1},
        "options": {
            "lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.5,
        },
        "maximize": {"lr": 0.1, "maximize": True},
    },
    "Adadelta": {
        "plain": {},
        "options": {"lr": 0.7, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1},
        "maximize": {"maximize": True},
    },
    "RMSprop": {
        "plain": {},
        "options": {"lr": 0.02, "alpha": 0.8, "weight_decay": 0.1},
        "momentum": {"lr": 0.02, "momentum": 0.7},
        "centered": {"lr": 0.02, "centered": True, "momentum": 0.5, "alpha": 0.9},
        "maximize": {"maximize": True},
    },
    "Adamax": {
        "plain": {"lr": 0.05},
        "options": {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1},
        "maximize": {"maximize": True},
    },
    "Rprop": {
        "plain": {},
        "options": {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (0.05, 0.2)},
        "maximize": {"maximize": True},
    },
    "ASGD": {
        "plain": {},
        "average": {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.1},
        "maximize": {"maximize": True},
    },
    "Adafactor": {
        "plain": {"lr": 0.1},
        "options": {
            "lr": 0.05, "beta2_decay": -0.5, "eps": (0.25, 2.0), "d": 1.5, "weight_decay": 0.1,
        },
        "maximize": {"lr": 0.1, "maximize": True},
    },
}  # fmt: skip

_FLAGS = ({"foreach": True}, {"foreach": False}, {"fused": True}, {"capturable": True})


def cases() -> Iterator[Case]:
    for name, variants in OPTIONS.items():
        checks: dict[str, Any] = {
            variant: functools.partial(_steps, name, options, None)
            for variant, options in variants.items()
        }
        first = next(iter(variants.values()))
        taken = inspect.signature(getattr(optim, name)).parameters
        for flag in _FLAGS:
            key, value = next(iter(flag.items()))
            if key in taken:
                checks[f"{key}-{value}"] = functools.partial(_steps, name, first, flag)
        checks["tensor-rate"] = functools.partial(_steps, name, first, {"lr": "tensor"})
        checks["closure"] = functools.partial(_closure, name)
        checks["state"] = functools.partial(_state, name)
        yield from _named(name, checks)
    searches = {"fixed": _lbfgs, "short-history": functools.partial(_lbfgs, history=2)}
    conditions = {f"wolfe-{lr:g}": functools.partial(_wolfe, lr=lr) for lr in (0.01, 1, 60)}
    yield from _named("LBFGS", {**searches, **conditions, "strong-wolfe": _strong_wolfe})


def _named(name: str, checks: dict[str, Any]) -> Iterator[Case]:
    for variant, check in checks.items():
        for dtype in DTYPES:
            yield Case(
                f"L5/optim.{name}/{dtype.name}/{variant}",
                FAMILY,
                functools.partial(check, dtype=dtype),
                (dtype,),
            )


# -- the problem -----------------------------------------------------------------------------
_SHAPES = ((3, 2), (4,))
_SLOPES = (0.7, -1.3)
"""Second derivatives of the problem, one for each parameter."""


def _start(n: int) -> np.ndarray:
    drawn = values.rng("parameter", n).uniform(0.5, 2.0, _SHAPES[n])
    return np.asarray(formats.round_to(drawn, formats.FLOAT32), np.float64)


def _pull(n: int, t: int) -> np.ndarray:
    """The linear term of a step."""
    drawn = values.rng("pull", n, t).uniform(0.2, 2.5, _SHAPES[n]) * (-1) ** (t // 3)
    return np.asarray(formats.round_to(drawn, formats.FLOAT32), np.float64)


class _Problem:
    """Parameters on the device, an optimiser over them, and the loss of a step."""

    def __init__(self, bench: Bench, dtype: Dtype, name: str, options: dict[str, Any]):
        self.bench, self.dtype = bench, dtype
        self.params = [self.send(_start(n)).requires_grad_() for n in range(2)]
        self.idle = self.send(np.ones(2)).requires_grad_()
        lr = options.get("lr", inspect.signature(getattr(optim, name)).parameters["lr"].default)
        groups = [
            {"params": [self.params[0], self.idle]},
            {"params": [self.params[1]], "lr": lr / 2},
        ]
        self.optimizer = getattr(optim, name)(groups, **options)

    def send(self, host: np.ndarray) -> Any:
        return self.bench.send(host.astype(formats.value_dtype(self.dtype)), self.dtype)

    def loss(self, t: int) -> Any:
        total: Any = 0
        for n, p in enumerate(self.params):
            total = total + (p * p * (_SLOPES[n] / 2) + p * self.send(_pull(n, t))).sum()
        return total

    def step(self, t: int) -> None:
        self.optimizer.zero_grad()
        self.loss(t).backward()
        self.optimizer.step()


def _expected(name: str, options: dict[str, Any], steps: int) -> list[tuple[Any, dict[str, Any]]]:
    """(parameter, state) of the formulas after so many steps."""
    algorithm = ALGORITHMS[name]
    lr = options.get("lr", inspect.signature(getattr(optim, name)).parameters["lr"].default)
    found = []
    for n in range(2):
        p = _start(n)
        state: dict[str, Any] = {}
        for t in range(1, steps + 1):
            g = _SLOPES[n] * p + _pull(n, t)
            p = algorithm(p, g, state, t, **{**options, "lr": lr / (1 + n)})
        found.append((p, state))
    return found


def _compare(problem: _Problem, expected: list[tuple[Any, dict[str, Any]]]) -> None:
    for n, (p, (want, state)) in enumerate(zip(problem.params, expected, strict=True)):
        problem.bench.same(p, want, problem.dtype, _ULP, "norm", where=f"parameter {n}: ")
        found = problem.optimizer.state[p]
        if set(found) != set(state):
            raise Mismatch(f"the state has {sorted(found)}, expected {sorted(state)}")
        for name, value in state.items():
            own = found[name]
            array = np.asarray(value, np.float64)
            if array.ndim:
                problem.bench.same(own, array, problem.dtype, _ULP, "norm", where=f"{name}: ")
            elif abs(float(own) - float(array)) > 1e-6 * abs(float(array)):
                raise Mismatch(f"{name} is {float(own)}, expected {float(array)}")


# -- checks ----------------------------------------------------------------------------------
def _steps(
    name: str, options: dict[str, Any], flags: dict[str, Any] | None, t: Trial, *, dtype: Dtype
) -> None:
    bench = Bench(t)
    flags = dict(flags or {})
    problem = _Problem(bench, dtype, name, options)
    if flags.pop("lr", None):
        for group in problem.optimizer.param_groups:
            group["lr"] = tensorbus.tensor(float(group["lr"]), dtype=formats.FLOAT64)
    for group in problem.optimizer.param_groups:
        group.update(flags)
    for at in range(1, _STEPS + 1):
        problem.step(at)
        if at in (1, 2, _STEPS):
            _compare(problem, _expected(name, options, at))
    if not np.array_equal(bench.read(problem.idle), np.ones(2)):
        raise Mismatch("a parameter without a gradient was moved")


def _closure(name: str, t: Trial, *, dtype: Dtype) -> None:
    """step(closure) evaluates once with gradients on, and returns the loss."""
    problem = _Problem(Bench(t), dtype, name, next(iter(OPTIONS[name].values())))
    calls = []

    def closure() -> Any:
        problem.optimizer.zero_grad()
        loss = problem.loss(1)
        loss.backward()
        calls.append(loss)
        return loss

    with tensorbus.no_grad():
        result = problem.optimizer.step(closure)
    if len(calls) != 1 or result is not calls[0]:
        raise Mismatch(f"step(closure) made {len(calls)} calls and returned {result}")
    _compare(problem, _expected(name, next(iter(OPTIONS[name].values())), 1))


def _state(name: str, t: Trial, *, dtype: Dtype) -> None:
    """An optimiser with the state of another goes on as that one does, to the bit."""
    bench = Bench(t)
    options = list(OPTIONS[name].values())[1]
    first, second = (_Problem(bench, dtype, name, options) for _ in range(2))
    for at in (1, 2, 3):
        first.step(at)
    with tensorbus.no_grad():
        for to, given in zip(second.params, first.params, strict=True):
            to.copy_(given)
    second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
    device = first.params[0].device
    for key, entry in second.optimizer.state.items():
        for what, value in entry.items():
            if value.dim() and (value.device != device or value.dtype is not dtype):
                raise Mismatch(f"{what} of {tuple(key.shape)} is {value.dtype} on {value.device}")
    for at in (4, 5):
        first.step(at)
        second.step(at)
    for own, other in zip(first.params, second.params, strict=True):
        if not np.array_equal(bench.read(own), bench.read(other)):
            raise Mismatch("another way after load_state_dict")


# -- L-BFGS ----------------------------------------------------------------------------------
_CURVES = np.array([1.0, 4.0, 0.5, 2.0])
_CENTRE = np.array([1.0, -2.0, 0.5, 3.0])


def _bowl(p: np.ndarray) -> tuple[float, np.ndarray]:
    d = p - _CENTRE
    return float((_CURVES * d**2 / 2 + d**4 / 8).sum()), _CURVES * d + d**3 / 2


def _minimiser(bench: Bench, dtype: Dtype, **options: Any) -> tuple[Any, Any, Any]:
    """(parameters, optimiser, closure) of the bowl, in two tensors."""
    narrow = formats.value_dtype(dtype)
    start = np.array([0.5, 0.25, -0.5, 1.0])
    parts = [bench.send(part.astype(narrow), dtype).requires_grad_() for part in np.split(start, 2)]
    optimizer = optim.LBFGS(parts, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        total: Any = 0
        for at, p in zip((slice(0, 2), slice(2, 4)), parts, strict=True):
            d = p - bench.send(_CENTRE[at].astype(narrow), dtype)
            curves = bench.send(_CURVES[at].astype(narrow), dtype)
            total = total + (d * d * curves / 2 + d**4 / 8).sum()
        total.backward()
        return total

    return parts, optimizer, closure


def _lbfgs(t: Trial, *, dtype: Dtype, history: int = 10) -> None:
    bench = Bench(t)
    parts, optimizer, closure = _minimiser(
        bench, dtype, lr=0.5, max_iter=3, max_eval=9, history_size=history, tolerance_grad=0
    )
    first = optimizer.step(closure)
    optimizer.step(closure)
    start = np.array([0.5, 0.25, -0.5, 1.0])
    bench.same(first, np.asarray(_bowl(start)[0]), dtype, 8)
    want = lbfgs(_bowl, start, 6, 0.5, history)
    got = np.concatenate([bench.read(p) for p in parts]).astype(np.float64)
    bound = 256 * 2 * formats.unit_roundoff(dtype) * np.abs(want).max()
    if not (np.abs(got - want) <= bound).all():
        raise Mismatch(f"after 6 iterations {got}, expected {want}")


def _strong_wolfe(t: Trial, *, dtype: Dtype) -> None:
    bench = Bench(t)
    parts, optimizer, closure = _minimiser(
        bench, dtype, line_search_fn="strong_wolfe", max_iter=60, tolerance_grad=1e-6
    )
    optimizer.step(closure)
    got = np.concatenate([bench.read(p) for p in parts]).astype(np.float64)
    error = np.abs(got - _CENTRE).max()
    if not error < 1e-4:
        raise Mismatch(f"the minimum was missed by {error}: {got}")


def _wolfe(t: Trial, *, dtype: Dtype, lr: float) -> None:
    """One search from a first step that is too short, right or too long: both conditions hold."""
    bench = Bench(t)
    parts, optimizer, closure = _minimiser(
        bench, dtype, lr=lr, line_search_fn="strong_wolfe", max_iter=1, max_eval=30
    )
    start = np.array([0.5, 0.25, -0.5, 1.0])
    optimizer.step(closure)
    got = np.concatenate([bench.read(p) for p in parts]).astype(np.float64)
    (before, g), (after, h) = _bowl(start), _bowl(got)
    length = float(np.linalg.norm(got - start) / np.linalg.norm(g))
    if not np.allclose(got, start - length * g, rtol=1e-5):
        raise Mismatch(f"{got} does not lie along the gradient")
    slope = -float(g @ g)
    if not after <= before + 1e-4 * length * slope:
        raise Mismatch(f"the loss went from {before} to {after} by a step of {length}")
    if not abs(float(h @ g)) <= 0.9 * abs(slope):
        raise Mismatch(f"the slope went from {slope} to {-float(h @ g)} by a step of {length}")
