"""The steps of recurrent layers and of their backward passes, over ``F``: one direction after the
other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tensorbus.plugin.recurrent_weights import Weights, of_directions

Sizes = Sequence[int]


# -- directions --------------------------------------------------------------------------------
def _ways(
    F: Any, stacked: Sequence[Any], beside: Sequence[Any], weights: Sequence[Any], count: int
) -> Iterator[Any]:
    """Of each direction: what is stacked and what lies side by side, its weights, and whether it
    begins with the last step."""
    for k, w in enumerate(of_directions(weights, count)):
        yield (
            *(None if x is None else F.select(x, 0, k) for x in stacked),
            *(None if x is None else _part(F, x, k, count) for x in beside),
            w,
            k == 1,
        )


def _part(F: Any, x: Any, k: int, count: int) -> Any:
    """One of several parts of equal size along the last dimension."""
    n = x.shape[1] // count
    return x if count == 1 else F.slice(x, 1, k * n, (k + 1) * n, 1)


def _beside(F: Any, parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else F.concatenate(list(parts), 1)


def _stacked(F: Any, parts: Sequence[Any]) -> Any:
    each = [F.unsqueeze(x, 0) for x in parts]
    return each[0] if len(each) == 1 else F.concatenate(each, 0)


def _from_input(F: Any, x: Any, w: Weights, also: Any = None) -> Any:
    """What the input gives to all steps, with its bias and another one."""
    z = F.matmul(x, F.permute(w.w, (1, 0)))
    if w.b is None:
        return z
    return F.add(z, w.b if also is None else F.add(w.b, also))


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
    return [_part(F, z, k, count) for k in range(count)]


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
def lstm(F: Any, x: Any, h: Any, c: Any, weights: Any, sizes: Sizes) -> Any:
    found = [_lstm_way(F, x, sizes, *way) for way in _ways(F, (h, c), (), weights, h.shape[0])]
    y, *others = zip(*found, strict=True)
    return _beside(F, y), *(_stacked(F, each) for each in others)


def _lstm_way(F: Any, x: Any, sizes: Sizes, h: Any, c: Any, w: Weights, back: bool) -> Any:
    given, across = _from_input(F, x, w, w.d), F.permute(w.u, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        n = stop - start
        z = F.add(F.matmul(_rows(F, h, 0, n), across), _rows(F, given, start, stop))
        i, f, g, o = _parts(F, z, 4)
        i, f, g, o = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o)
        cell = F.add(F.mul(f, _rows(F, c, 0, n)), F.mul(i, g))
        y = F.mul(o, F.tanh(cell))
        if w.p is not None:
            y = F.matmul(y, F.permute(w.p, (1, 0)))
        h, c = _changed(F, h, y), _changed(F, c, cell)
        found.append((y, F.concatenate([i, f, g, o], 1), cell))
    y, gates, cells = _together(F, found, back)
    return y, h, c, gates, cells


def gru(F: Any, x: Any, h: Any, weights: Any, sizes: Sizes) -> Any:
    found = [_gru_way(F, x, sizes, *way) for way in _ways(F, (h,), (), weights, h.shape[0])]
    y, *others = zip(*found, strict=True)
    return _beside(F, y), *(_stacked(F, each) for each in others)


def _gru_way(F: Any, x: Any, sizes: Sizes, h: Any, w: Weights, back: bool) -> Any:
    given, across = _from_input(F, x, w), F.permute(w.u, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        before = _rows(F, h, 0, stop - start)
        s = F.matmul(before, across)
        r, z, inner = _parts(F, s if w.d is None else F.add(s, w.d), 3)
        xr, xz, xn = _parts(F, _rows(F, given, start, stop), 3)
        r, z = F.sigmoid(F.add(xr, r)), F.sigmoid(F.add(xz, z))
        n = F.tanh(F.add(xn, F.mul(r, inner)))
        y = F.add(n, F.mul(z, F.sub(before, n)))
        h = _changed(F, h, y)
        found.append((y, F.concatenate([r, z, n], 1), inner))
    y, gates, inner = _together(F, found, back)
    return y, h, gates, inner


def rnn(F: Any, x: Any, h: Any, weights: Any, relu: bool, sizes: Sizes) -> Any:
    ways = _ways(F, (h,), (), weights, h.shape[0])
    y, last = zip(*[_rnn_way(F, x, relu, sizes, *way) for way in ways], strict=True)
    return _beside(F, y), _stacked(F, last)


def _rnn_way(F: Any, x: Any, relu: bool, sizes: Sizes, h: Any, w: Weights, back: bool) -> Any:
    given, across = _from_input(F, x, w, w.d), F.permute(w.u, (1, 0))
    found = []
    for start, stop in _steps(x, sizes, back):
        z = F.add(F.matmul(_rows(F, h, 0, stop - start), across), _rows(F, given, start, stop))
        y = F.relu(z) if relu else F.tanh(z)
        h = _changed(F, h, y)
        found.append((y,))
    return *_together(F, found, back), h


# -- backward ----------------------------------------------------------------------------------
def _conjugated(F: Any, *operands: Any) -> tuple[Any, ...]:
    """The values, and sequences of them, that a derivative of complex numbers is of."""
    if not F.dtype.is_complex:
        return operands
    return tuple(
        [F.conj(w) for w in x] if isinstance(x, (list, tuple)) else F.conj(x) for x in operands
    )


def _rest(F: Any, out: Any) -> Any:
    """1 - *out*."""
    return F.add(F.neg(out), 1.0)


def _of_sigmoid(F: Any, g: Any, out: Any) -> Any:
    return F.mul(g, F.mul(out, _rest(F, out)))


def _of_tanh(F: Any, g: Any, out: Any) -> Any:
    return F.mul(g, _rest(F, F.mul(out, out)))


def lstm_backward(
    F: Any, gy: Any, gh: Any, gc: Any, gg: Any, gcells: Any, gates: Any, cells: Any, c: Any,
    weights: Any, sizes: Sizes,
) -> Any:  # fmt: skip
    gates, cells, c, weights = _conjugated(F, gates, cells, c, weights)
    given = (gh, gc, gg, gcells, gates, cells, c)
    ways = _ways(F, given, (gy,), weights, c.shape[0])
    found = [_lstm_back(F, sizes, *way) for way in ways]
    return tuple(_stacked(F, each) for each in zip(*found, strict=True))


def _lstm_back(
    F: Any, sizes: Sizes, gh: Any, gc: Any, gg: Any, gcells: Any, gates: Any, cells: Any, c: Any,
    gy: Any, w: Weights, back: bool,
) -> Any:  # fmt: skip
    of_h, of_c = _state(F, gh, c.shape[0], w.u.shape[1]), _state(F, gc, *c.shape)
    before = _before(F, cells, c, sizes, back)
    found = []
    for start, stop in reversed(_steps(cells, sizes, back)):
        n = stop - start
        i, f, g, o = _parts(F, _rows(F, gates, start, stop), 4)
        t = F.tanh(_rows(F, cells, start, stop))
        of_y = _sum(F, _rows(F, of_h, 0, n), gy, start, stop)
        if w.p is not None:
            of_y = F.matmul(of_y, w.p)
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
        of_h = _changed(F, of_h, F.matmul(of_z, w.u))
        of_c = _changed(F, of_c, F.mul(of_cell, f))
        found.append((of_z,))
    return *_together(F, found, not back), of_h, of_c


def gru_backward(
    F: Any, gy: Any, gh: Any, gg: Any, gi: Any, y: Any, gates: Any, inner: Any, h: Any,
    weights: Any, sizes: Sizes,
) -> Any:  # fmt: skip
    y, gates, inner, h, weights = _conjugated(F, y, gates, inner, h, weights)
    ways = _ways(F, (gh, gg, gi, gates, inner, h), (gy, y), weights, h.shape[0])
    found = [_gru_back(F, sizes, *way) for way in ways]
    return tuple(_stacked(F, each) for each in zip(*found, strict=True))


def _gru_back(
    F: Any, sizes: Sizes, gh: Any, gg: Any, gi: Any, gates: Any, inner: Any, h: Any, gy: Any,
    y: Any, w: Weights, back: bool,
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
        of_s = F.concatenate([of_r, of_z, of_inner], 1)
        of_h = _changed(F, of_h, F.add(F.mul(of_y, z), F.matmul(of_s, w.u)))
        found.append((F.concatenate([of_r, of_z, of_n], 1), of_s))
    return *_together(F, found, not back), of_h


def rnn_backward(
    F: Any, gy: Any, gh: Any, y: Any, h: Any, weights: Any, relu: bool, sizes: Sizes
) -> Any:
    y, h, weights = _conjugated(F, y, h, weights)
    ways = _ways(F, (gh, h), (gy, y), weights, h.shape[0])
    found = [_rnn_back(F, relu, sizes, *way) for way in ways]
    return tuple(_stacked(F, each) for each in zip(*found, strict=True))


def _rnn_back(
    F: Any, relu: bool, sizes: Sizes, gh: Any, h: Any, gy: Any, y: Any, w: Weights, back: bool,
) -> Any:  # fmt: skip
    of_h = _state(F, gh, *h.shape)
    found = []
    for start, stop in reversed(_steps(y, sizes, back)):
        out = _rows(F, y, start, stop)
        of_y = _sum(F, _rows(F, of_h, 0, stop - start), gy, start, stop)
        of_z = F.relu_backward(of_y, out) if relu else _of_tanh(F, of_y, out)
        of_h = _changed(F, of_h, F.matmul(of_z, w.u))
        found.append((of_z,))
    return *_together(F, found, not back), of_h


# -- input and weights: products for all steps -------------------------------------------------
def of_input(F: Any, gz: Any, weights: Sequence[Any]) -> Any:
    total = None
    (weights,) = _conjugated(F, weights)
    for k, w in enumerate(of_directions(weights, gz.shape[0])):
        part = F.matmul(F.select(gz, 0, k), w.w)
        total = part if total is None else F.add(total, part)
    return total


def of_weights(
    F: Any, gz: Any, gs: Any, x: Any, y: Any, h: Any, weights: Any, sizes: Sizes, wanted: Any
) -> list[Any]:
    """The gradients of all weights but a projection's, from those of what the input gives and of
    what the state does; None for those that are not wanted."""
    found: list[Any] = []
    each = len(weights) // h.shape[0]
    same = gs is gz
    x, y, h, weights = _conjugated(F, x, y, h, weights)
    ways = _ways(F, (gz, None if same else gs, h), (y,), weights, h.shape[0])
    for of_z, of_s, first, out, w, back in ways:
        wants = wanted[len(found) :][:each]
        made: list[Any] = [None, None]
        if same:
            of_s = of_z
        if wants[0] and wants[1]:
            made = list(F.recurrent_products(of_z, of_s, x, out, first, sizes, back))
        elif wants[0]:
            made[0] = _product(F, of_z, x)
        elif wants[1]:
            made[1] = _product(F, of_s, _before(F, out, first, sizes, back))
        if w.b is not None:
            of_b = F.sum(of_z, (0,))
            made += [of_b, of_b if same else F.sum(of_s, (0,))]
        if w.p is not None:
            made.append(None)
        found += made
    return found


def _product(F: Any, g: Any, x: Any) -> Any:
    return F.matmul(F.permute(g, (1, 0)), x)


def products(
    F: Any, gz: Any, gs: Any, x: Any, y: Any, h: Any, sizes: Sizes, back: bool
) -> tuple[Any, Any]:
    """The gradients of the weights of a direction, of the input and of the state."""
    return _product(F, gz, x), _product(F, gs, _before(F, y, h, sizes, back))


def of_lstm(
    F: Any, g: Any, gz: Any, x: Any, y: Any, h: Any, gates: Any, cells: Any, weights: Any,
    sizes: Sizes, wanted: Any,
) -> list[Any]:  # fmt: skip
    found = of_weights(F, gz, gz, x, y, h, weights, sizes, wanted)
    each = len(weights) // h.shape[0]
    if each % 2 == 0:
        return found
    gates, cells, weights = _conjugated(F, gates, cells, weights)
    ways = _ways(F, (gz, g[1], gates, cells), (g[0],), weights, h.shape[0])
    for k, (of_z, last, own, cell, of_y, w, back) in enumerate(ways):
        at = (k + 1) * each - 1
        if wanted[at]:
            found[at] = _of_projection(F, of_z, last, own, cell, of_y, w, sizes, back)
    return found


def _of_projection(
    F: Any, of_z: Any, last: Any, gates: Any, cells: Any, own: Any, w: Weights, sizes: Sizes,
    back: bool,
) -> Any:  # fmt: skip
    """A state is projected behind its step; its gradient comes from *y* and from the next step."""
    of_next = F.matmul(of_z, w.u)
    last = _state(F, last, sizes[0], w.u.shape[1])
    of_y = _before(F, of_next, last, sizes, not back)
    if own is not None:
        of_y = F.add(of_y, own)
    o = _parts(F, gates, 4)[3]
    return F.matmul(F.permute(of_y, (1, 0)), F.mul(o, F.tanh(cells)))
