"""What the recurrent layers share: their weights, checks and calls."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorbus
from tensorbus._base.modes import OVERRIDES, RARE
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.nn import init
from tensorbus.nn import recurrent_functions as networks
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.nn.utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_NETWORKS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "LSTM": networks.lstm,
    "GRU": networks.gru,
    "RNN_TANH": networks.rnn_tanh,
    "RNN_RELU": networks.rnn_relu,
}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: their weights, and how input and states are checked.

    *mode* is one of ``LSTM``, ``GRU``, ``RNN_TANH`` and ``RNN_RELU``; the other arguments are those
    of the layers. TypeError and ValueError for arguments that no network has.

    Example:
        >>> nn.RNNBase("GRU", 10, 20)
        RNNBase(10, 20)
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = _GATES[mode] * hidden_size
        outputs = proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in (f"l{layer}", f"l{layer}_reverse")[:directions]:
                inputs = input_size if layer == 0 else outputs * directions
                shapes: dict[str, tuple[int, ...]] = {
                    f"weight_ih_{suffix}": (gates, inputs),
                    f"weight_hh_{suffix}": (gates, outputs),
                }
                if bias:
                    shapes |= {f"bias_ih_{suffix}": (gates,), f"bias_hh_{suffix}": (gates,)}
                if proj_size:
                    shapes[f"weight_hr_{suffix}"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    made = tensorbus.empty(shape, device=device, dtype=dtype)
                    setattr(self, name, Parameter(made))
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1 or dropout is True:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        own: dict[str, Any] = self._parameters  # asked first, as attributes are found last there
        return [
            own[name] if name in own else getattr(self, name)
            for names in self._all_weights
            for name in names
        ]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: only cuDNN wants its weights in one piece."""

    def reset_parameters(self) -> None:
        """Draw new initial values, uniformly from ±1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # -- checks ------------------------------------------------------------------------------
    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError for another dtype than the weights', RuntimeError for other sizes."""
        own = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype is not own and not tensorbus.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert "
                f"input: input.to({own}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.shape[-1]}"
            )

    def _state_size(self, batch: int, size: int) -> tuple[int, int, int]:
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.shape[0 if self.batch_first else 1]

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the hidden state for an input."""
        return self._state_size(self._batch(input, batch_sizes), self.proj_size or self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """RuntimeError, with *msg*, for a state of another shape."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states of a batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- calls -------------------------------------------------------------------------------
    def _states(self, input: Tensor, batch_sizes: Tensor | None) -> list[tuple[str, Any]]:
        """What each state is called in an error, and its shape."""
        return [("hidden", self.get_expected_hidden_size(input, batch_sizes))]

    def _call(
        self, input: Any, hx: Sequence[Tensor] | None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, ...]]:
        if isinstance(input, PackedSequence):
            x, sizes, order, restored = input
            batched = True
        else:
            x, sizes, order, restored = input, None, None, None
            if x.dim() not in (2, 3):
                raise ValueError(self._wrong_rank(x.dim()))
            batched = x.dim() == 3
            if not batched:
                x = x.unsqueeze(0 if self.batch_first else 1)
        shapes = self._states(x, sizes)
        if hx is None:
            self.check_input(x, sizes)
            sizes_of = [n for _, n in shapes]  # states of one size may be the same zeros
            made = {n: _zeros(x, n) for n in set(sizes_of)}
            states = [made[n] for n in sizes_of]
        else:
            states = self._given(hx, batched, sizes is not None)
            self.check_input(x, sizes)
            for state, (name, shape) in zip(states, shapes, strict=True):
                self.check_hidden_size(state, shape, f"Expected {name} size {{}}, got {{}}")
            states = [s if order is None else s.index_select(1, order) for s in states]
        network = _NETWORKS[self.mode]
        given = states if len(states) > 1 else states[0]
        options = (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        if sizes is None:
            output, *last = network(x, given, *options, self.batch_first)
        else:
            output, *last = network(x, sizes, given, *options)
            output = PackedSequence(output, sizes, order, restored)  # type: ignore[assignment]
        if not batched:
            output, last = output.squeeze(0 if self.batch_first else 1), [s[:, 0] for s in last]
        if restored is not None:
            last = [s.index_select(1, restored) for s in last]
        return output, tuple(last)

    _after_rank = ""

    def _wrong_rank(self, dims: int) -> str:
        name = type(self).__name__
        return f"{name}: Expected input to be 2D or 3D, got {dims}D{self._after_rank} instead"

    def _given(self, hx: Sequence[Tensor], batched: bool, packed: bool) -> list[Tensor]:
        """The states that a caller gave, with a batch."""
        (state,) = hx
        dims = 3 if batched else 2
        if not packed and state.dim() != dims:
            raise RuntimeError(
                f"For {'' if batched else 'un'}batched {dims}-D input, hx should also be {dims}-D "
                f"but got {state.dim()}-D tensor"
            )
        return [state if batched else state.unsqueeze(1)]

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        output, (last,) = self._call(input, None if hx is None else (hx,))
        return output, last

    def extra_repr(self) -> str:
        told = f"{self.input_size}, {self.hidden_size}"
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                told += f", {name}={value}"
        return told


def _zeros(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A state of zeros for an input; the public function where somebody may see its call."""
    if RARE.on or OVERRIDES.on:
        return tensorbus.zeros(shape, dtype=x.dtype, device=x.device)
    return from_array(x._k.zeros(shape), x._k)


class Network(RNNBase):
    """A network whose class says its mode."""

    _mode: str
    _projects = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if proj_size is not None and not self._projects:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__(
            self._mode, input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size or 0, device, dtype,
        )  # fmt: skip


_KINDS = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
_DEFAULTS = {
    "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
    "bidirectional": False,
}  # fmt: skip
