"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._further_pools import (  # PyTorch has them here
    FractionalMaxPool2d as FractionalMaxPool2d,
)
from tensorbus.nn.modules._further_pools import (
    FractionalMaxPool3d as FractionalMaxPool3d,
)
from tensorbus.nn.modules._further_pools import (
    LPPool1d as LPPool1d,
)
from tensorbus.nn.modules._further_pools import (
    LPPool2d as LPPool2d,
)
from tensorbus.nn.modules._further_pools import (
    LPPool3d as LPPool3d,
)
from tensorbus.nn.modules._further_pools import (
    MaxUnpool1d as MaxUnpool1d,
)
from tensorbus.nn.modules._further_pools import (
    MaxUnpool2d as MaxUnpool2d,
)
from tensorbus.nn.modules._further_pools import (
    MaxUnpool3d as MaxUnpool3d,
)
from tensorbus.nn.modules._further_pools import _LPPoolNd, _MaxUnpoolNd  # noqa: F401
from tensorbus.nn.modules._shared import Shown, as_tuple
from tensorbus.nn.modules.utils import _pair, _single, _triple  # noqa: F401 -- PyTorch's names


class _MaxPoolNd(Shown):
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    _function: ClassVar[str]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """Takes the maximum over windows of one dim.

    Args: as for ``MaxPool2d``.

    Shapes: (N, C, L) or (C, L) to the same with a shorter L.
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Takes the maximum over windows of two dims.

    Args:
        kernel_size: size of the window.
        stride: step of the window; its size by default.
        padding: rows of minus infinity added on both sides.
        dilation: distance of the window's elements.
        return_indices: whether to return the flat indices of the maxima too.
        ceil_mode: whether a last, incomplete window counts.

    Shapes: (N, C, H, W) or (C, H, W) to the same with smaller H and W.

    Example:
        >>> nn.MaxPool2d(3, stride=2)(tensorbus.ones(20, 16, 50, 32)).shape
        torch.Size([20, 16, 24, 15])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Takes the maximum over windows of three dims.

    Args: as for ``MaxPool2d``.

    Shapes: (N, C, D, H, W) or (C, D, H, W) to the same with smaller D, H and W.

    Example:
        >>> nn.MaxPool3d((3, 2, 2), stride=(2, 1, 2))(tensorbus.ones(2, 3, 9, 8, 8)).shape
        torch.Size([2, 3, 4, 7, 4])
    """

    _function = "max_pool3d"


class _AvgPoolNd(Shown):
    _shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPoolNd):
    """Takes the mean over windows of one dim.

    Args: as for ``AvgPool2d``.

    Shapes: (N, C, L) or (C, L) to the same with a shorter L.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, 1)
        self.stride = as_tuple(kernel_size if stride is None else stride, 1)
        self.padding = as_tuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _AvgPool(_AvgPoolNd):
    _function: ClassVar[str]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPool):
    """Takes the mean over windows of two dims.

    Args:
        kernel_size: size of the window.
        stride: step of the window; its size by default.
        padding: rows of zeros added on both sides.
        ceil_mode: whether a last, incomplete window counts.
        count_include_pad: whether padding counts as elements of the mean.
        divisor_override: what to divide the sums by instead of the window's size.

    Shapes: (N, C, H, W) or (C, H, W) to the same with smaller H and W.
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """Takes the mean over windows of three dims.

    Args: as for ``AvgPool2d``.

    Shapes: (N, C, D, H, W) or (C, D, H, W) to the same with smaller D, H and W.

    Example:
        >>> nn.AvgPool3d(2)(tensorbus.ones(2, 3, 4, 6, 8)).shape
        torch.Size([2, 3, 2, 3, 4])
    """

    _function = "avg_pool3d"


class _AdaptiveAvgPoolNd(Shown):
    _shown = ("output_size",)
    _function: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Takes means over windows chosen so that the output's last dim has ``output_size``."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Takes means over windows chosen so that the last two dims have ``output_size``.

    Args:
        output_size: (H, W), or one number for both; None keeps the input's size.

    Example:
        >>> nn.AdaptiveAvgPool2d((5, None))(tensorbus.ones(1, 64, 10, 9)).shape
        torch.Size([1, 64, 5, 9])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Takes means over windows chosen so that the last three dims have ``output_size``.

    Example:
        >>> nn.AdaptiveAvgPool3d((5, None, 1))(tensorbus.ones(1, 4, 8, 9, 10)).shape
        torch.Size([1, 4, 5, 9, 1])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(Shown):
    _shown = ("output_size",)
    _function: ClassVar[str]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Takes maxima over windows chosen so that the output's last dim has ``output_size``."""

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Takes maxima over windows chosen so that the last two dims have ``output_size``.

    Args:
        output_size: (H, W), or one number for both; None keeps the input's size.
        return_indices: whether to return the flat indices of the maxima too.
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Takes maxima over windows chosen so that the last three dims have ``output_size``.

    Example:
        >>> nn.AdaptiveMaxPool3d((5, None, 1))(tensorbus.ones(1, 4, 8, 9, 10)).shape
        torch.Size([1, 4, 5, 9, 1])
    """

    _function = "adaptive_max_pool3d"
