"""Recurrent networks as functions of their weights: ``torch.lstm``, ``gru``, ``rnn_tanh``.

Layers and directions share one form: a cell that takes what the input gives all gates of a step,
which is one product for all steps, and the state before it. A packed batch, whose sequences get
shorter, is the same with a state that loses rows on the way, or gains them on the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.op_engine.names import FUNCTIONS

State = tuple[Tensor, ...]
"""The hidden state, and for an LSTM that of its cells."""


class Weights(NamedTuple):
    """Of one layer in one direction: for its input, for its state, and the projection's."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    w_hr: Tensor | None = None


Cell = Callable[[Tensor, State, Weights], State]


# -- cells -----------------------------------------------------------------------------------
def _lstm(gates: Tensor, state: State, w: Weights) -> State:
    h, c = state
    i, f, g, o = (gates + F.linear(h, w.w_hh, w.b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h if w.w_hr is None else F.linear(h, w.w_hr), c


def _gru(gates: Tensor, state: State, w: Weights) -> State:
    (h,) = state
    r, z, n = gates.chunk(3, -1)
    hr, hz, hn = F.linear(h, w.w_hh, w.b_hh).chunk(3, -1)
    n = (n + (r + hr).sigmoid() * hn).tanh()
    return (n + (z + hz).sigmoid() * (h - n),)


def _tanh(gates: Tensor, state: State, w: Weights) -> State:
    return ((gates + F.linear(state[0], w.w_hh, w.b_hh)).tanh(),)


def _relu(gates: Tensor, state: State, w: Weights) -> State:
    return ((gates + F.linear(state[0], w.w_hh, w.b_hh)).relu(),)


def _of_one_step(cell: Cell, input: Tensor, state: State, w: Weights) -> State:
    return cell(F.linear(input, w.w_ih, w.b_ih), state, w)


# -- sequences -------------------------------------------------------------------------------
def _run(cell: Cell, x: Tensor, state: State, w: Weights, back: bool) -> tuple[Tensor, State]:
    """All steps of (L, N, inputs): the hidden states (L, N, outputs), and the last state."""
    gates = F.linear(x, w.w_ih, w.b_ih).unbind(0)
    found = []
    for gate in reversed(gates) if back else gates:
        state = cell(gate, state, w)
        found.append(state[0])
    return FUNCTIONS["stack"](found[::-1] if back else found), state


def _run_packed(
    cell: Cell, x: Tensor, sizes: Sequence[int], state: State, w: Weights, back: bool
) -> tuple[Tensor, State]:
    """The same of packed sequences: (elements, inputs), of which step t has ``sizes[t]``."""
    gates = F.linear(x, w.w_ih, w.b_ih).split(list(sizes))
    found = []
    cat = FUNCTIONS["cat"]
    if back:
        whole, state = state, tuple(s[: sizes[-1]] for s in state)
        for gate in reversed(gates):
            n, before = gate.shape[0], state[0].shape[0]
            if n > before:
                state = tuple(cat([s, t[before:n]]) for s, t in zip(state, whole, strict=True))
            state = cell(gate, state, w)
            found.append(state[0])
        return cat(found[::-1]), state
    ended: list[State] = []
    for gate in gates:
        n = gate.shape[0]
        if n < state[0].shape[0]:
            ended.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = cell(gate, state, w)
        found.append(state[0])
    ended.append(state)
    return cat(found), tuple(cat(parts[::-1]) for parts in zip(*ended, strict=True))


# -- layers ----------------------------------------------------------------------------------
def _weights(params: Sequence[Tensor], has_biases: bool, count: int) -> list[Weights]:
    """The weights of *count* layers and directions, one after the other."""
    plain = 4 if has_biases else 2
    each, rest = divmod(len(params), count)
    if rest or each not in (plain, plain + 1):
        raise ValueError(
            f"{len(params)} weights were given for {count} layers and directions, of which each "
            f"has {plain}, or {plain + 1} with a projection"
        )
    found = []
    for start in range(0, len(params), each):
        part = list(params[start : start + each])
        w_hr = part.pop() if each > plain else None
        found.append(Weights(*part)._replace(w_hr=w_hr))
    return found


def _layers(
    cell: Cell,
    x: Tensor,
    states: State,
    params: Sequence[Tensor],
    sizes: Sequence[int] | None,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    directions = 2 if bidirectional else 1
    weights = _weights(params, has_biases, num_layers * directions)
    last: list[State] = []
    for layer in range(num_layers):
        found = []
        for direction in range(directions):
            k = layer * directions + direction
            first, back = tuple(s[k] for s in states), direction == 1
            if sizes is None:
                y, state = _run(cell, x, first, weights[k], back)
            else:
                y, state = _run_packed(cell, x, sizes, first, weights[k], back)
            found.append(y)
            last.append(state)
        x = found[0] if directions == 1 else FUNCTIONS["cat"](found, -1)
        if dropout and train and layer < num_layers - 1:
            x = F.dropout(x, dropout)
    return x, *(FUNCTIONS["stack"](parts) for parts in zip(*last, strict=True))


def _sizes(batch_sizes: Tensor) -> list[int]:
    sizes = batch_sizes.tolist()
    if not sizes or any(a < b for a, b in pairwise(sizes)) or sizes[-1] < 1:
        raise ValueError(
            "batch_sizes has to hold sizes of at least 1, of which none is greater than the one "
            f"before, but is {sizes}"
        )
    return sizes


def _network(name: str, cell: Cell, count: int) -> Callable[..., tuple[Tensor, ...]]:
    def whole(
        input: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, ...]:
        x = input.transpose(0, 1) if batch_first else input
        y, *last = _layers(
            cell, x, _states(name, hx, count), params, None, has_biases, num_layers, dropout,
            train, bidirectional,
        )  # fmt: skip
        return y.transpose(0, 1) if batch_first else y, *last

    def packed(
        data: Tensor,
        batch_sizes: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Tensor, ...]:
        return _layers(
            cell, data, _states(name, hx, count), params, _sizes(batch_sizes), has_biases,
            num_layers, dropout, train, bidirectional,
        )  # fmt: skip

    def network(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        second = args[1] if len(args) > 1 else kwargs.get("batch_sizes")
        third = args[2] if len(args) > 2 else kwargs.get("hx")
        # Both forms of a network with one state have a tensor here: the state, or the sizes.
        is_packed = isinstance(second, Tensor) and (count > 1 or isinstance(third, Tensor))
        return packed(*args, **kwargs) if is_packed else whole(*args, **kwargs)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""A network of {name} layers: its outputs, and the last state of each layer.

    ``{name}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first)`` of (L, N, inputs), or (N, L, inputs) with *batch_first*; ``{name}(data,
    batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`` of packed
    sequences. States: (layers * directions, N, size). ValueError for another number of weights.
    """
    return network


def _states(name: str, hx: Any, count: int) -> State:
    states = (hx,) if count == 1 and isinstance(hx, Tensor) else tuple(hx)
    if len(states) != count:
        raise RuntimeError(f"{name} expects {count} hidden states, but got {len(states)}")
    return states


lstm = _network("lstm", _lstm, 2)
gru = _network("gru", _gru, 1)
rnn_tanh = _network("rnn_tanh", _tanh, 1)
rnn_relu = _network("rnn_relu", _relu, 1)


# -- one step --------------------------------------------------------------------------------
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the hidden state and the cells' state after (N, inputs)."""
    state = _states("lstm_cell", hx, 2)
    h, c = _of_one_step(_lstm, input, state, Weights(w_ih, w_hh, b_ih, b_hh))
    return h, c


def _cell(name: str, cell: Cell) -> Callable[..., Tensor]:
    def one_step(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return _of_one_step(cell, input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]

    one_step.__name__ = one_step.__qualname__ = name
    network = name.removesuffix("_cell")
    one_step.__doc__ = f"One step of ``{network}``: the hidden state after (N, inputs)."
    return one_step


gru_cell = _cell("gru_cell", _gru)
rnn_tanh_cell = _cell("rnn_tanh_cell", _tanh)
rnn_relu_cell = _cell("rnn_relu_cell", _relu)
