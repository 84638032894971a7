"""Recurrent layers: a loop over steps that writes into the rows of arrays made once.

What does not hang on the state before is computed for several steps together, as many as stay in
the cache: at batch 1 a step is a handful of calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()

Sizes = Sequence[int]

_ELEMENTS = 1 << 15
"""What a few arrays of so many elements take fits into the cache."""


def _offer(kernel: Kernel) -> Kernel:
    """Offer a kernel, under its own name, in float32 and float64."""

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(kernel) if dtype.itemsize > 2 else None

    TABLE.add(kernel.__name__, (FLOAT,), maker)
    return kernel


# -- steps -------------------------------------------------------------------------------------
def _steps(sizes: Sizes, back: bool) -> list[slice]:
    """The elements of each step, in the order of the steps."""
    ends = list(itertools.accumulate(sizes))
    found = [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]
    return found[::-1] if back else found


class _State:
    """A state, of which each step changes the first rows."""

    def __init__(self, first: Array, sizes: Sizes):
        self._all = first.copy()
        self._even = sizes[0] == sizes[-1]

    def first(self, n: int) -> Array:
        return self._all[:n]

    def change(self, rows: Array) -> None:
        """*rows* stay as they are until the next change."""
        if self._even:
            self._all = rows
        else:
            self._all[: len(rows)] = rows

    def last(self) -> Array:
        return self._all.copy()


def _grouped(steps: list[slice], width: int) -> Iterator[tuple[slice, list[slice]]]:
    """Neighbouring steps, and the elements that they have together."""
    few: list[slice] = []
    count = 0
    for step in steps:
        few.append(step)
        count += step.stop - step.start
        if count * width >= _ELEMENTS:
            yield _around(few), few
            few, count = [], 0
    if few:
        yield _around(few), few


def _around(few: list[slice]) -> slice:
    return slice(min(few[0].start, few[-1].start), max(few[0].stop, few[-1].stop))


def _before(x: Array, first: Array, sizes: Sizes, back: bool) -> Array:
    """What each element finds: the rows that *x* has of the step before, at the start *first*."""
    found = np.empty(x.shape, x.dtype)
    state = _State(first, sizes)
    for step in _steps(sizes, back):
        found[step] = state.first(step.stop - step.start)
        state.change(x[step])
    return found


def _sigmoid(z: Array, out: Array) -> None:
    np.negative(z, out=out)
    np.exp(out, out=out)
    out += 1
    np.reciprocal(out, out=out)


# -- long short-term memories --------------------------------------------------------------------
@_offer
def lstm_layer(
    x: Array, h: Array, c: Array, w: Array, p: Array | None, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), c.shape[1]
    y, cells = np.empty((count, h.shape[1]), x.dtype), np.empty((count, hidden), x.dtype)
    gates = np.empty(x.shape, x.dtype)
    state, cell_state = _State(h, sizes), _State(c, sizes)
    across = np.ascontiguousarray(w.T)
    z_all, rest_all = (np.empty((sizes[0], n), x.dtype) for n in (4 * hidden, hidden))
    g_of = slice(2 * hidden, 3 * hidden)
    for step in _steps(sizes, back):
        n = step.stop - step.start
        z, rest, a, cell, out = z_all[:n], rest_all[:n], gates[step], cells[step], y[step]
        np.matmul(state.first(n), across, out=z)
        z += x[step]
        _sigmoid(z, a)
        g = a[:, g_of]
        np.tanh(z[:, g_of], out=g)
        np.multiply(a[:, hidden : 2 * hidden], cell_state.first(n), out=cell)
        np.multiply(a[:, :hidden], g, out=rest)
        cell += rest
        np.tanh(cell, out=rest)
        o = a[:, 3 * hidden :]
        if p is None:
            np.multiply(o, rest, out=out)
        else:
            rest *= o
            np.matmul(rest, p.T, out=out)
        state.change(out)
        cell_state.change(cell)
    return y, state.last(), cell_state.last(), gates, cells


@_offer
@may_decline
def lstm_layer_backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gg: Array | None, gcells: Array | None,
    gates: Array, cells: Array, c: Array, w: Array, p: Array | None, sizes: Sizes, back: bool,
) -> Any:  # fmt: skip
    if gg is not None or gcells is not None:  # of a derivative of a derivative
        return NotImplemented
    hidden = c.shape[1]
    of_z = np.empty(gates.shape, gates.dtype)
    of_h, of_c = _gradient(gh, (len(c), w.shape[1]), c.dtype), _gradient(gc, c.shape, c.dtype)
    before = _before(cells, c, sizes, back)
    rest_all, of_hidden = (np.empty(c.shape, c.dtype) for _ in range(2))
    for part, steps in _grouped(_steps(sizes, back)[::-1], gates.shape[1]):
        slopes, of_cells = _lstm_slopes(gates[part], cells[part], before[part], of_z[part])
        for step in steps:
            n, at = step.stop - step.start, slice(step.start - part.start, step.stop - part.start)
            from_h, from_c, rest, own = of_h[:n], of_c[:n], rest_all[:n], slopes[at]
            if gy is not None:
                from_h += gy[step]
            of_y = from_h if p is None else np.matmul(from_h, p, out=of_hidden[:n])
            np.multiply(of_y, of_cells[at], out=rest)
            from_c += rest
            own[:, :3] *= from_c[:, None]
            own[:, 3] *= of_y
            np.matmul(of_z[step], w, out=from_h)
            from_c *= gates[step, hidden : 2 * hidden]
    return of_z, of_h, of_c


def _lstm_slopes(a: Array, cells: Array, before: Array, out: Array) -> tuple[Array, Array]:
    """What the gradient of a cell is multiplied with for the gates i, f and g, and that of a hidden
    state for o, written into *out*; and that of a hidden state for its cell."""
    np.subtract(1, a, out=out)
    out *= a
    hidden = cells.shape[1]
    slopes = out.reshape(len(a), 4, hidden)
    i, _, g, o = (a[:, k * hidden : (k + 1) * hidden] for k in range(4))
    np.multiply(g, g, out=slopes[:, 2])
    np.subtract(1, slopes[:, 2], out=slopes[:, 2])
    t = np.tanh(cells)
    for k, other in enumerate((g, before, i, t)):
        slopes[:, k] *= other
    t *= t
    np.subtract(1, t, out=t)
    t *= o
    return slopes, t


def _gradient(g: Array | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return np.zeros(shape, dtype) if g is None else g.astype(dtype)


# -- gated recurrent units -----------------------------------------------------------------------
@_offer
def gru_layer(
    x: Array, h: Array, w: Array, b: Array | None, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), h.shape[1]
    y, inner = np.empty((count, hidden), x.dtype), np.empty((count, hidden), x.dtype)
    gates = np.empty(x.shape, x.dtype)
    state = _State(h, sizes)
    across = np.ascontiguousarray(w.T)
    u_all = np.empty((sizes[0], x.shape[1]), x.dtype)
    two = 2 * hidden
    for step in _steps(sizes, back):
        size = step.stop - step.start
        u, a, own, out, before = u_all[:size], gates[step], inner[step], y[step], state.first(size)
        np.matmul(before, across, out=u)
        if b is not None:
            u += b
        own[...] = u[:, two:]
        of_x = x[step]
        rz, n = a[:, :two], a[:, two:]
        u[:, :two] += of_x[:, :two]
        _sigmoid(u[:, :two], rz)
        np.multiply(a[:, :hidden], own, out=n)
        n += of_x[:, two:]
        np.tanh(n, out=n)
        np.subtract(before, n, out=out)
        out *= a[:, hidden:two]
        out += n
        state.change(out)
    return y, state.last(), gates, inner


@_offer
@may_decline
def gru_layer_backward(
    gy: Array | None, gh: Array | None, gg: Array | None, gi: Array | None, y: Array,
    gates: Array, inner: Array, h: Array, w: Array, sizes: Sizes, back: bool,
) -> Any:  # fmt: skip
    if gg is not None or gi is not None:
        return NotImplemented
    hidden = h.shape[1]
    of_x, of_u = (np.empty(gates.shape, y.dtype) for _ in range(2))
    of_h, before = _gradient(gh, h.shape, h.dtype), _before(y, h, sizes, back)
    product = np.empty(h.shape, h.dtype)
    for part, steps in _grouped(_steps(sizes, back)[::-1], gates.shape[1]):
        _gru_slopes(gates[part], inner[part], before[part], of_x[part], of_u[part])
        for step in steps:
            n = step.stop - step.start
            from_h, own, of_state = of_h[:n], of_x[step], of_u[step]
            if gy is not None:
                from_h += gy[step]
            parts, others = (a.reshape(n, 3, hidden) for a in (own, of_state))
            # Of r, z and n by what the hidden state changes them, and of what r is multiplied with.
            parts *= from_h[:, None]
            others[:, :2] = parts[:, :2]
            others[:, 2] *= from_h
            from_h *= gates[step, hidden : 2 * hidden]
            np.matmul(of_state, w, out=product[:n])
            from_h += product[:n]
    return of_x, of_u, of_h


def _gru_slopes(a: Array, inner: Array, before: Array, of_x: Array, of_u: Array) -> None:
    """What the gradient of a hidden state is multiplied with, for what comes from the input and,
    in the last third, from the state."""
    hidden = inner.shape[1]
    r, z, n = (a[:, k * hidden : (k + 1) * hidden] for k in range(3))
    np.subtract(1, a, out=of_x)
    of_x *= a
    of_r, of_z, of_n = (of_x[:, k * hidden : (k + 1) * hidden] for k in range(3))
    of_z *= before - n
    np.multiply(n, n, out=of_n)
    np.subtract(1, of_n, out=of_n)
    of_n *= 1 - z
    of_r *= of_n
    of_r *= inner
    np.multiply(of_n, r, out=of_u[:, 2 * hidden :])


# -- plain recurrent networks --------------------------------------------------------------------
@_offer
def rnn_layer(
    x: Array, h: Array, w: Array, relu: bool, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    y = np.empty(x.shape, x.dtype)
    state = _State(h, sizes)
    across = np.ascontiguousarray(w.T)
    for step in _steps(sizes, back):
        out = y[step]
        np.matmul(state.first(len(out)), across, out=out)
        out += x[step]
        if relu:
            np.maximum(out, 0, out=out)
        else:
            np.tanh(out, out=out)
        state.change(out)
    return y, state.last()


@_offer
def rnn_layer_backward(
    gy: Array | None, gh: Array | None, y: Array, w: Array, relu: bool, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    of_h = _gradient(gh, (sizes[0], w.shape[1]), y.dtype)
    of_z = np.empty(y.shape, y.dtype)
    if not relu:
        np.multiply(y, y, out=of_z)
        np.subtract(1, of_z, out=of_z)
    for step in _steps(sizes, back)[::-1]:
        own = of_z[step]
        from_h = of_h[: len(own)]
        if gy is not None:
            from_h += gy[step]
        if relu:
            np.copyto(own, from_h)
            own[y[step] <= 0] = 0
        else:
            own *= from_h
        np.matmul(own, w, out=from_h)
    return of_z, of_h
