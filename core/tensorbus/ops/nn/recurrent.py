"""Recurrent layers in one direction: all steps of a sequence are one op.

What the input gives to the gates is one product for all steps, before the op: *x* has it, a row for
each element. The elements of a step lie together and their number is in *sizes*, so packed batches,
whose sequences get shorter, are nothing else: a step changes the first rows of the state.

The gates, and the states of the cells, are results, so that the backward pass has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tensorbus.rows.registry import row

Sizes = Sequence[int]

# fmt: off
row("lstm_layer", "x:T, h:T, c:T, w:T, p:T?, sizes, back",
    results="y:same hn:same cn:same gates:same cells:same", domain="ordered float",
    autocast="lower",
    doc="The hidden states *y* of an LSTM, and its last states *hn* and *cn*: in each step ``z = x "
        "+ h @ w.T``; sigmoid of its first, second and last quarter and tanh of its third are the "
        "*gates* i, f, o and g; then ``c = f * c + i * g``, one of the *cells*, and ``h = o * "
        "tanh(c)``, or ``h @ p.T`` of that; step t has ``sizes[t]`` rows of *x*, and *back* begins "
        "with the last step.",
    composite=lambda F, x, h, c, w, p, sizes, back: _lstm(F, x, h, c, w, p, sizes, back),
    shared=lambda F, g, gates, cells, c, w, p, sizes, back:
        F.lstm_layer_backward(*g, gates, cells, c, w, p, sizes, back),
    x=lambda F, g, shared: shared[0],
    h=lambda F, g, shared: shared[1],
    c=lambda F, g, shared: shared[2],
    w=lambda F, g, shared, y, h, sizes, back: _of_weight(F, shared[0], y, h, sizes, back),
    p=lambda F, g, shared, gates, cells, w, sizes, back:
        _of_projection(F, g, shared[0], gates, cells, w, sizes, back))
row("lstm_layer_backward",
    "gy:T?, gh:T?, gc:T?, gg:T?, gcells:T?, gates:T, cells:T, c:T, w:T, p:T?, sizes, back",
    results="gx:same first:same cell:same", domain="ordered float",
    doc="The derivatives of ``lstm_layer`` for what the input gives and for both states, from "
        "those of its results.",
    composite=lambda F, gy, gh, gc, gg, gcells, gates, cells, c, w, p, sizes, back:
        _lstm_backward(F, gy, gh, gc, gg, gcells, gates, cells, c, w, p, sizes, back))
row("gru_layer", "x:T, h:T, w:T, b:T?, sizes, back",
    results="y:same hn:same gates:same inner:same", domain="ordered float", autocast="lower",
    doc="The hidden states *y* of a GRU, and its last state *hn*: in each step, with ``u = h @ w.T "
        "+ b``, the *gates* r and z, sigmoid of ``x + u`` in its first two thirds; n, tanh of ``x "
        "+ r * u`` in the last, where u is *inner*; and ``h = n + z * (h - n)``, with *sizes* "
        "and *back* as of ``lstm_layer``.",
    composite=lambda F, x, h, w, b, sizes, back: _gru(F, x, h, w, b, sizes, back),
    shared=lambda F, g, y, gates, inner, h, w, sizes, back:
        F.gru_layer_backward(*g, y, gates, inner, h, w, sizes, back),
    x=lambda F, g, shared: shared[0],
    h=lambda F, g, shared: shared[2],
    w=lambda F, g, shared, y, h, sizes, back: _of_weight(F, shared[1], y, h, sizes, back),
    b=lambda F, g, shared: F.sum(shared[1], (0,)))
row("gru_layer_backward",
    "gy:T?, gh:T?, gg:T?, gi:T?, y:T, gates:T, inner:T, h:T, w:T, sizes, back",
    results="gx:same gu:same first:same", domain="ordered float",
    doc="The derivatives of ``gru_layer`` for what the input gives, for ``h @ w.T + b`` and for "
        "the state *h*, from those of its results.",
    composite=lambda F, gy, gh, gg, gi, y, gates, inner, h, w, sizes, back:
        _gru_backward(F, gy, gh, gg, gi, y, gates, inner, h, w, sizes, back))
row("rnn_layer", "x:T, h:T, w:T, relu, sizes, back",
    results="y:same hn:same", domain="ordered float", autocast="lower",
    doc="The hidden states *y* of a recurrent network, and its last state *hn*: in each step ``h = "
        "tanh(x + h @ w.T)``, or the relu of that, with *sizes* and *back* as of ``lstm_layer``.",
    composite=lambda F, x, h, w, relu, sizes, back: _rnn(F, x, h, w, relu, sizes, back),
    shared=lambda F, g, y, w, relu, sizes, back:
        F.rnn_layer_backward(*g, y, w, relu, sizes, back),
    x=lambda F, g, shared: shared[0],
    h=lambda F, g, shared: shared[1],
    w=lambda F, g, shared, y, h, sizes, back: _of_weight(F, shared[0], y, h, sizes, back))
row("rnn_layer_backward", "gy:T?, gh:T?, y:T, w:T, relu, sizes, back",
    results="gx:same first:same", domain="ordered float",
    doc="The derivatives of ``rnn_layer`` for what the input gives and for the state, from those "
        "of its results.",
    composite=lambda F, gy, gh, y, w, relu, sizes, back:
        _rnn_backward(F, gy, gh, y, w, relu, sizes, back))
# fmt: on


# -- steps -------------------------------------------------------------------------------------
def _steps(x: Any, sizes: Sizes, back: bool) -> list[tuple[int, int]]:
    """The first element of each step and the one after its last, in the order of the steps."""
    ends = list(itertools.accumulate(sizes))
    if ends[-1] != x.shape[0]:
        raise ValueError(f"{x.shape[0]} elements are not those of steps of {list(sizes)}")
    found = list(zip([0, *ends], ends, strict=False))
    return found[::-1] if back else found


def _rows(F: Any, x: Any, start: int, stop: int) -> Any:
    return x if stop - start == x.shape[0] else F.slice(x, 0, start, stop, 1)


def _changed(F: Any, state: Any, first: Any) -> Any:
    """A state with other first rows."""
    n, count = first.shape[0], state.shape[0]
    return first if n == count else F.concatenate([first, F.slice(state, 0, n, count, 1)], 0)


def _parts(F: Any, z: Any, count: int) -> list[Any]:
    """Parts of equal size along the last dimension."""
    n = z.shape[1] // count
    return [F.slice(z, 1, k * n, (k + 1) * n, 1) for k in range(count)]


def _together(F: Any, found: list[tuple[Any, ...]], back: bool) -> list[Any]:
    """What each step gave, in the order of the elements."""
    return [F.concatenate(list(x), 0) for x in zip(*(found[::-1] if back else found), strict=True)]


def _before(F: Any, x: Any, first: Any, sizes: Sizes, back: bool) -> Any:
    """What each element finds: the rows that *x* has of the step before, at the start *first*."""
    count, n = x.shape[0], sizes[0]
    if sizes[-1] == n:
        rest = _rows(F, x, n, count) if back else _rows(F, x, 0, count - n)
        if count == n:
            return first
        return F.concatenate([rest, first] if back else [first, rest], 0)
    state, found = first, []
    for start, stop in _steps(x, sizes, back):
        found.append((_rows(F, state, 0, stop - start),))
        state = _changed(F, state, _rows(F, x, start, stop))
    return _together(F, found, back)[0]


def _state(F: Any, g: Any, rows: int, width: int) -> Any:
    return F.zeros((rows, width)) if g is None else g


def _sum(F: Any, x: Any, g: Any, start: int, stop: int) -> Any:
    """*x* and the rows of a gradient, where there is one."""
    return x if g is None else F.add(x, _rows(F, g, start, stop))


# -- forward -----------------------------------------------------------------------------------
def _lstm(F: Any, x: Any, h: Any, c: Any, w: Any, p: Any, sizes: Sizes, back: bool) -> Any:
    across = F.permute(w, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        n = stop - start
        z = F.add(F.matmul(_rows(F, h, 0, n), across), _rows(F, x, start, stop))
        i, f, g, o = _parts(F, z, 4)
        i, f, g, o = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o)
        cell = F.add(F.mul(f, _rows(F, c, 0, n)), F.mul(i, g))
        y = F.mul(o, F.tanh(cell))
        if p is not None:
            y = F.matmul(y, F.permute(p, (1, 0)))
        h, c = _changed(F, h, y), _changed(F, c, cell)
        found.append((y, F.concatenate([i, f, g, o], 1), cell))
    y, gates, cells = _together(F, found, back)
    return y, h, c, gates, cells


def _gru(F: Any, x: Any, h: Any, w: Any, b: Any, sizes: Sizes, back: bool) -> Any:
    across = F.permute(w, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        before = _rows(F, h, 0, stop - start)
        u = F.matmul(before, across)
        r, z, inner = _parts(F, u if b is None else F.add(u, b), 3)
        xr, xz, xn = _parts(F, _rows(F, x, start, stop), 3)
        r, z = F.sigmoid(F.add(xr, r)), F.sigmoid(F.add(xz, z))
        n = F.tanh(F.add(xn, F.mul(r, inner)))
        y = F.add(n, F.mul(z, F.sub(before, n)))
        h = _changed(F, h, y)
        found.append((y, F.concatenate([r, z, n], 1), inner))
    y, gates, inner = _together(F, found, back)
    return y, h, gates, inner


def _rnn(F: Any, x: Any, h: Any, w: Any, relu: bool, sizes: Sizes, back: bool) -> Any:
    across = F.permute(w, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        z = F.add(F.matmul(_rows(F, h, 0, stop - start), across), _rows(F, x, start, stop))
        y = F.relu(z) if relu else F.tanh(z)
        h = _changed(F, h, y)
        found.append((y,))
    return *_together(F, found, back), h


# -- backward ----------------------------------------------------------------------------------
def _rest(F: Any, out: Any) -> Any:
    """1 - *out*."""
    return F.add(F.neg(out), 1.0)


def _of_sigmoid(F: Any, g: Any, out: Any) -> Any:
    return F.mul(g, F.mul(out, _rest(F, out)))


def _of_tanh(F: Any, g: Any, out: Any) -> Any:
    return F.mul(g, _rest(F, F.mul(out, out)))


def _lstm_backward(
    F: Any, gy: Any, gh: Any, gc: Any, gg: Any, gcells: Any, gates: Any, cells: Any, c: Any,
    w: Any, p: Any, sizes: Sizes, back: bool,
) -> Any:  # fmt: skip
    of_h, of_c = _state(F, gh, c.shape[0], w.shape[1]), _state(F, gc, *c.shape)
    before = _before(F, cells, c, sizes, back)
    found = []
    for start, stop in reversed(_steps(cells, sizes, back)):
        n = stop - start
        i, f, g, o = _parts(F, _rows(F, gates, start, stop), 4)
        t = F.tanh(_rows(F, cells, start, stop))
        of_y = _sum(F, _rows(F, of_h, 0, n), gy, start, stop)
        if p is not None:
            of_y = F.matmul(of_y, p)
        of_cell = F.add(_rows(F, of_c, 0, n), _of_tanh(F, F.mul(of_y, o), t))
        of_cell = _sum(F, of_cell, gcells, start, stop)
        each = [
            F.mul(of_cell, g), F.mul(of_cell, _rows(F, before, start, stop)),
            F.mul(of_cell, i), F.mul(of_y, t),
        ]  # fmt: skip
        if gg is not None:
            own = _parts(F, _rows(F, gg, start, stop), 4)
            each = [F.add(a, b) for a, b in zip(each, own, strict=True)]
        of_i, of_f, of_g, of_o = each
        of_z = F.concatenate(
            [_of_sigmoid(F, of_i, i), _of_sigmoid(F, of_f, f), _of_tanh(F, of_g, g),
             _of_sigmoid(F, of_o, o)], 1,
        )  # fmt: skip
        of_h = _changed(F, of_h, F.matmul(of_z, w))
        of_c = _changed(F, of_c, F.mul(of_cell, f))
        found.append((of_z,))
    return *_together(F, found, not back), of_h, of_c


def _gru_backward(
    F: Any, gy: Any, gh: Any, gg: Any, gi: Any, y: Any, gates: Any, inner: Any, h: Any, w: Any,
    sizes: Sizes, back: bool,
) -> Any:  # fmt: skip
    of_h = _state(F, gh, *h.shape)
    before = _before(F, y, h, sizes, back)
    found = []
    for start, stop in reversed(_steps(y, sizes, back)):
        r, z, n = _parts(F, _rows(F, gates, start, stop), 3)
        of_y = _sum(F, _rows(F, of_h, 0, stop - start), gy, start, stop)
        of_z = F.mul(of_y, F.sub(_rows(F, before, start, stop), n))
        of_n = F.mul(of_y, _rest(F, z))
        if gg is not None:
            own_r, own_z, own_n = _parts(F, _rows(F, gg, start, stop), 3)
            of_z, of_n = F.add(of_z, own_z), F.add(of_n, own_n)
        of_n = _of_tanh(F, of_n, n)
        of_r = F.mul(of_n, _rows(F, inner, start, stop))
        if gg is not None:
            of_r = F.add(of_r, own_r)
        of_r, of_z = _of_sigmoid(F, of_r, r), _of_sigmoid(F, of_z, z)
        of_inner = _sum(F, F.mul(of_n, r), gi, start, stop)
        of_u = F.concatenate([of_r, of_z, of_inner], 1)
        of_h = _changed(F, of_h, F.add(F.mul(of_y, z), F.matmul(of_u, w)))
        found.append((F.concatenate([of_r, of_z, of_n], 1), of_u))
    return *_together(F, found, not back), of_h


def _rnn_backward(
    F: Any, gy: Any, gh: Any, y: Any, w: Any, relu: bool, sizes: Sizes, back: bool
) -> Any:
    of_h = _state(F, gh, sizes[0], w.shape[1])
    found = []
    for start, stop in reversed(_steps(y, sizes, back)):
        out = _rows(F, y, start, stop)
        of_y = _sum(F, _rows(F, of_h, 0, stop - start), gy, start, stop)
        of_z = F.relu_backward(of_y, out) if relu else _of_tanh(F, of_y, out)
        of_h = _changed(F, of_h, F.matmul(of_z, w))
        found.append((of_z,))
    return *_together(F, found, not back), of_h


def _of_weight(F: Any, of_z: Any, y: Any, h: Any, sizes: Sizes, back: bool) -> Any:
    """The gradient of what the states are multiplied with, one product for all steps."""
    return F.matmul(F.permute(of_z, (1, 0)), _before(F, y, h, sizes, back))


def _of_projection(
    F: Any, g: Any, of_z: Any, gates: Any, cells: Any, w: Any, sizes: Sizes, back: bool
) -> Any:
    """A state is projected behind its step; its gradient comes from *y* and from the next step."""
    of_next = F.matmul(of_z, w)
    last = _state(F, g[1], sizes[0], w.shape[1])
    of_y = _before(F, of_next, last, sizes, not back)
    if g[0] is not None:
        of_y = F.add(of_y, g[0])
    o = _parts(F, gates, 4)[3]
    return F.matmul(F.permute(of_y, (1, 0)), F.mul(o, F.tanh(cells)))
