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
def _by_step(sizes: Sizes, back: bool, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """The rows of each step, in the order of the steps."""
    if sizes[0] == sizes[-1]:
        each = [a.reshape(len(sizes), sizes[0], *a.shape[1:]) for a in arrays]
    else:
        ends = list(itertools.accumulate(sizes))[:-1]
        each = [np.split(a, ends) for a in arrays]
    return zip(*(rows[::-1] if back else rows for rows in each), strict=True)


class _State:
    """Rows, of which a step sees the first *n*, and changes them."""

    def __init__(self, first: Array, sizes: Sizes):
        self._all = np.array(first)
        self._even = sizes[0] == sizes[-1]

    def first(self, n: int) -> Array:
        return self._all if self._even else self._all[:n]

    def change(self, rows: Array) -> None:
        """*rows* stay as they are until the next change."""
        if self._even:
            self._all = rows
        else:
            self._all[: len(rows)] = rows

    def last(self) -> Array:
        return self._all.copy()


def _groups(sizes: Sizes, back: bool, width: int) -> Iterator[tuple[slice, int]]:
    """Neighbouring steps in their order: the elements that they have together, and their number."""
    stop = start = sum(sizes) if back else 0
    steps = 0
    for size in reversed(sizes) if back else sizes:
        start, stop = (start - size, stop) if back else (start, stop + size)
        steps += 1
        if (stop - start) * width >= _ELEMENTS:
            yield slice(start, stop), steps
            start = stop = start if back else stop
            steps = 0
    if steps:
        yield slice(start, stop), steps


def _before(x: Array, first: Array, sizes: Sizes, back: bool) -> Array:
    """What each element finds: the rows that *x* has of the step before, at the start *first*."""
    made = np.empty(x.shape, x.dtype)
    n, count = sizes[0], len(x)
    if n == sizes[-1]:
        if back:
            made[: count - n], made[count - n :] = x[n:], first
        else:
            made[n:], made[:n] = x[: count - n], first
        return made
    state = _State(first, sizes)
    for found, now in _by_step(sizes, back, made, x):
        found[...] = state.first(len(now))
        state.change(now)
    return made


def _parts(x: Array, count: int) -> Iterator[Array]:
    """Parts of equal size of the rows."""
    return iter(np.moveaxis(x.reshape(len(x), count, -1), 1, 0))


def _gradient(g: Array | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """A gradient that may be written to."""
    return np.zeros(shape, dtype) if g is None else np.array(g, dtype, order="C")


def _given(g: Array | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """A gradient that is read."""
    return np.broadcast_to(np.zeros((), dtype), shape) if g is None else g


def _sigmoid(z: Array, out: Array, one: Array) -> None:
    """*one* is an array: a Python number takes NumPy as long as a step's loop."""
    np.negative(z, out)
    np.exp(out, out)
    np.add(out, one, out)
    np.reciprocal(out, out)


# -- long short-term memories --------------------------------------------------------------------
@_offer
def lstm_layer(
    x: Array, h: Array, c: Array, w: Array, p: Array | None, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), c.shape[1]
    y, cells = (np.empty((count, n), x.dtype) for n in (h.shape[1], hidden))
    gates = np.empty(x.shape, x.dtype)
    state, cell_state = _State(h, sizes), _State(c, sizes)
    across, one = np.ascontiguousarray(w.T), np.ones((), x.dtype)
    z_all, rest_all = (np.empty((sizes[0], n), x.dtype) for n in (4 * hidden, hidden))
    z, rest, z_g = z_all, rest_all, z_all[:, 2 * hidden : 3 * hidden]
    rows = _by_step(sizes, back, x, y, cells, gates, *_parts(gates, 4))
    for own, out, cell, a, i, f, g, o in rows:
        n = len(own)
        if n != len(z):
            z, rest, z_g = z_all[:n], rest_all[:n], z_all[:n, 2 * hidden : 3 * hidden]
        np.dot(state.first(n), across, z)
        np.add(z, own, z)
        _sigmoid(z, a, one)
        np.tanh(z_g, g)
        np.multiply(f, cell_state.first(n), cell)
        np.multiply(i, g, rest)
        np.add(cell, rest, cell)
        np.tanh(cell, rest)
        if p is None:
            np.multiply(o, rest, out)
        else:
            np.multiply(o, rest, rest)
            np.dot(rest, p.T, out)
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
    count, hidden = cells.shape
    of_z = np.empty(gates.shape, gates.dtype)
    slopes = of_z.reshape(count, 4, hidden)
    all_h, all_c = _gradient(gh, (len(c), w.shape[1]), c.dtype), _gradient(gc, c.shape, c.dtype)
    of_cells = _before(cells, c, sizes, back)
    rest_all, hidden_all = (np.empty(c.shape, c.dtype) for _ in range(2))
    of_h, of_c, wide_c, rest, of_y = all_h, all_c, all_c[:, None], rest_all, hidden_all
    own = _given(gy, (count, w.shape[1]), c.dtype)
    f = gates[:, hidden : 2 * hidden]
    rows = _by_step(sizes, not back, own, f, of_cells, of_z, slopes[:, :3], slopes[:, 3])
    for part, steps in _groups(sizes, not back, gates.shape[1]):
        _lstm_slopes(gates[part], cells[part], of_cells[part], slopes[part])
        for of_own, f, of_cell, z, of_ifg, of_o in itertools.islice(rows, steps):
            n = len(of_own)
            if n != len(of_h):
                of_h, of_c, wide_c = all_h[:n], all_c[:n], all_c[:n, None]
                rest, of_y = rest_all[:n], hidden_all[:n]
            np.add(of_h, of_own, of_h)
            if p is None:
                of_y = of_h
            else:
                np.dot(of_h, p, of_y)
            np.multiply(of_y, of_cell, rest)
            np.add(of_c, rest, of_c)
            np.multiply(of_ifg, wide_c, of_ifg)
            np.multiply(of_o, of_y, of_o)
            np.dot(z, w, of_h)
            np.multiply(of_c, f, of_c)
    return of_z, all_h, all_c


def _lstm_slopes(gates: Array, cells: Array, before: Array, slopes: Array) -> None:
    """What the gradient of a cell is multiplied with for the gates i, f and g, and that of a hidden
    state for o, written to *slopes*; and that of a hidden state for its cell, to *before*."""
    a = gates.reshape(slopes.shape)
    i, _, g, o = _parts(gates, 4)
    np.subtract(1, a, slopes)
    slopes *= a
    np.multiply(g, g, slopes[:, 2])
    np.subtract(1, slopes[:, 2], slopes[:, 2])
    t = np.tanh(cells)
    for k, other in enumerate((g, before, i, t)):
        slopes[:, k] *= other
    np.multiply(t, t, before)
    np.subtract(1, before, before)
    before *= o


# -- gated recurrent units -----------------------------------------------------------------------
@_offer
def gru_layer(
    x: Array, h: Array, w: Array, b: Array | None, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), h.shape[1]
    two = 2 * hidden
    y, inner = (np.empty((count, hidden), x.dtype) for _ in range(2))
    gates = np.empty(x.shape, x.dtype)
    state = _State(h, sizes)
    across, one = np.ascontiguousarray(w.T), np.ones((), x.dtype)
    shift = np.zeros((), x.dtype) if b is None else b
    u_all = np.empty((sizes[0], x.shape[1]), x.dtype)
    u, u_rz, u_n = u_all, u_all[:, :two], u_all[:, two:]
    rows = _by_step(
        sizes, back, x[:, :two], x[:, two:], y, inner, gates[:, :two], *_parts(gates, 3)
    )
    for x_rz, x_n, out, own, rz, r, z, n in rows:
        size = len(out)
        if size != len(u):
            u, u_rz, u_n = u_all[:size], u_all[:size, :two], u_all[:size, two:]
        before = state.first(size)
        np.dot(before, across, u)
        np.add(u, shift, u)
        np.copyto(own, u_n)
        np.add(u_rz, x_rz, u_rz)
        _sigmoid(u_rz, rz, one)
        np.multiply(r, own, n)
        np.add(n, x_n, n)
        np.tanh(n, n)
        np.subtract(before, n, out)
        np.multiply(out, z, out)
        np.add(out, n, out)
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
    count, hidden = y.shape
    of_x, of_u = (np.empty(gates.shape, y.dtype) for _ in range(2))
    slopes, others = (a.reshape(count, 3, hidden) for a in (of_x, of_u))
    all_h, before = _gradient(gh, h.shape, h.dtype), _before(y, h, sizes, back)
    product_all = np.empty(h.shape, h.dtype)
    of_h, wide_h, product = all_h, all_h[:, None], product_all
    z = gates[:, hidden : 2 * hidden]
    rows = _by_step(
        sizes,
        not back,
        _given(gy, y.shape, y.dtype),
        z,
        of_u,
        slopes,
        slopes[:, :2],
        others[:, :2],
        others[:, 2],
    )
    for part, steps in _groups(sizes, not back, gates.shape[1]):
        _gru_slopes(gates[part], inner[part], before[part], slopes[part], others[part])
        for own, z, u, of_all, of_rz, u_rz, u_n in itertools.islice(rows, steps):
            n = len(own)
            if n != len(of_h):
                of_h, wide_h, product = all_h[:n], all_h[:n, None], product_all[:n]
            np.add(of_h, own, of_h)
            np.multiply(of_all, wide_h, of_all)
            np.copyto(u_rz, of_rz)
            np.multiply(u_n, of_h, u_n)
            np.dot(u, w, product)
            np.multiply(of_h, z, of_h)
            np.add(of_h, product, of_h)
    return of_x, of_u, all_h


def _gru_slopes(gates: Array, inner: Array, before: Array, slopes: Array, others: Array) -> None:
    """What the gradient of a hidden state is multiplied with for the gates, and, in the last third
    of *others*, for what r is multiplied with."""
    a = gates.reshape(slopes.shape)
    r, z, n = _parts(gates, 3)
    np.subtract(1, a, slopes)
    slopes *= a
    of_r, of_z, of_n = slopes[:, 0], slopes[:, 1], slopes[:, 2]
    of_z *= before - n
    np.multiply(n, n, of_n)
    np.subtract(1, of_n, of_n)
    of_n *= 1 - z
    of_r *= of_n
    of_r *= inner
    np.multiply(of_n, r, others[:, 2])


# -- plain recurrent networks --------------------------------------------------------------------
@_offer
def rnn_layer(
    x: Array, h: Array, w: Array, relu: bool, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    y = np.empty(x.shape, x.dtype)
    state = _State(h, sizes)
    across, zero = np.ascontiguousarray(w.T), np.zeros((), x.dtype)
    for own, out in _by_step(sizes, back, x, y):
        np.dot(state.first(len(out)), across, out)
        np.add(out, own, out)
        if relu:
            np.maximum(out, zero, out=out)
        else:
            np.tanh(out, out)
        state.change(out)
    return y, state.last()


@_offer
def rnn_layer_backward(
    gy: Array | None, gh: Array | None, y: Array, w: Array, relu: bool, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    all_h = _gradient(gh, (sizes[0], w.shape[1]), y.dtype)
    of_z = np.empty(y.shape, y.dtype)
    if not relu:
        np.multiply(y, y, of_z)
        np.subtract(1, of_z, of_z)
    for own, out, slope in _by_step(sizes, not back, _given(gy, y.shape, y.dtype), y, of_z):
        of_h = all_h[: len(own)]
        np.add(of_h, own, of_h)
        if relu:
            np.copyto(slope, of_h)
            slope[out <= 0] = 0
        else:
            np.multiply(slope, of_h, slope)
        np.dot(slope, w, of_h)
    return of_z, all_h
