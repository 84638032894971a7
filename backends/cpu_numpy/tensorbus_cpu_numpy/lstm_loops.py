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
"""For how many sizes a thread keeps loops."""


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

    def __init__(self, memory: _Memory):
        self.sizes, self.steps = memory.sizes, memory.steps
        self.calls: list[Callable[[], Any]] = []
        self._views: tuple[int, Any] = (0, None)

    def empty(self, *shape: int) -> Array:
        return np.empty(shape, self.sizes.dtype)

    def run(self, steps: int) -> None:
        """Call what belongs to the first steps."""
        for call in itertools.islice(self.calls, len(self.calls) // self.steps * steps):
            call()

    def views(self, steps: int) -> Any:
        """What ``parts`` gives for so many steps, kept for as long as these are as many."""
        if self._views[0] != steps:
            self._views = steps, self.parts(steps)
        return self._views[1]

    def parts(self, steps: int) -> Any:
        """Views of what belongs to the first steps."""
        raise NotImplementedError


_L = TypeVar("_L", bound=_Loop)
_here = threading.local()


class _Memory:
    """Of layers of one size both loops, with the largest of their arrays: a cache holds them once,
    as only one of the loops runs."""

    def __init__(self, sizes: _Sizes, steps: int):
        self.sizes, self.steps = sizes, steps
        count, batch, hidden, width, _, dtype = sizes
        self.u = np.empty((count, 4, hidden, width), dtype)
        self.gates = np.empty((steps, 4, count, batch, hidden), dtype)
        self._loops: dict[Any, Any] = {}

    def loop(self, kind: Callable[[_Memory], _L]) -> _L:
        """The loop of a kind; what the other one has found is lost."""
        found: _L | None = self._loops.get(kind)
        if found is None:
            found = self._loops[kind] = kind(self)
        return found


def _taken(sizes: _Sizes, steps: int) -> _Memory:
    """Loops for these sizes, which nobody else has until they are given back."""
    kept = _here.__dict__.setdefault("loops", {})
    found: _Memory | None = kept.pop(sizes, None)
    if found is None or found.steps < steps:
        found = _Memory(sizes, max(16, 1 << (steps - 1).bit_length()))
    return found


def _given_back(memory: _Memory) -> None:
    kept = _here.__dict__.setdefault("loops", {})
    kept[memory.sizes] = memory
    while len(kept) > _KEPT:
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
    """The gates lie as o, i, f and g, and the cell that a step finds behind them: so i and f, and
    what they are multiplied with, are one operand each."""

    def __init__(self, memory: _Memory):
        super().__init__(memory)
        count, batch, hidden, width, projects, dtype = self.sizes
        steps = self.steps
        # A sigmoid is half the tanh of a half, and a half.
        self.half, self.halves = np.full((), 0.5, dtype), np.full((4, hidden), 0.5, dtype)
        self.halves[2] = 1
        self.given = memory.gates
        self.states = self.empty(steps + 1, 5, count, batch, hidden)
        self.y = self.empty(steps + 1, count, batch, width)
        self.u = memory.u
        self.p = self.empty(count, hidden, width)
        across = self.u.transpose(1, 0, 3, 2)
        rest, pair = self.empty(count, batch, hidden), self.empty(2, count, batch, hidden)
        add, multiply, tanh, matmul = np.add, np.multiply, np.tanh, np.matmul
        for t in range(steps):
            a, cell, out = self.states[t], self.states[t + 1, 4], self.y[t + 1]
            gates, sigmoids = a[:4], a[:3]
            calls: list[tuple[Any, ...]] = [
                (matmul, self.y[t], across, gates),
                (add, gates, self.given[t], gates),
                (tanh, gates, gates),
                (multiply, sigmoids, self.half, sigmoids),
                (add, sigmoids, self.half, sigmoids),
                (multiply, a[1:3], a[3:], pair),
                (add, *pair, cell),
                (tanh, cell, rest),
            ]
            if projects:
                calls += [(multiply, a[0], rest, rest), (matmul, rest, self.p, out)]
            else:
                calls.append((multiply, a[0], rest, out))
            self.calls += [functools.partial(call[0], *call[1:]) for call in calls]

    def parts(self, steps: int) -> Any:
        """Of each direction what is given, y, gates and cells; and the last y and cells of all."""
        gates, cells = self.states[:steps, :4], self.states[1 : steps + 1, 4]
        found = _by_batch(self.given[:steps]), self.y[1 : steps + 1], _by_batch(gates), cells
        each = list(zip(*map(_in_order, found), strict=True))
        return each, self.y[steps], self.states[steps, 4]


def forward(x: Array, h: Array, c: Array, ways: list[Weights], steps: int) -> tuple[Array, ...]:
    """As ``lstm_layer`` of batches of even lengths: a step is of one place from the start and of
    one from the end."""
    sizes = _sizes(c, ways)
    count, batch, hidden, width, *_ = sizes
    memory = _taken(sizes, steps)
    loop = memory.loop(_Forward)
    half, halves = loop.half, loop.halves.reshape(-1)
    each, last_y, last_cells = loop.views(steps)
    for k, (w, (own, *_)) in enumerate(zip(ways, each, strict=True)):
        z, u, of_u = from_input(x, w.w, w.b, w.d), w.u.reshape(4, hidden, width), loop.u[k]
        np.multiply(z, halves, z)
        z = z.reshape(own.shape)
        own[:, :, 1:], own[:, :, 0] = z[:, :, :3], z[:, :, 3]
        of_u[3] = u[2]
        np.multiply(u[:2], half, of_u[1:3])
        np.multiply(u[3], half, of_u[0])
        if w.p is not None:
            loop.p[k] = w.p.T
    loop.y[0], loop.states[0, 4] = h, c
    loop.run(steps)
    y = np.empty((steps, batch, count, width), x.dtype)
    gates = np.empty((count, steps, batch, 4, hidden), x.dtype)
    cells = np.empty((count, steps, *c.shape[1:]), x.dtype)
    for k, (_, of_y, of_gates, of_cells) in enumerate(each):
        y[:, :, k], cells[k] = of_y, of_cells
        gates[k, :, :, :3], gates[k, :, :, 3] = of_gates[:, :, 1:], of_gates[:, :, 0]
    last = last_y.copy(), last_cells.copy()
    _given_back(memory)
    n = len(x)
    return (
        y.reshape(n, count * width), *last, gates.reshape(count, n, 4 * hidden),
        cells.reshape(count, n, hidden),
    )  # fmt: skip


# -- backward ----------------------------------------------------------------------------------
class _Backward(_Loop):
    """The first step is the last one of the forward pass."""

    def __init__(self, memory: _Memory):
        super().__init__(memory)
        count, batch, hidden, width, projects, dtype = self.sizes
        steps = self.steps
        self.one = np.ones((), dtype)
        self.gates, self.slopes = memory.gates, self.empty(steps, 4, count, batch, hidden)
        self.cells = self.empty(steps + 1, count, batch, hidden)
        self.own = self.empty(steps, count, batch, width)
        # What the gradients of the cell behind and of what the cell gives are multiplied with.
        self.factors = self.empty(steps, 2, count, batch, hidden)
        self.u, self.p = memory.u, self.empty(count, width, hidden)
        back = self.u.transpose(1, 0, 2, 3)
        # What the gates are multiplied with lies as they do: three times the gradient of the cell.
        wide, terms = self.empty(4, count, batch, hidden), self.empty(2, count, batch, hidden)
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
                (multiply, wide[2:], self.factors[t], terms),
                (add, *terms, of_i),
                (add, *terms, of_f),
                (add, *terms, self.of_c),
                (multiply, z, wide, z),
                (matmul, z, back, each),
                (add, each[:2], each[2:], pair),
                (add, *pair, self.of_h),
            ]
            self.calls += [functools.partial(call[0], *call[1:]) for call in calls]

    def parts(self, steps: int) -> Any:
        """Of each direction gates, cells, what is given and slopes."""
        gates, slopes = self.gates[:steps], self.slopes[:steps]
        found = _by_batch(gates), self.cells[:steps], self.own[:steps], _by_batch(slopes)
        return list(zip(*(_in_order(x, backwards=True) for x in found), strict=True))

    def prepare(self, steps: int) -> None:
        """Compute what does not hang on the steps behind, from the gates and the cells."""
        a, factors, cells = self.gates[:steps], self.factors[:steps], self.cells
        write_slopes(
            a, cells[:steps], cells[1 : steps + 1], self.slopes[:steps], factors[:, 1], self.one
        )
        factors[0, 0], factors[1:, 0] = self.one, a[:-1, 1]


def write_slopes(
    a: Array, cells: Array, before: Array, slopes: Array, of_cells: Array, one: Array
) -> None:
    """Write what the gradient of a cell is multiplied with for the gates i, f and g, and that of a
    hidden state for o, to *slopes*; and that of a hidden state for its cell to *of_cells*, which
    may be the memory of the cells *before*. *one* is a 1 of their dtype."""
    i, _, g, o = (a[:, k] for k in range(4))
    of_i, of_f, of_g, of_o = (slopes[:, k] for k in range(4))
    np.subtract(one, a, slopes)
    np.multiply(slopes, a, slopes)
    np.multiply(g, g, of_g)
    np.subtract(one, of_g, of_g)
    np.multiply(of_g, i, of_g)
    np.multiply(of_i, g, of_i)
    np.multiply(of_f, before, of_f)
    t = np.tanh(cells)
    np.multiply(of_o, t, of_o)
    np.multiply(t, t, t)
    np.subtract(one, t, t)
    np.multiply(t, o, of_cells)


def backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gates: Array, cells: Array, c: Array,
    ways: list[Weights], steps: int,
) -> tuple[Array, ...]:  # fmt: skip
    """As ``lstm_layer_backward``."""
    sizes = _sizes(c, ways)
    count, batch, hidden, width, *_ = sizes
    memory = _taken(sizes, steps)
    loop = memory.loop(_Backward)
    each = loop.views(steps)
    for k, (of_gates, of_cells, own, _) in enumerate(each):
        of_gates[...] = gates[k].reshape(of_gates.shape)
        of_cells[...] = cells[k].reshape(of_cells.shape)
        own[...] = 0 if gy is None else gy.reshape(steps, batch, count, width)[:, :, k]
        loop.u[k] = ways[k].u.reshape(4, hidden, width)
        if sizes.projects:
            loop.p[k] = ways[k].p
    loop.cells[steps] = c
    loop.prepare(steps)
    loop.of_h[...], loop.of_c[...] = 0 if gh is None else gh, 0 if gc is None else gc
    loop.run(steps)
    np.multiply(loop.of_c, loop.gates[steps - 1, 1], loop.of_c)
    of_z = np.empty((count, steps, batch, 4, hidden), c.dtype)
    for of_way, (*_, of_gates) in zip(of_z, each, strict=True):
        of_way[...] = of_gates
    last = loop.of_h.copy(), loop.of_c.copy()
    _given_back(memory)
    return of_z.reshape(count, -1, 4 * hidden), *last
