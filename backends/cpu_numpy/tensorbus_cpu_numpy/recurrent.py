"""Gated recurrent units and plain recurrent networks: loops over steps that write into the rows of
arrays made once.

What does not hang on the state before is computed for several steps together, as many as stay in
the cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, may_decline
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.recurrent_weights import Weights, of_directions
from tensorbus_cpu_numpy import recurrent_steps as common
from tensorbus_cpu_numpy.recurrent_steps import Sizes

TABLE = Table()
_offer = common.offers(TABLE)


def _sigmoid(z: Array, out: Array, one: Array) -> None:
    """*one* is an array: a Python number takes NumPy as long as a step's loop."""
    np.negative(z, out)
    np.exp(out, out)
    np.add(out, one, out)
    np.reciprocal(out, out)


@_offer
def recurrent_products(
    gz: Array, gs: Array, x: Array, y: Array, h: Array, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    return np.dot(gz.T, x), np.dot(gs.T, common.before_each(y, h, sizes, back))


# -- gated recurrent units -----------------------------------------------------------------------
@_offer
def gru_layer(x: Array, h: Array, weights: Sequence[Array], sizes: Sizes) -> tuple[Array, ...]:
    each = zip(h, of_directions(weights, len(h)), strict=True)
    found = [_gru_way(x, *way, sizes, k == 1) for k, way in enumerate(each)]
    return common.joined(found, beside=True)


def _gru_way(x: Array, h: Array, w: Weights, sizes: Sizes, back: bool) -> tuple[Array, ...]:
    x, count, hidden = common.from_input(x, w.w, w.b), len(x), h.shape[1]
    two = 2 * hidden
    y, inner = (np.empty((count, hidden), x.dtype) for _ in range(2))
    gates = np.empty(x.shape, x.dtype)
    state = common.State(h, sizes)
    across, one = np.ascontiguousarray(w.u.T), np.ones((), x.dtype)
    shift = np.zeros((), x.dtype) if w.d is None else w.d
    u_all = np.empty((sizes[0], x.shape[1]), x.dtype)
    u, u_rz, u_n = u_all, u_all[:, :two], u_all[:, two:]
    rows = common.by_step(
        sizes, back, x[:, :two], x[:, two:], y, inner, gates[:, :two], *common.parts(gates, 3)
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
    gates: Array, inner: Array, h: Array, weights: Sequence[Array], sizes: Sizes,
) -> Any:  # fmt: skip
    if gg is not None or gi is not None:
        return NotImplemented
    found = []
    for k, w in enumerate(of_directions(weights, len(h))):
        beside = common.part_of(gy, k, len(h)), common.part_of(y, k, len(h))
        stacked = common.row_of(gh, k), gates[k], inner[k], h[k]
        found.append(_gru_back(*beside, *stacked, w.u, sizes, k == 1))
    return common.joined(found)


def _gru_back(
    gy: Array | None, y: Array, gh: Array | None, gates: Array, inner: Array, h: Array, u: Array,
    sizes: Sizes, back: bool,
) -> tuple[Array, ...]:  # fmt: skip
    count, hidden = y.shape
    of_x, of_s = (np.empty(gates.shape, y.dtype) for _ in range(2))
    slopes, others = (a.reshape(count, 3, hidden) for a in (of_x, of_s))
    all_h, before = common.own_gradient(gh, h.shape, h.dtype), common.before_each(y, h, sizes, back)
    product_all = np.empty(h.shape, h.dtype)
    of_h, wide_h, product = all_h, all_h[:, None], product_all
    z = gates[:, hidden : 2 * hidden]
    rows = common.by_step(
        sizes,
        not back,
        common.given(gy, y.shape, y.dtype),
        z,
        of_s,
        slopes,
        slopes[:, :2],
        others[:, :2],
        others[:, 2],
    )
    for part, steps in common.groups(sizes, not back, gates.shape[1]):
        _gru_slopes(gates[part], inner[part], before[part], slopes[part], others[part])
        for own, z, s, of_all, of_rz, s_rz, s_n in itertools.islice(rows, steps):
            n = len(own)
            if n != len(of_h):
                of_h, wide_h, product = all_h[:n], all_h[:n, None], product_all[:n]
            np.add(of_h, own, of_h)
            np.multiply(of_all, wide_h, of_all)
            np.copyto(s_rz, of_rz)
            np.multiply(s_n, of_h, s_n)
            np.dot(s, u, product)
            np.multiply(of_h, z, of_h)
            np.add(of_h, product, of_h)
    return of_x, of_s, all_h


def _gru_slopes(gates: Array, inner: Array, before: Array, slopes: Array, others: Array) -> None:
    """What the gradient of a hidden state is multiplied with for the gates, and, in the last third
    of *others*, for what r is multiplied with."""
    a = gates.reshape(slopes.shape)
    r, z, n = common.parts(gates, 3)
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
    x: Array, h: Array, weights: Sequence[Array], relu: bool, sizes: Sizes
) -> tuple[Array, ...]:
    each = zip(h, of_directions(weights, len(h)), strict=True)
    found = [_rnn_way(x, *way, relu, sizes, k == 1) for k, way in enumerate(each)]
    return common.joined(found, beside=True)


def _rnn_way(
    x: Array, h: Array, w: Weights, relu: bool, sizes: Sizes, back: bool
) -> tuple[Array, Array]:
    given = common.from_input(x, w.w, w.b, w.d)
    y, state = np.empty(given.shape, x.dtype), common.State(h, sizes)
    across, zero = np.ascontiguousarray(w.u.T), np.zeros((), x.dtype)
    for own, out in common.by_step(sizes, back, given, y):
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
    gy: Array | None, gh: Array | None, y: Array, h: Array, weights: Sequence[Array], relu: bool,
    sizes: Sizes,
) -> tuple[Array, ...]:  # fmt: skip
    found = []
    for k, w in enumerate(of_directions(weights, len(h))):
        beside = common.part_of(gy, k, len(h)), common.part_of(y, k, len(h))
        found.append(_rnn_back(*beside, common.row_of(gh, k), h[k], w.u, relu, sizes, k == 1))
    return common.joined(found)


def _rnn_back(
    gy: Array | None, y: Array, gh: Array | None, h: Array, u: Array, relu: bool, sizes: Sizes,
    back: bool,
) -> tuple[Array, ...]:  # fmt: skip
    all_h = common.own_gradient(gh, h.shape, y.dtype)
    of_z = np.empty(y.shape, y.dtype)
    if not relu:
        np.multiply(y, y, of_z)
        np.subtract(1, of_z, of_z)
    for own, out, slope in common.by_step(
        sizes, not back, common.given(gy, y.shape, y.dtype), y, of_z
    ):
        of_h = all_h[: len(own)]
        np.add(of_h, own, of_h)
        if relu:
            np.copyto(slope, of_h)
            slope[out <= 0] = 0
        else:
            np.multiply(slope, of_h, slope)
        np.dot(slope, u, of_h)
    return of_z, all_h
