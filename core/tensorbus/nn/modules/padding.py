"""Padding layers: (before, after) for each dim, the last dim first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._shared import as_tuple
from tensorbus.nn.modules.module import Module
from tensorbus.nn.modules.utils import _ntuple, _pair, _quadruple  # noqa: F401 -- PyTorch's names


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


class _ConstantPadNd(Module):
    _dims: ClassVar[int]

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dim with ``value``."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dims with ``value``: (left, right, top, bottom)."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dims with ``value``."""

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dim with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dims with zeros: (left, right, top, bottom); negative widths crop.

    Example:
        >>> nn.ZeroPad2d((1, 1, 2, 0))(tensorbus.ones(1, 3, 3)).shape
        torch.Size([1, 5, 5])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dims with zeros."""


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dim with its mirror image, the edge excluded."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dims with their mirror image, the edge excluded."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dims with their mirror image, the edge excluded.

    Example:
        >>> nn.ReflectionPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dim with its edge."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dims with their edge."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dims with their edge.

    Example:
        >>> nn.ReplicationPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"


class CircularPad1d(_CircularPadNd):
    """Pads the last dim as if it went round."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dims as if they went round."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dims as if they went round.

    Example:
        >>> nn.CircularPad3d(1)(tensorbus.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3
