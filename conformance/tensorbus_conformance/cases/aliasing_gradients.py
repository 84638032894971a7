"""Level 2: autograd through writes into views.

A program takes a leaf x (3, 4) and a leaf w (4,), and writes into views of a copy of x. Its
gradients are held against differences of the same program over NumPy's views.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.aliasing_programs import PROGRAMS, Program
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for name, pair in PROGRAMS.items():
        there, here = pair if isinstance(pair, tuple) else (pair, pair)
        for d in (formats.FLOAT32, formats.FLOAT64):
            for order in (1, 2):
                yield Case(
                    f"L2/aliasing/{d.name}/{name}/grad{order}",
                    "aliasing",
                    functools.partial(_gradients, there, here, d, order),
                    (d,),
                )


# -- gradients -----------------------------------------------------------------------------------
def _gradients(there: Program, here: Program, d: Dtype, order: int, t: Trial) -> None:
    bench = Bench(t)
    random = values.rng("aliasing")
    hosts = [_rounded(random.uniform(0.5, 1.5, shape), d) for shape in ((3, 4), (4,))]
    leaves = [bench.send(h.astype(formats.value_dtype(d)), d).requires_grad_() for h in hosts]
    out = there(*leaves)
    c = _rounded(random.uniform(-1, 1, tuple(out.shape)), d)
    us = [_rounded(random.uniform(-1, 1, h.shape), d) for h in hosts]

    def value(*at: np.ndarray) -> float:
        return float(np.sum(c * np.asarray(here(*(a.copy() for a in at)))))

    def slope(*at: np.ndarray) -> float:
        """The derivative along *us*."""
        return _along(lambda h: value(*(a + h * u for a, u in zip(at, us, strict=True))))

    found: Any = tensorbus.autograd.grad(
        (out * bench.send(c.astype(formats.value_dtype(d)), d)).sum(),
        leaves, create_graph=order == 2, allow_unused=True,
    )  # fmt: skip
    f = value
    if order == 2:
        f = slope
        terms = [
            (g * bench.send(u.astype(formats.value_dtype(d)), d)).sum()
            for g, u in zip(found, us, strict=True)
            if g is not None and g.requires_grad
        ]
        if not terms:
            found = (None, None)
        else:
            found = tensorbus.autograd.grad(sum(terms[1:], terms[0]), leaves, allow_unused=True)
    for n, (g, host) in enumerate(zip(found, hosts, strict=True)):
        got = np.zeros(host.shape) if g is None else bench.read(g).astype(np.float64)
        _judge("xw"[n], got, _differences(f, hosts, n), d, order)


def _rounded(array: np.ndarray, d: Dtype) -> np.ndarray:
    return np.asarray(formats.round_to(array, d), np.float64)


def _along(f: Callable[[float], float], step: float = 4e-3) -> float:
    """A derivative whose error is of the fourth power of the step; exact for cubics."""
    near, far = f(step) - f(-step), f(2 * step) - f(-2 * step)
    return (8 * near - far) / (12 * step)


def _differences(f: Callable[..., float], hosts: list[np.ndarray], n: int) -> np.ndarray:
    found = np.zeros(hosts[n].shape)

    def at(index: tuple[int, ...], h: float) -> float:
        moved = [host.copy() for host in hosts]
        moved[n][index] += h
        return f(*moved)

    for index in np.ndindex(*found.shape):
        found[index] = _along(functools.partial(at, index))
    return found


def _judge(name: str, got: np.ndarray, want: np.ndarray, d: Dtype, order: int) -> None:
    scale = max(float(np.abs(want).max(initial=0.0)), 1.0)
    allowed = scale * (64 * formats.unit_roundoff(d) + (1e-9 if order == 1 else 1e-6))
    error = np.abs(got - want)
    if error.max(initial=0.0) <= allowed:
        return
    at = tuple(int(i) for i in np.argwhere(error > allowed)[0])
    raise Mismatch(
        f"the gradient of {name}{list(at)} is {got[at]:.9g}, expected {want[at]:.9g}; "
        f"{int((error > allowed).sum())} of {error.size} differ"
    )
