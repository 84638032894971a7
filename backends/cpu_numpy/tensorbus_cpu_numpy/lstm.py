"""LSTM layers: loops over steps that write into the rows of arrays made once.

What does not hang on the state before is computed for several steps together, as many as stay in
the cache. Layers of few elements have loops of their own.
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
from tensorbus_cpu_numpy import lstm_loops
from tensorbus_cpu_numpy import recurrent_steps as common
from tensorbus_cpu_numpy.recurrent_steps import Sizes

TABLE = Table()
_offer = common.offers(TABLE)


@functools.lru_cache(16)
def _halves(hidden: int, dtype: Any) -> Array:
    """With what the gates' arguments are multiplied: a sigmoid is half the tanh of a half, and a
    half."""
    scale = np.full((4, hidden), 0.5, dtype)
    scale[2] = 1
    scale.flags.writeable = False
    return scale.ravel()


def _input(x: Array, w: Weights) -> Array:
    """What the input gives to the gates, of which those that are sigmoids get a half."""
    scale = _halves(w.u.shape[0] // 4, x.dtype)
    biases = [None if bias is None else bias * scale for bias in (w.b, w.d)]
    return common.from_input(x, w.w * scale[:, None], *biases)


def _across(w: Weights) -> Array:
    """What a state is multiplied with."""
    scale = _halves(w.u.shape[0] // 4, w.u.dtype)
    return np.multiply(w.u.T, scale, out=np.empty(w.u.shape[::-1], w.u.dtype))


@_offer
def lstm_layer(
    x: Array, h: Array, c: Array, weights: Sequence[Array], sizes: Sizes
) -> tuple[Array, ...]:
    ways = of_directions(weights, len(h))
    if _few(c, sizes):
        return lstm_loops.forward(x, h, c, ways, len(sizes))
    each = zip(h, c, ways, strict=True)
    found = [_forward(x, *way, sizes, k == 1) for k, way in enumerate(each)]
    return common.joined(found, beside=True)


def _few(c: Array, sizes: Sizes) -> bool:
    """Whether batches are of even lengths, and calls cost more than what they compute."""
    few = len(sizes) <= lstm_loops.STEPS and 4 * c.size <= lstm_loops.ELEMENTS
    return few and sizes[0] == sizes[-1]


def _forward(
    x: Array, h: Array, c: Array, w: Weights, sizes: Sizes, back: bool
) -> tuple[Array, ...]:
    count, hidden = len(x), c.shape[1]
    y, cells = (np.empty((count, n), x.dtype) for n in (h.shape[1], hidden))
    z_all, across = _input(x, w), _across(w)
    gates = np.empty(z_all.shape, x.dtype)
    state, cell_state = common.State(h, sizes), common.State(c, sizes)
    first_z, first_rest = (np.empty((sizes[0], n), x.dtype) for n in (4 * hidden, hidden))
    z, rest, z_g = first_z, first_rest, first_z[:, 2 * hidden : 3 * hidden]
    half = np.full((), 0.5, x.dtype)  # an array: a Python number takes NumPy as long as a step
    rows = common.by_step(sizes, back, z_all, y, cells, gates, *common.parts(gates, 4))
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


@_offer
@may_decline
def lstm_layer_backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gg: Array | None, gcells: Array | None,
    gates: Array, cells: Array, c: Array, weights: Sequence[Array], sizes: Sizes,
) -> Any:  # fmt: skip
    if gg is not None or gcells is not None:  # of a derivative of a derivative
        return NotImplemented
    ways = of_directions(weights, len(c))
    if _few(c, sizes):
        return lstm_loops.backward(gy, gh, gc, gates, cells, c, ways, len(sizes))
    found = []
    for k, w in enumerate(ways):
        own = (
            common.part_of(gy, k, len(c)),
            common.row_of(gh, k),
            common.row_of(gc, k),
            gates[k],
            cells[k],
            c[k],
        )
        found.append(_backward(*own, w, sizes, k == 1))
    return common.joined(found)


def _backward(
    gy: Array | None, gh: Array | None, gc: Array | None, gates: Array, cells: Array, c: Array,
    w: Weights, sizes: Sizes, back: bool,
) -> tuple[Array, ...]:  # fmt: skip
    count, hidden = cells.shape
    of_z = np.empty(gates.shape, gates.dtype)
    slopes = of_z.reshape(count, 4, hidden)
    all_h = common.own_gradient(gh, (len(c), w.u.shape[1]), c.dtype)
    all_c = common.own_gradient(gc, c.shape, c.dtype)
    of_cells = common.before_each(cells, c, sizes, back)
    rest_all, hidden_all = (np.empty(c.shape, c.dtype) for _ in range(2))
    of_h, of_c, wide_c, rest, of_y = all_h, all_c, all_c[:, None], rest_all, hidden_all
    own = common.given(gy, (count, w.u.shape[1]), c.dtype)
    f, one = gates[:, hidden : 2 * hidden], np.ones((), c.dtype)
    rows = common.by_step(sizes, not back, own, f, of_cells, of_z, slopes[:, :3], slopes[:, 3])
    for part, steps in common.groups(sizes, not back, gates.shape[1]):
        a, own_cells = gates[part].reshape(-1, 4, hidden), of_cells[part]
        lstm_loops.write_slopes(a, cells[part], own_cells, slopes[part], own_cells, one)
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
