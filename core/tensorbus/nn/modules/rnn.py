"""Recurrent layers and their cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import init
from tensorbus.nn import recurrent_functions as networks
from tensorbus.nn.modules._recurrent import Network, RNNBase
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.nn.utils.rnn import PackedSequence  # noqa: F401 -- PyTorch has it here too

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


class RNN(Network):
    """A recurrent network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step.

    Args:
        input_size: size of x.
        hidden_size: size of h.
        num_layers: layers that stand on each other.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether to learn b_ih and b_hh.
        batch_first: whether input and output are (N, L, size) and not (L, N, size).
        dropout: how likely an element between two layers is zeroed while training.
        bidirectional: whether a second network goes through each sequence from its end.

    Shapes: the input is (L, N, input_size), (L, input_size) or a ``PackedSequence``; the states
    ``hx`` are (layers * directions, N, hidden_size) and zero where none are given. Returns the
    output (L, N, directions * hidden_size) and the last states. Weights are called
    ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, then ``l1`` and so on, with
    ``_reverse`` of the second direction, and are drawn uniformly from ±1/sqrt(hidden_size).

    Example:
        >>> output, last = nn.RNN(10, 20, 2)(tensorbus.ones(5, 3, 10))
        >>> output.shape, last.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.RNN.html
    """

    _after_rank = " tensor"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self._mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(Network):
    """A network of gated recurrent units.

    r, z = sigmoid(W x + b + U h + c), n = tanh(W x + b + r (U h + c)), h' = (1 - z) n + z h; the
    rows of the weights are those of r, z and n. Arguments, shapes and names as of ``RNN``.

    Example:
        >>> output, last = nn.GRU(10, 20, batch_first=True)(tensorbus.ones(3, 5, 10))
        >>> output.shape, last.shape
        (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.GRU.html
    """

    _mode = "GRU"


class LSTM(Network):
    """A network of long short-term memories.

    i, f, o = sigmoid(W x + b + U h + c), g = tanh(W x + b + U h + c), c' = f c + i g,
    h' = o tanh(c'), and with *proj_size* W_hr h' in its place; the rows of the weights are those of
    i, f, g and o. Arguments, shapes and names as of ``RNN``; ``hx`` is the pair of the hidden
    states, (layers * directions, N, proj_size or hidden_size), and those of the cells,
    (layers * directions, N, hidden_size).

    Example:
        >>> output, (h, c) = nn.LSTM(10, 20, bidirectional=True)(tensorbus.ones(5, 3, 10))
        >>> output.shape, h.shape, c.shape
        (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    """

    _mode = "LSTM"
    _projects = True

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the cells' state for an input."""
        return self._state_size(self._batch(input, batch_sizes), self.hidden_size)

    def _states(self, input: Tensor, batch_sizes: Tensor | None) -> list[tuple[str, Any]]:
        return [
            ("hidden[0]", self.get_expected_hidden_size(input, batch_sizes)),
            ("hidden[1]", self.get_expected_cell_size(input, batch_sizes)),
        ]

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return tuple(super(LSTM, self).permute_hidden(state, permutation) for state in hx)

    def _given(self, hx: Sequence[Tensor], batched: bool, packed: bool) -> list[Tensor]:
        h, c = hx
        dims = 3 if batched else 2
        if not packed and (h.dim(), c.dim()) != (dims, dims):
            raise RuntimeError(
                f"For {'' if batched else 'un'}batched {dims}-D input, hx and cx should also be "
                f"{dims}-D but got ({h.dim()}-D, {c.dim()}-D) tensors"
            )
        return [h, c] if batched else [h.unsqueeze(1), c.unsqueeze(1)]

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._call(input, hx)


# -- cells -----------------------------------------------------------------------------------
class RNNCellBase(Module):
    """What the cells share: their weights. *num_chunks*: how many gates a cell has.

    Example:
        >>> nn.modules.rnn.RNNCellBase(10, 20, bias=True, num_chunks=3).weight_ih.shape
        torch.Size([60, 10])
    """

    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in shapes.items():
            setattr(self, name, Parameter(tensorbus.empty(shape, device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(tensorbus.empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, uniformly from ±1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        told = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            told += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            told += f", nonlinearity={self.nonlinearity}"
        return told

    def _batched(self, input: Tensor, states: dict[str, Tensor | None]) -> list[Tensor]:
        """Input and states with a batch; states that are None are zero."""
        name = type(self).__name__
        for told, x in {"input": input, **states}.items():
            if x is not None and x.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {told} to be 1D or 2D, got {x.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        found = [x]
        for state in states.values():
            if state is None:
                shape = (x.shape[0], self.hidden_size)
                found.append(tensorbus.zeros(shape, dtype=x.dtype, device=x.device))
            else:
                found.append(state if batched else state.unsqueeze(0))
        return found

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """One step of a recurrent network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh).

    With *nonlinearity* ``"relu"`` the relu of that. Shapes: x is (N, input_size), h, which is zero
    where it is not given, (N, hidden_size); both without N for one sequence. The weights are called
    ``weight_ih``, ``weight_hh``, ``bias_ih`` and ``bias_hh``.

    Example:
        >>> nn.RNNCell(10, 20)(tensorbus.ones(3, 10)).shape
        torch.Size([3, 20])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.RNNCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, h = self._batched(input, {"hidden": hx})
        cells = {"tanh": networks.rnn_tanh_cell, "relu": networks.rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        made = cells[self.nonlinearity](x, h, *self._weights())
        return made if input.dim() == 2 else made.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of a ``GRU``. Shapes and names as of ``RNNCell``.

    Example:
        >>> nn.GRUCell(10, 20)(tensorbus.ones(3, 10)).shape
        torch.Size([3, 20])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.GRUCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, h = self._batched(input, {"hidden": hx})
        made = networks.gru_cell(x, h, *self._weights())
        return made if input.dim() == 2 else made.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an ``LSTM``: the pair of the hidden state and the cells' state.

    ``hx`` is such a pair. Shapes and names as of ``RNNCell``.

    Example:
        >>> h, c = nn.LSTMCell(10, 20)(tensorbus.ones(3, 10))
        >>> h.shape, c.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = (None, None) if hx is None else hx
        x, *states = self._batched(input, {"hx[0]": h, "hx[1]": c})
        h, c = networks.lstm_cell(x, states, *self._weights())
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The elements of *tensor* along *dim* in the order of *permutation*; ``index_select``."""
    warn_user(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
        "instead",
        FutureWarning,
    )
    return tensor.index_select(dim, permutation)
