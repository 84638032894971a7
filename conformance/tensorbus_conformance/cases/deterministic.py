"""Level 2: with ``use_deterministic_algorithms`` repeated indices give the same bits every time.

Whatever a device's trait ``deterministic_scatter`` says: where it is False the frontend goes
another way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "index"
PLACES, WIDTH, COUNT = 7, 3, 2_000
RUNS = 3


def _write(x: Any, way: str, i: Any, src: Any) -> Any:
    """*x* after the write; *i* counts rows, and is negative here and there for ``index_put_``."""
    if way == "index_add":
        return x.index_add_(0, i, src)
    if way == "index_put":
        return x.index_put_((i - PLACES,), src, accumulate=True)
    if way == "index_put-set":
        return x.index_put_((i - PLACES,), src)
    wide = i.reshape(-1, 1).expand(-1, WIDTH)
    if way == "scatter":
        return x.scatter_(0, wide, src)
    if way == "gather-backward":
        x.requires_grad_()
        (x.gather(0, wide) * src).sum().backward()
        return x.grad
    return x.scatter_reduce_(0, wide, src, way.removeprefix("scatter_reduce-"))


SUMS = ("index_add", "index_put", "scatter_reduce-sum", "gather-backward")
PRODUCTS = ("scatter_reduce-prod",)
EXTREMES = ("scatter_reduce-amax", "scatter_reduce-amin")
ONE_OF_THEM = ("index_put-set", "scatter")


def check(way: str, d: dtype, t: Trial) -> None:
    """Several runs, each from the start; then the values."""
    i = values.rng("deterministic", way).integers(0, PLACES, COUNT)
    if way in PRODUCTS:
        src = formats.round_to(1 + 0.01 * values.rng("factors").normal(size=(COUNT, WIDTH)), d)
    else:
        src = values.summands(d, (COUNT, WIDTH), "deterministic")
    start = np.zeros((PLACES, WIDTH)) if way == "gather-backward" else np.ones((PLACES, WIDTH))
    where = t.device.type
    kinds = (d, formats.INT64, d)
    given = [
        tensorbus.tensor(a.tolist(), dtype=k) for a, k in zip((start, i, src), kinds, strict=True)
    ]
    runs = []
    with _deterministic():
        for _ in range(RUNS):
            x, at, v = (a.to(where, copy=True) for a in given)
            runs.append(_write(x, way, at, v).detach().cpu().numpy())
    if any(run.tobytes() != runs[0].tobytes() for run in runs):
        raise Mismatch(f"{RUNS} runs gave different bits, though the program asks for equal ones")
    _judge(t, way, d, runs[0], start, i, src)


class _deterministic:
    """The setting, as it was before when the block ends."""

    def __enter__(self) -> None:
        self.before = tensorbus.get_deterministic_debug_mode()
        tensorbus.use_deterministic_algorithms(True)

    def __exit__(self, *_: Any) -> None:
        tensorbus.set_deterministic_debug_mode(self.before)


def _judge(
    t: Trial, way: str, d: dtype, got: np.ndarray, start: np.ndarray, i: np.ndarray, src: np.ndarray
) -> None:
    if way in ONE_OF_THEM:
        for row, column in np.ndindex(got.shape):
            if not (src[i == row, column] == got[row, column]).any():
                raise Mismatch(f"at {(row, column)} is {got[row, column]!r}, which nobody wrote")
        return
    function: Any = np.add
    if way in PRODUCTS:
        function = np.multiply
    elif way in EXTREMES:
        function = np.maximum if way.endswith("amax") else np.minimum
    want, size = start.astype(formats.WIDE), np.abs(start).astype(formats.WIDE)
    function.at(want, i, src.astype(formats.WIDE))
    if way in EXTREMES:
        t.exact(got, want.astype(got.dtype), d)
        return
    function.at(size, i, np.abs(src).astype(formats.WIDE))
    times = np.bincount(i, minlength=PLACES)[:, None] + 1
    t.near(got, want, 2 * times * formats.unit_roundoff(d) * size, d)


def cases() -> Iterator[Case]:
    """One for each way to write with repeated indices."""
    for way in (*SUMS, *PRODUCTS, *EXTREMES, *ONE_OF_THEM):
        for d in (formats.FLOAT32, formats.FLOAT64):
            run: Callable[[Trial], None] = functools.partial(check, way, d)
            yield Case(f"L2/deterministic/{d.name}/{way}", FAMILY, run, (d,))
