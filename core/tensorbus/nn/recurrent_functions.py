"""Recurrent networks as functions of their weights: ``torch.lstm``, ``gru``, ``rnn_tanh``.

A layer, in one direction or in both, is one op (``ops/nn/recurrent.py``). A packed batch, whose
sequences get shorter, is the same with other sizes of its steps, and a cell is a layer of one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

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


Layer = Callable[[Tensor, State, Sequence[Tensor], Sequence[int]], tuple[Tensor, ...]]
"""Of the elements of all steps, the first states, the weights of all directions, and the number of
elements of each step: the hidden states, and the last states."""


# -- layers ----------------------------------------------------------------------------------
def _run(
    row: str, x: Tensor, state: State, weights: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    """A row of operands that have one dtype on one device, or get it from autocast."""
    if RARE.on:
        x, state, weights = operands_for(row, x, state, tuple(weights))
    for t in (*state, *weights):
        if t._k is not x._k:
            check_device(x, t)
            raise RuntimeError(
                "Input, hidden states and weights of a recurrent layer are of one dtype, but found "
                f"{x.dtype} and {t.dtype}"
            )
    n, inputs = x._s
    for w in weights[:: len(weights) // state[0]._s[0]]:
        if w._s[-1] != inputs:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({n}x{inputs} and {w._s[-1]}x{w._s[0]})"
            )
    made: tuple[Tensor, ...] = core(row)(x, *state, weights, *options)
    return made


def _lstm(
    x: Tensor, state: State, weights: Sequence[Tensor], sizes: Sequence[int]
) -> tuple[Tensor, ...]:
    return _run("lstm_layer", x, state, weights, sizes)[:3]


def _gru(
    x: Tensor, state: State, weights: Sequence[Tensor], sizes: Sequence[int]
) -> tuple[Tensor, ...]:
    return _run("gru_layer", x, state, weights, sizes)[:2]


def _rnn(relu: bool) -> Layer:
    def layer(
        x: Tensor, state: State, weights: Sequence[Tensor], sizes: Sequence[int]
    ) -> tuple[Tensor, ...]:
        if relu and x._k.is_complex:
            raise NotImplementedError("clamp is not supported for complex types")
        return _run("rnn_layer", x, state, weights, relu, sizes)

    return layer


_tanh, _relu = _rnn(False), _rnn(True)


def _check_weights(params: Sequence[Tensor], has_biases: bool, count: int) -> int:
    """How many weights each of *count* layers and directions has."""
    plain = 4 if has_biases else 2
    each, rest = divmod(len(params), count)
    if rest or each not in (plain, plain + 1):
        raise ValueError(
            f"{len(params)} weights were given for {count} layers and directions, of which each "
            f"has {plain}, or {plain + 1} with a projection"
        )
    return each


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
    each = _check_weights(params, has_biases, num_layers * directions)
    _check_states(states, params[:each], num_layers * directions, sizes[0])
    if num_layers == 1:
        return layer(x, states, params, sizes)
    last: list[State] = []
    for at in range(num_layers):
        start = at * directions
        own = tuple(s[start : start + directions] for s in states)
        x, *state = layer(x, own, params[start * each : (start + directions) * each], sizes)
        last.append(tuple(state))
        if dropout and train and at < num_layers - 1:
            x = F.dropout(x, dropout)
    return x, *(FUNCTIONS["cat"](parts) for parts in zip(*last, strict=True))


def _check_states(states: State, weights: Sequence[Tensor], count: int, batch: int) -> None:
    """RuntimeError unless each state has a row for each layer, direction and sequence.

    *weights* are those of the first.
    """
    outputs = weights[1].shape[-1]
    widths = (outputs, weights[-1].shape[-1] if len(weights) % 2 else outputs)
    for k, (state, width) in enumerate(zip(states, widths, strict=False)):
        expected = (count, batch, width)
        if state.shape != expected:
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
        # A batch of one sequence lies as its steps do.
        turns = batch_first and input.shape[0] != 1
        x = input.transpose(0, 1) if turns else input
        steps, batch, size = x.shape
        if batch_first and not turns:
            steps, batch = batch, steps
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        y, *last = _layers(
            layer, x.reshape(steps * batch, size), _states(name, hx, count), params,
            (batch,) * steps, has_biases, num_layers, dropout, train, bidirectional,
        )  # fmt: skip
        if batch_first and not turns:
            return y.view(batch, steps, y.shape[1]), *last
        y = y.view(steps, batch, y.shape[1])
        return y.transpose(0, 1) if turns else y, *last

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
def _check_cell(input: Tensor, states: State, w_ih: Tensor, w_hh: Tensor) -> None:
    """RuntimeError unless input and states have the sizes that the weights of a cell take."""
    n, size = input.shape
    if size != w_ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {size} expected {w_ih.shape[1]}"
        )
    for k, state in enumerate(states):
        if state.shape[0] != n:
            raise RuntimeError(
                f"Input batch size {n} doesn't match hidden{k} batch size {state.shape[0]}"
            )
        if state.shape[1] != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden{k} has inconsistent hidden_size: got {state.shape[1]}, expected "
                f"{w_hh.shape[1]}"
            )


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
        weights = [w_ih, w_hh]
        if b_ih is not None or b_hh is not None:
            weights += [w_ih.new_zeros(len(w_ih)) if b is None else b for b in (b_ih, b_hh)]
        states = _states(name, hx, count)
        _check_cell(input, states, w_ih, w_hh)
        state, n = tuple(s.unsqueeze(0) for s in states), input.shape[0]
        last = tuple(s[0] for s in layer(input, state, weights, (n,))[1:])
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
