"""LSTM layers: loops over steps that write into the rows of arrays made once.

At batch 1 a step is a handful of calls, which cost more than what they compute: there it goes in
both directions at once, on arrays that lie as the loop wants them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, may_decline
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.recurrent_weights import Weights, of_directions
from tensorbus_cpu_numpy.recurrent_steps import (
    Sizes,
    State,
    before_each,
    by_step,
    from_input,
    given,
    groups,
    joined,
    offers,
    own_gradient,
    part_of,
    parts,
    row_of,
)

TABLE = Table()
_offer = offers(TABLE)

_AT_ONCE = 1 << 12
"""Up to how many elements of the gates a step goes in both directions at once."""


@functools.lru_cache(16)
def _halves(hidden: int, dtype: Any, rows: int | None = None) -> tuple[Array, Array]:
    """With what the gates' arguments, then their tanh, are multiplied, and what is added then: a
    sigmoid is half the tanh of a half, and a half. With *rows* as arrays (4, rows, hidden)."""
    scale, shift = np.full((4, 1, hidden), 0.5, dtype), np.full((4, 1, hidden), 0.5, dtype)
    scale[2], shift[2] = 1, 0
    made = [x.ravel() if rows is None else np.repeat(x, rows, 1) for x in (scale, shift)]
    for x in made:
        x.flags.writeable = False
    return made[0], made[1]


def _input(x: Array, w: Weights) -> Array:
    """What the input gives to the gates, of which those that are sigmoids get a half."""
    scale, _ = _halves(w.u.shape[0] // 4, x.dtype)
    biases = [None if bias is None else bias * scale for bias in (w.b, w.d)]
    return from_input(x, w.w * scale[:, None], *biases)


def _across(w: Weights) -> Array:
    """What a state is multiplied with."""
    scale, _ = _halves(w.u.shape[0] // 4, w.u.dtype)
    return np.multiply(w.u.T, scale, out=np.empty(w.u.shape[::-1], w.u.dtype))


@_offer
def lstm_layer(
    x: Array, h: Array, c: Array, weights: Sequence[Array], sizes: Sizes
) -> tuple[Array, ...]:
    ways = of_directions(weights, len(h))
    if _steps_at_once(c, sizes):
        return _forward_at_once(x, h, c, ways, len(sizes))
    each = zip(h, c, ways, strict=True)
    found = [_forward(x, *way, sizes, k == 1) for k, way in enumerate(each)]
    return joined(found, beside=True)


def _steps_at_once(c: Array, sizes: Sizes) -> bool:
    return len(c) == 2 and sizes[0] == sizes[-1] and 4 * c.size <= _AT_ONCE


def _forward(
    x: Array, h: Array, c: Array, w: Weights, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), c.shape[1]
    y, cells = (np.empty((count, n), x.dtype) for n in (h.shape[1], hidden))
    z_all, across = _input(x, w), _across(w)
    gates = np.empty(z_all.shape, x.dtype)
    state, cell_state = State(h, sizes), State(c, sizes)
    first_z, first_rest = (np.empty((sizes[0], n), x.dtype) for n in (4 * hidden, hidden))
    z, rest, z_g = first_z, first_rest, first_z[:, 2 * hidden : 3 * hidden]
    half = np.full((), 0.5, x.dtype)  # an array: a Python number takes NumPy as long as a step
    rows = by_step(sizes, back, z_all, y, cells, gates, *parts(gates, 4))
    for own, out, cell, a, i, f, g, o in rows:
        n = len(own)
        if n != len(z):
            z, rest, z_g = first_z[:n], first_rest[:n], first_z[:n, 2 * hidden : 3 * hidden]
        np.dot(state.first(n), across, z)
        np.add(z, own, z)
        np.tanh(z, z)
        np.multiply(z, half, a)
        np.add(a, half, a)
        np.copyto(g, z_g)
        np.multiply(f, cell_state.first(n), cell)
        np.multiply(i, g, rest)
        np.add(cell, rest, cell)
        np.tanh(cell, rest)
        if w.p is None:
            np.multiply(o, rest, out)
        else:
            np.multiply(o, rest, rest)
            np.dot(rest, w.p.T, out)
        state.change(out)
        cell_state.change(cell)
    return y, state.last(), cell_state.last(), gates, cells


def _in_order(x: Array) -> list[Array]:
    """Views of an array (steps, directions, ...) for each direction, in the order of elements."""
    return [x[::-1, k] if k else x[:, k] for k in range(x.shape[1])]


def _forward_at_once(
    x: Array, h: Array, c: Array, ways: list[Weights], steps: int
) -> tuple[Array, ...]:
    """All directions of a batch of even lengths, where a step is of one place from the start and
    of one from the end."""
    count, batch, hidden = c.shape
    width = h.shape[2]
    scale, shift = _halves(hidden, x.dtype)
    # By gate: so what a call reads and writes has no gaps, for which NumPy sets up an iterator.
    a_all, given = (np.empty((steps, 4, count, batch, hidden), x.dtype) for _ in range(2))
    u = np.empty((count, 4 * hidden, width), x.dtype)
    for k, (w, own) in enumerate(zip(ways, _in_order(given.transpose(0, 2, 3, 1, 4)), strict=True)):
        z = from_input(x, w.w, w.b, w.d)
        z *= scale
        own[...] = z.reshape(own.shape)
        np.multiply(w.u, scale[:, None], u[k])
    across = u.reshape(count, 4, hidden, width).transpose(1, 0, 3, 2)
    scale, shift = (s.reshape(a_all.shape[1:]) for s in _halves(hidden, x.dtype, count * batch))
    y_all = np.empty((steps, count, batch, width), x.dtype)
    cell_all = np.empty((steps, *c.shape), x.dtype)
    rest = np.empty(c.shape, x.dtype)
    p = None if ways[0].p is None else np.stack([w.p.T for w in ways])
    out, cell = np.ascontiguousarray(h), np.ascontiguousarray(c)
    for own, a, (i, f, g, o), new, new_cell in zip(
        given, a_all, a_all, y_all, cell_all, strict=True
    ):
        np.matmul(out, across, a)
        np.add(a, own, a)
        np.tanh(a, a)
        np.multiply(a, scale, a)
        np.add(a, shift, a)
        np.multiply(f, cell, new_cell)
        np.multiply(i, g, rest)
        np.add(new_cell, rest, new_cell)
        np.tanh(new_cell, rest)
        if p is None:
            np.multiply(o, rest, new)
        else:
            np.multiply(o, rest, rest)
            np.matmul(rest, p, new)
        out, cell = new, new_cell
    gates, cells, y = (
        np.empty(shape, x.dtype)
        for shape in (
            (count, steps, batch, 4, hidden), (count, steps, batch, hidden),
            (steps, batch, count, width),
        )
    )  # fmt: skip
    by_element = (_in_order(each) for each in (a_all.transpose(0, 2, 3, 1, 4), cell_all, y_all))
    for k, (of_a, of_cell, of_y) in enumerate(zip(*by_element, strict=True)):
        gates[k], cells[k], y[:, :, k] = of_a, of_cell, of_y
    n = len(x)
    return (
        y.reshape(n, count * width), out.copy(), cell.copy(), gates.reshape(count, n, 4 * hidden),
        cells.reshape(count, n, hidden),
    )  # fmt: skip


@_offer
@may_decline
def lstm_layer_backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gg: Array | None, gcells: Array | None,
    gates: Array, cells: Array, c: Array, weights: Sequence[Array], sizes: Sizes,
) -> Any:  # fmt: skip
    if gg is not None or gcells is not None:  # of a derivative of a derivative
        return NotImplemented
    ways = of_directions(weights, len(c))
    if _steps_at_once(c, sizes):
        return _backward_at_once(gy, gh, gc, gates, cells, c, ways, len(sizes))
    found = []
    for k, w in enumerate(ways):
        own = part_of(gy, k, len(c)), row_of(gh, k), row_of(gc, k), gates[k], cells[k], c[k]
        found.append(_backward(*own, w, sizes, k == 1))
    return joined(found)


def _backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gates: Array, cells: Array, c: Array,
    w: Weights, sizes: Sizes, back: bool,
) -> tuple[Array, ...]:  # fmt: skip
    count, hidden = cells.shape
    of_z = np.empty(gates.shape, gates.dtype)
    slopes = of_z.reshape(count, 4, hidden)
    all_h = own_gradient(gh, (len(c), w.u.shape[1]), c.dtype)
    all_c = own_gradient(gc, c.shape, c.dtype)
    of_cells = before_each(cells, c, sizes, back)
    rest_all, hidden_all = (np.empty(c.shape, c.dtype) for _ in range(2))
    of_h, of_c, wide_c, rest, of_y = all_h, all_c, all_c[:, None], rest_all, hidden_all
    own = given(gy, (count, w.u.shape[1]), c.dtype)
    f = gates[:, hidden : 2 * hidden]
    rows = by_step(sizes, not back, own, f, of_cells, of_z, slopes[:, :3], slopes[:, 3])
    for part, steps in groups(sizes, not back, gates.shape[1]):
        _slopes(gates[part].reshape(-1, 4, hidden), cells[part], of_cells[part], slopes[part])
        for of_own, f, of_cell, z, of_ifg, of_o in itertools.islice(rows, steps):
            n = len(of_own)
            if n != len(of_h):
                of_h, of_c, wide_c = all_h[:n], all_c[:n], all_c[:n, None]
                rest, of_y = rest_all[:n], hidden_all[:n]
            np.add(of_h, of_own, of_h)
            if w.p is None:
                of_y = of_h
            else:
                np.dot(of_h, w.p, of_y)
            np.multiply(of_y, of_cell, rest)
            np.add(of_c, rest, of_c)
            np.multiply(of_ifg, wide_c, of_ifg)
            np.multiply(of_o, of_y, of_o)
            np.dot(z, w.u, of_h)
            np.multiply(of_c, f, of_c)
    return of_z, all_h, all_c


def _backward_at_once(
    gy: Array | None, gh: Array | None, gc: Array | None, gates: Array, cells: Array, c: Array,
    ways: list[Weights], steps: int,
) -> tuple[Array, ...]:  # fmt: skip
    count, batch, hidden = c.shape
    width, dtype = ways[0].u.shape[1], c.dtype
    slopes, a = (np.empty((steps, count, batch, 4, hidden), dtype) for _ in range(2))
    cell_all, before = (np.empty((steps, *c.shape), dtype) for _ in range(2))
    own_all = np.zeros((steps, count, batch, width), dtype)
    by_step = (_in_order(each) for each in (a, cell_all, own_all))
    for k, (of_a, of_cell, of_own) in enumerate(zip(*by_step, strict=True)):
        of_a[...], of_cell[...] = gates[k].reshape(of_a.shape), cells[k].reshape(of_cell.shape)
        if gy is not None:
            of_own[...] = gy.reshape(steps, batch, count, width)[:, :, k]
    before[0], before[1:] = c, cell_all[:-1]
    _slopes(*(x.reshape(-1, *x.shape[3:]) for x in (a, cell_all, before, slopes)))
    of_h, of_c = own_gradient(gh, (count, batch, width), dtype), own_gradient(gc, c.shape, dtype)
    wide_c, z = of_c[:, :, None], slopes.reshape(steps, count, batch, 4 * hidden)
    rest, of_y = np.empty(c.shape, dtype), of_h if ways[0].p is None else np.empty(c.shape, dtype)
    u = np.stack([w.u for w in ways])
    p = None if ways[0].p is None else np.stack([w.p for w in ways])
    each = (own_all, before, slopes[:, :, :, :3], slopes[:, :, :, 3], z,
            np.ascontiguousarray(a[:, :, :, 1]))  # fmt: skip
    for own, of_cell, of_ifg, of_o, of_z, f in zip(*(x[::-1] for x in each), strict=True):
        np.add(of_h, own, of_h)
        if p is not None:
            np.matmul(of_h, p, of_y)
        np.multiply(of_y, of_cell, rest)
        np.add(of_c, rest, of_c)
        np.multiply(of_ifg, wide_c, of_ifg)
        np.multiply(of_o, of_y, of_o)
        np.matmul(of_z, u, of_h)
        np.multiply(of_c, f, of_c)
    of_z = np.empty((count, steps, batch, 4 * hidden), dtype)
    for own, made in zip(of_z, _in_order(z), strict=True):
        own[...] = made
    return of_z.reshape(gates.shape), of_h, of_c


def _slopes(a: Array, cells: Array, before: Array, slopes: Array) -> None:
    """What the gradient of a cell is multiplied with for the gates i, f and g, and that of a hidden
    state for o, written to *slopes*; and that of a hidden state for its cell, to *before*."""
    i, g, o = a[:, 0], a[:, 2], a[:, 3]
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
