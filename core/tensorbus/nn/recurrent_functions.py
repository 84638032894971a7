"""Recurrent networks as functions of their weights: ``torch.lstm``, ``gru``, ``rnn_tanh``.

A layer in one direction is one op (``ops/nn/recurrent.py``), behind one product for what the input
gives all gates of all steps. A packed batch, whose sequences get shorter, is the same with other
sizes of its steps, and a cell is a layer of one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tensorbus._base.modes import OVERRIDES, RARE
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.autocasting import operands_for
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.override import dispatch, overriding

State = tuple[Tensor, ...]
"""The hidden state, and for an LSTM that of its cells."""


class Weights(NamedTuple):
    """Of one layer in one direction: for its input, for its state, and the projection's."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    w_hr: Tensor | None = None


Layer = Callable[[Tensor, State, Weights, Sequence[int], bool], tuple[Tensor, State]]
"""Of the elements of all steps, the first state, weights, the number of elements of each step, and
whether the last step comes first: the hidden states, and the last state."""


# -- layers in one direction -----------------------------------------------------------------
def _run(
    row: str, gates: Tensor, state: State, weights: tuple[Tensor | None, ...], *options: Any
) -> Any:
    """A row of operands that have one dtype on one device, or get it from autocast."""
    operands: tuple[Tensor | None, ...] = (gates, *state, *weights)
    if RARE.on:
        operands = operands_for(row, *operands)
    x, *others = (t for t in operands if t is not None)
    check_device(x, *others)
    for t in others:
        if t._k is not x._k:
            raise RuntimeError(
                "Input, hidden states and weights of a recurrent layer are of one dtype, but found "
                f"{x.dtype} and {t.dtype}"
            )
    return core(row)(*operands, *options)


def _both(w: Weights) -> Tensor | None:
    """The biases of input and state as one."""
    return w.b_ih if w.b_ih is None or w.b_hh is None else w.b_ih + w.b_hh


def _lstm(
    x: Tensor, state: State, w: Weights, sizes: Sequence[int], back: bool
) -> tuple[Tensor, State]:
    gates = F.linear(x, w.w_ih, _both(w))
    y, h, c, *_ = _run("lstm_layer", gates, state, (w.w_hh, w.w_hr), sizes, back)
    return y, (h, c)


def _gru(
    x: Tensor, state: State, w: Weights, sizes: Sequence[int], back: bool
) -> tuple[Tensor, State]:
    gates = F.linear(x, w.w_ih, w.b_ih)
    y, h, *_ = _run("gru_layer", gates, state, (w.w_hh, w.b_hh), sizes, back)
    return y, (h,)


def _rnn(relu: bool) -> Layer:
    def layer(
        x: Tensor, state: State, w: Weights, sizes: Sequence[int], back: bool
    ) -> tuple[Tensor, State]:
        gates = F.linear(x, w.w_ih, _both(w))
        y, h = _run("rnn_layer", gates, state, (w.w_hh,), relu, sizes, back)
        return y, (h,)

    return layer


_tanh, _relu = _rnn(False), _rnn(True)


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
    layer: Layer,
    x: Tensor,
    states: State,
    params: Sequence[Tensor],
    sizes: Sequence[int],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    directions = 2 if bidirectional else 1
    weights = _weights(params, has_biases, num_layers * directions)
    _check_states(states, weights, sizes[0])
    last: list[State] = []
    for at in range(num_layers):
        found = []
        for direction in range(directions):
            k = at * directions + direction
            y, state = layer(x, tuple(s[k] for s in states), weights[k], sizes, direction == 1)
            found.append(y)
            last.append(state)
        x = found[0] if directions == 1 else FUNCTIONS["cat"](found, -1)
        if dropout and train and at < num_layers - 1:
            x = F.dropout(x, dropout)
    return x, *(FUNCTIONS["stack"](parts) for parts in zip(*last, strict=True))


def _check_states(states: State, weights: list[Weights], batch: int) -> None:
    """RuntimeError unless each state has a row for each layer, direction and sequence."""
    w = weights[0]
    outputs = w.w_hh.shape[-1]
    widths = (outputs, outputs if w.w_hr is None else w.w_hr.shape[-1])
    for k, (state, width) in enumerate(zip(states, widths, strict=False)):
        expected = (len(weights), batch, width)
        if tuple(state.shape) != expected:
            raise RuntimeError(f"Expected hidden[{k}] size {expected}, got {list(state.shape)}")


def _sizes(batch_sizes: Tensor) -> tuple[int, ...]:
    sizes = tuple(batch_sizes.tolist())
    if not sizes or any(a < b for a, b in pairwise(sizes)) or sizes[-1] < 1:
        raise ValueError(
            "batch_sizes has to hold sizes of at least 1, of which none is greater than the one "
            f"before, but is {list(sizes)}"
        )
    return sizes


def _network(name: str, layer: Layer, count: int) -> Callable[..., tuple[Tensor, ...]]:
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
        steps, batch, size = x.shape
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        y, *last = _layers(
            layer, x.reshape(steps * batch, size), _states(name, hx, count), params,
            (batch,) * steps, has_biases, num_layers, dropout, train, bidirectional,
        )  # fmt: skip
        y = y.view(steps, batch, y.shape[1])
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
            layer, data, _states(name, hx, count), params, _sizes(batch_sizes), has_biases,
            num_layers, dropout, train, bidirectional,
        )  # fmt: skip

    def network(*args: Any, **kwargs: Any) -> Any:
        if OVERRIDES.on and (asked := overriding(args, kwargs)):
            return dispatch(network, asked, args, kwargs)
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
def _cell(name: str, layer: Layer, count: int) -> Callable[..., Any]:
    def one_step(
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        given = (input, hx, w_ih, w_hh, b_ih, b_hh)
        if OVERRIDES.on and (asked := overriding(given)):
            return dispatch(one_step, asked, given, {})
        state, w = _states(name, hx, count), Weights(w_ih, w_hh, b_ih, b_hh)
        n = input.shape[0]
        _check_states(tuple(s.unsqueeze(0) for s in state), [w], n)
        last = layer(input, state, w, (n,), False)[1]
        return last if count > 1 else last[0]

    one_step.__name__ = one_step.__qualname__ = name
    found = "hidden state" if count == 1 else "hidden state and the cells' state"
    network = name.removesuffix("_cell")
    one_step.__doc__ = f"One step of ``{network}``: the {found} after (N, inputs)."
    return one_step


lstm_cell = _cell("lstm_cell", _lstm, 2)
gru_cell = _cell("gru_cell", _gru, 1)
rnn_tanh_cell = _cell("rnn_tanh_cell", _tanh, 1)
rnn_relu_cell = _cell("rnn_relu_cell", _relu, 1)
