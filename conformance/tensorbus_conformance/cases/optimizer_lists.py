"""Level 5: one step of an optimiser over parameters of many shapes, layouts and dtypes at once.

Kernels may take all parameters of a dtype in one call, so here are lists of none, one and many,
with members of no elements, of no dimensions, of many elements and with gaps. The parameters, the
state and what lies around them are compared with the formulas in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import optim
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import compare, formats, layouts, values
from tensorbus_conformance.bench import Bench, Operand
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.optimizer_reference import ALGORITHMS
from tensorbus_conformance.trial import Trial

FAMILY = "optimisers"
_STEPS = 4
_ULP = 8.0
"""Allowed error after all steps, at the largest element."""

_EPS = 0.0625
_OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.125, "momentum": 0.5, "nesterov": True, "weight_decay": 0.25},
    "Adam": {"lr": 0.125, "betas": (0.5, 0.75), "eps": _EPS, "amsgrad": True, "maximize": True},
    "AdamW": {"lr": 0.125, "betas": (0.5, 0.75), "eps": _EPS, "weight_decay": 0.25},
    "NAdam": {"lr": 0.125, "betas": (0.5, 0.75), "eps": _EPS, "weight_decay": 0.25},
    "RAdam": {"lr": 0.125, "betas": (0.5, 0.96875), "eps": _EPS, "weight_decay": 0.25},
    "Adagrad": {"lr": 0.125, "lr_decay": 0.5, "eps": _EPS, "weight_decay": 0.25},
    "Adadelta": {"lr": 0.5, "rho": 0.75, "eps": _EPS, "weight_decay": 0.25},
    "RMSprop": {"lr": 0.125, "alpha": 0.75, "eps": _EPS, "momentum": 0.5},
    "Adamax": {"lr": 0.125, "betas": (0.5, 0.75), "eps": _EPS, "weight_decay": 0.25},
    "Rprop": {"lr": 0.125, "etas": (0.5, 1.5), "step_sizes": (0.0625, 0.5)},
    "ASGD": {"lr": 0.125, "lambd": 0.25, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.25},
}
"""Numbers that all dtypes hold, where the algorithm does not compute others from them."""

_ONE = (((3, 5), "contiguous"),)
_MIXED = (
    ((3, 5), "contiguous"), ((), "contiguous"), ((0, 3), "contiguous"), ((1,), "contiguous"),
    ((4, 3), "transposed"), ((2, 3, 4), "permuted"), ((7,), "strided"), ((2, 5), "strided"),
    ((6,), "offset"), ((3, 5), "contiguous"), ((1, 1), "contiguous"), ((2, 1, 6), "contiguous"),
)  # fmt: skip
_LARGE = (((811, 1009), "contiguous"), ((3, 5), "contiguous"), ((401, 409), "transposed"))


class _Own(tensorbus.Tensor):
    """What is of a class of a program is stepped by public functions, one after the other."""


_LISTS = {"none": (), "one": _ONE, "mixed": _MIXED, "large": _LARGE, "subclass": _MIXED}


def cases() -> Iterator[Case]:
    for name in _OPTIONS:
        for variant, members in _LISTS.items():
            for d in (*formats.FLOATS, *formats.COMPLEX):
                if variant in ("one", "mixed") or d is formats.FLOAT32:
                    cls = _Own if variant == "subclass" else None
                    check = functools.partial(_check, name, members, cls, dtype=d)
                    yield Case(f"L5/optim.{name}/{d.name}/lists-{variant}", FAMILY, check, (d,))


class _Member:
    """A parameter on the device, the formulas' own, and the operands that it was placed by."""

    def __init__(
        self, bench: Bench, n: int, shape: tuple[int, ...], layout: str, cls: Any, d: Dtype
    ):
        self.bench, self.n, self.layout, self.dtype = bench, n, layout, d
        start = self._draw("parameter", shape, 0.5, 2.0)
        self.placed = bench.place(start, d, layout)
        given = self.placed.tensor
        self.param = (given.as_subclass(cls) if cls else given).requires_grad_()
        self.wanted = _pairs(self.placed.host)
        self.state: dict[str, Any] = {}
        self.version = self.param._version

    def _draw(self, what: Any, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
        def drawn(part: str) -> np.ndarray:
            return values.rng(what, self.n, part).uniform(low, high, shape)

        host = drawn("real") + (1j * drawn("imaginary") if self.dtype.is_complex else 0.0)
        return np.asarray(formats.round_to(host, self.dtype))

    def give_gradient(self, t: int) -> Operand:
        """A new gradient, in the parameter's layout; the formulas take their step with it."""
        host = self._draw(f"gradient {t}", tuple(self.param.shape), 0.5, 1.5) * (-1) ** (t // 2)
        placed = self.bench.place(host, self.dtype, self.layout)
        self.param.grad = placed.tensor
        return placed

    def follow(self, algorithm: Any, options: dict[str, Any], gradient: Operand, t: int) -> None:
        """Let the formulas take the step."""
        g = _pairs(gradient.host)
        self.wanted = algorithm(self.wanted, g, self.state, t, **options)

    def check(self, found: dict[str, Any]) -> None:
        """Compare the parameter and its state; what lies between the elements is as it was."""
        where = f"{tuple(self.param.shape)} {self.layout}: "
        self._same(self.param, self.wanted, where)
        for name, value in self.state.items():
            if np.ndim(value) and np.shape(value) == self.wanted.shape:
                self._same(found[name], value, f"{where}{name}: ")
        layout = layouts.plan(tuple(self.param.shape), self.layout)[1:]
        expected = np.array(self.placed.buffer)
        window = layouts.window(expected, tuple(self.param.shape), *layout)
        window[...] = self.bench.read(self.param)
        compare.same_bytes(
            self.bench.read(self.placed.flat), expected, f"{where}what lies around it"
        )
        if self.param.grad_fn is not None or self.param._version < self.version + _STEPS:
            raise Mismatch(f"{where}a write that is recorded, or not counted")

    def _same(self, got: Any, want: Any, where: str) -> None:
        real = self.dtype.to_real() if self.dtype.is_complex else self.dtype
        host = _pairs(self.bench.read(got)) if self.dtype.is_complex else self.bench.read(got)
        if got.dtype is not self.dtype or host.shape != np.shape(want):
            raise Mismatch(f"{where}got {got.dtype} of {host.shape}")
        if not host.size:
            return
        error = np.abs(host.astype(np.float64) - want).max()
        bound = _ULP * 2 * formats.unit_roundoff(real) * np.abs(want).max()
        if not error <= bound:
            raise Mismatch(f"{where}off by {error}, allowed {bound}")


def _pairs(host: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, which is how optimisers step them."""
    if not np.iscomplexobj(host):
        return host.astype(np.float64)
    return np.stack([host.real, host.imag], -1).astype(np.float64)


def _check(name: str, members: Any, cls: Any, t: Trial, *, dtype: Dtype) -> None:
    bench = Bench(t)
    found = [
        _Member(bench, n, shape, layout, cls, dtype) for n, (shape, layout) in enumerate(members)
    ]
    idle = _Member(bench, 99, (2,), "contiguous", cls, dtype)
    before = bench.read(idle.param)
    options = _OPTIONS[name]
    optimizer = getattr(optim, name)([*[m.param for m in found], idle.param], **options)
    for at in range(1, _STEPS + 1):
        gradients = [m.give_gradient(at) for m in found]
        optimizer.step()
        bench.untouched(gradients)
        for member, gradient in zip(found, gradients, strict=True):
            member.follow(ALGORITHMS[name], options, gradient, at)
    for member in found:
        member.check(optimizer.state[member.param])
    if not np.array_equal(bench.read(idle.param), before):
        raise Mismatch("a parameter without a gradient was moved")
