"""Padding layers: (before, after) for each dim, the last dim first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._shared import as_tuple
from tensorbus.nn.modules.module import Module


class _Pad(Module):
    """Pads the last ``_dims`` dims in ``_mode``; a number stands for all sides."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(Module):
    _dims: ClassVar[int]

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dim with ``value``."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dims with ``value``: (left, right, top, bottom)."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dims with ``value``."""

    _dims = 3


class _ZeroPad(_Pad):
    _mode = "constant"

    value = 0.0


class ZeroPad1d(_ZeroPad):
    """Pads the last dim with zeros."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dims with zeros: (left, right, top, bottom); negative widths crop.

    Example:
        >>> nn.ZeroPad2d((1, 1, 2, 0))(tensorbus.ones(1, 3, 3)).shape
        torch.Size([1, 5, 5])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dims with zeros."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """Pads the last dim with its mirror image, the edge excluded."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads the last two dims with their mirror image, the edge excluded."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads the last three dims with their mirror image, the edge excluded.

    Example:
        >>> nn.ReflectionPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads the last dim with its edge."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads the last two dims with their edge."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads the last three dims with their edge.

    Example:
        >>> nn.ReplicationPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pads the last dim as if it went round."""

    _dims, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pads the last two dims as if they went round."""

    _dims, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """Pads the last three dims as if they went round.

    Example:
        >>> nn.CircularPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims, _mode = 3, "circular"
