"""LSTM layers of few elements: all directions in one loop over calls that were prepared before.

There a call of NumPy costs more than what it computes, and so does making its operands. So the loop
runs on arrays of its own, in an order that leaves no gaps, for which NumPy sets up an iterator, and
they are kept for the next call, with the calls on them: for batches of the same size, which need
not have as many steps.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensorbus.plugin import Array
from tensorbus.plugin.recurrent_weights import Weights
from tensorbus_cpu_numpy.recurrent_steps import from_input

ELEMENTS = 1 << 12
"""The most elements that the gates of a step may have."""
STEPS = 1 << 9
"""The most steps."""
_KEPT = 4
"""For how many sizes a thread keeps loops in each direction of time."""


class _Sizes(NamedTuple):
    """Of the layer, but the number of steps."""

    directions: int
    """How many directions there are."""
    batch: int
    hidden: int
    width: int
    projects: bool
    dtype: Any


class _Loop:
    """Prepared calls, so many for each step, for up to *steps* of these."""

    def __init__(self, sizes: _Sizes, steps: int):
        self.sizes, self.steps = sizes, steps
        self.calls: list[Callable[[], Any]] = []

    def empty(self, *shape: int) -> Array:
        return np.empty(shape, self.sizes.dtype)

    def run(self, steps: int) -> None:
        """Call what belongs to the first steps."""
        for call in itertools.islice(self.calls, len(self.calls) // self.steps * steps):
            call()


_L = TypeVar("_L", bound=_Loop)
_here = threading.local()


def _taken(kind: Callable[[_Sizes, int], _L], sizes: _Sizes, steps: int) -> _L:
    """A loop for these sizes, which nobody else has until it is given back."""
    kept = _here.__dict__.setdefault("loops", {})
    found: _L | None = kept.pop((kind, sizes), None)
    if found is None or found.steps < steps:
        found = kind(sizes, max(16, 1 << (steps - 1).bit_length()))
    return found


def _given_back(loop: _Loop) -> None:
    kept = _here.__dict__.setdefault("loops", {})
    kept[type(loop), loop.sizes] = loop
    while len(kept) > 2 * _KEPT:
        del kept[next(iter(kept))]


def _sizes(c: Array, ways: list[Weights]) -> _Sizes:
    directions, batch, hidden = c.shape
    return _Sizes(directions, batch, hidden, ways[0].u.shape[1], ways[0].p is not None, c.dtype)


def _in_order(x: Array, backwards: bool = False) -> list[Array]:
    """Views of an array (steps, directions, ...) for each direction, in the order of elements."""
    return [x[::-1, k] if (k == 1) != backwards else x[:, k] for k in range(x.shape[1])]


def _by_batch(x: Array) -> Array:
    """A view (steps, directions, batch, gates, hidden) of (steps, gates, directions, ...)."""
    return x.transpose(0, 2, 3, 1, 4)


# -- forward -----------------------------------------------------------------------------------
class _Forward(_Loop):
    def __init__(self, sizes: _Sizes, steps: int):
        super().__init__(sizes, steps)
        count, batch, hidden, width, projects, dtype = sizes
        self.half = np.full((4, hidden), 0.5, dtype)
        self.half[2] = 1
        self.given, self.gates = (self.empty(steps, 4, count, batch, hidden) for _ in range(2))
        self.y = self.empty(steps + 1, count, batch, width)
        self.cells = self.empty(steps + 1, count, batch, hidden)
        self.u, self.p = self.empty(count, 4 * hidden, width), self.empty(count, hidden, width)
        across = self.u.reshape(count, 4, hidden, width).transpose(1, 0, 3, 2)
        rest = self.empty(count, batch, hidden)
        # A sigmoid is half the tanh of a half, and a half.
        scale, shift = (self.empty(4, count, batch, hidden) for _ in range(2))
        scale[...], shift[...] = 0.5, 0.5
        scale[2], shift[2] = 1, 0
        add, multiply, tanh, matmul = np.add, np.multiply, np.tanh, np.matmul
        for t in range(steps):
            a, cell, out = self.gates[t], self.cells[t + 1], self.y[t + 1]
            i, f, g, o = a
            calls: list[tuple[Any, ...]] = [
                (matmul, self.y[t], across, a),
                (add, a, self.given[t], a),
                (tanh, a, a),
                (multiply, a, scale, a),
                (add, a, shift, a),
                (multiply, f, self.cells[t], cell),
                (multiply, i, g, rest),
                (add, cell, rest, cell),
                (tanh, cell, rest),
            ]
            if projects:
                calls += [(multiply, o, rest, rest), (matmul, rest, self.p, out)]
            else:
                calls.append((multiply, o, rest, out))
            self.calls += [functools.partial(call[0], *call[1:]) for call in calls]


def forward(x: Array, h: Array, c: Array, ways: list[Weights], steps: int) -> tuple[Array, ...]:
    """As ``lstm_layer`` of batches of even lengths: a step is of one place from the start and of
    one from the end."""
    sizes = _sizes(c, ways)
    count, batch, hidden, width, *_ = sizes
    loop = _taken(_Forward, sizes, steps)
    given = _in_order(_by_batch(loop.given[:steps]))
    for k, (w, own) in enumerate(zip(ways, given, strict=True)):
        z = from_input(x, w.w, w.b, w.d)
        np.multiply(z.reshape(own.shape), loop.half, own)
        np.multiply(w.u, loop.half.reshape(-1, 1), loop.u[k])
        if w.p is not None:
            loop.p[k] = w.p.T
    loop.y[0], loop.cells[0] = h, c
    loop.run(steps)
    shapes = (
        (steps, batch, count, width),
        (count, steps, batch, 4, hidden),
        (count, steps, *c.shape[1:]),
    )
    y, gates, cells = (np.empty(shape, x.dtype) for shape in shapes)
    made = (
        loop.y[1 : steps + 1],
        _by_batch(loop.gates[:steps]),
        loop.cells[1 : steps + 1],
    )
    for k, (of_y, of_gates, of_cells) in enumerate(zip(*map(_in_order, made), strict=True)):
        y[:, :, k], gates[k], cells[k] = of_y, of_gates, of_cells
    last = loop.y[steps].copy(), loop.cells[steps].copy()
    _given_back(loop)
    n = len(x)
    return (
        y.reshape(n, count * width), *last, gates.reshape(count, n, 4 * hidden),
        cells.reshape(count, n, hidden),
    )  # fmt: skip


# -- backward ----------------------------------------------------------------------------------
class _Backward(_Loop):
    """The first step is the last one of the forward pass."""

    def __init__(self, sizes: _Sizes, steps: int):
        super().__init__(sizes, steps)
        count, batch, hidden, width, projects, _ = sizes
        self.gates, self.slopes = (self.empty(steps, 4, count, batch, hidden) for _ in range(2))
        self.cells, self.before = (self.empty(steps, count, batch, hidden) for _ in range(2))
        self.own = self.empty(steps, count, batch, width)
        self.u, self.p = self.empty(count, 4 * hidden, width), self.empty(count, width, hidden)
        back = self.u.reshape(count, 4, hidden, width).transpose(1, 0, 2, 3)
        # What the gates are multiplied with lies as they do: three times the gradient of the cell.
        wide, rest = self.empty(4, count, batch, hidden), self.empty(count, batch, hidden)
        of_i, of_f, self.of_c, of_y = wide
        self.of_h = self.empty(count, batch, width) if projects else of_y
        each, pair = (self.empty(k, count, batch, width) for k in (4, 2))
        add, multiply, matmul = np.add, np.multiply, np.matmul
        for t in range(steps):
            z = self.slopes[t]
            calls: list[tuple[Any, ...]] = [(add, self.of_h, self.own[t], self.of_h)]
            if projects:
                calls.append((matmul, self.of_h, self.p, of_y))
            calls += [
                (multiply, of_y, self.before[t], rest),
                (add, self.of_c, rest, of_i),
                (add, self.of_c, rest, of_f),
                (add, self.of_c, rest, self.of_c),
                (multiply, z, wide, z),
                (matmul, z, back, each),
                (add, each[:2], each[2:], pair),
                (add, *pair, self.of_h),
                (multiply, self.of_c, self.gates[t, 1], self.of_c),
            ]
            self.calls += [functools.partial(call[0], *call[1:]) for call in calls]


def backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gates: Array, cells: Array, c: Array,
    ways: list[Weights], steps: int, slopes: Callable[..., None],
) -> tuple[Array, ...]:  # fmt: skip
    """As ``lstm_layer_backward``; *slopes* computes what does not hang on the steps behind."""
    sizes = _sizes(c, ways)
    count, batch, hidden, width, *_ = sizes
    loop = _taken(_Backward, sizes, steps)
    filled = _by_batch(loop.gates[:steps]), loop.cells[:steps], loop.own[:steps]
    each = zip(*(_in_order(x, backwards=True) for x in filled), strict=True)
    for k, (of_gates, of_cells, own) in enumerate(each):
        of_gates[...] = gates[k].reshape(of_gates.shape)
        of_cells[...] = cells[k].reshape(of_cells.shape)
        own[...] = 0 if gy is None else gy.reshape(steps, batch, count, width)[:, :, k]
        loop.u[k] = ways[k].u
        if sizes.projects:
            loop.p[k] = ways[k].p
    loop.before[: steps - 1], loop.before[steps - 1] = loop.cells[1:steps], c
    gates, of_gates = (x[:steps].reshape(steps, 4, -1) for x in (loop.gates, loop.slopes))
    slopes(gates, *(x[:steps].reshape(steps, -1) for x in (loop.cells, loop.before)), of_gates)
    loop.of_h[...], loop.of_c[...] = 0 if gh is None else gh, 0 if gc is None else gc
    loop.run(steps)
    of_z = np.empty((count, steps, batch, 4, hidden), c.dtype)
    made = _in_order(_by_batch(loop.slopes[:steps]), backwards=True)
    for own, of_gates in zip(of_z, made, strict=True):
        own[...] = of_gates
    last = loop.of_h.copy(), loop.of_c.copy()
    _given_back(loop)
    return of_z.reshape(count, -1, 4 * hidden), *last
