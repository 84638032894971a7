"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._shared import Shown, as_tuple
from tensorbus.nn.modules.module import Module


class _MaxPool(Shown):
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


class MaxPool1d(_MaxPool):
    """Takes the maximum over windows of one dim.

    Args: as for ``MaxPool2d``.

    Shapes: (N, C, L) or (C, L) to the same with a shorter L.
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPool):
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


class MaxPool3d(_MaxPool):
    """Takes the maximum over windows of three dims.

    Args: as for ``MaxPool2d``.

    Shapes: (N, C, D, H, W) or (C, D, H, W) to the same with smaller D, H and W.

    Example:
        >>> nn.MaxPool3d((3, 2, 2), stride=(2, 1, 2))(tensorbus.ones(2, 3, 9, 8, 8)).shape
        torch.Size([2, 3, 4, 7, 4])
    """

    _function = "max_pool3d"


class AvgPool1d(Shown):
    """Takes the mean over windows of one dim.

    Args: as for ``AvgPool2d``.

    Shapes: (N, C, L) or (C, L) to the same with a shorter L.
    """

    _shown = ("kernel_size", "stride", "padding")

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


class _AvgPool(Shown):
    _shown = ("kernel_size", "stride", "padding")
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


class _AdaptiveAvgPool(Shown):
    _shown = ("output_size",)
    _function: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Takes means over windows chosen so that the output's last dim has ``output_size``."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Takes means over windows chosen so that the last two dims have ``output_size``.

    Args:
        output_size: (H, W), or one number for both; None keeps the input's size.

    Example:
        >>> nn.AdaptiveAvgPool2d((5, None))(tensorbus.ones(1, 64, 10, 9)).shape
        torch.Size([1, 64, 5, 9])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Takes means over windows chosen so that the last three dims have ``output_size``.

    Example:
        >>> nn.AdaptiveAvgPool3d((5, None, 1))(tensorbus.ones(1, 4, 8, 9, 10)).shape
        torch.Size([1, 4, 5, 9, 1])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPool(Shown):
    _shown = ("output_size",)
    _function: ClassVar[str]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Takes maxima over windows chosen so that the output's last dim has ``output_size``."""

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Takes maxima over windows chosen so that the last two dims have ``output_size``.

    Args:
        output_size: (H, W), or one number for both; None keeps the input's size.
        return_indices: whether to return the flat indices of the maxima too.
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Takes maxima over windows chosen so that the last three dims have ``output_size``.

    Example:
        >>> nn.AdaptiveMaxPool3d((5, None, 1))(tensorbus.ones(1, 4, 8, 9, 10)).shape
        torch.Size([1, 4, 5, 9, 1])
    """

    _function = "adaptive_max_pool3d"


class _MaxUnpool(Shown):
    _shown = ("kernel_size", "stride", "padding")
    _dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.stride = as_tuple(kernel_size if stride is None else stride, self._dims)
        self.padding = as_tuple(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """Puts the results of ``MaxPool1d`` back to where they came from, among zeros.

    Called with the maxima, their indices, and where several sizes have the same pool, the size.

    Shapes: (N, C, L) or (C, L), *indices* the same, to a longer L.
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpool):
    """``MaxUnpool1d`` for (N, C, H, W) or (C, H, W).

    Args: as for the pool.

    Example:
        >>> y, i = nn.MaxPool2d(2, return_indices=True)(tensorbus.eye(2).unsqueeze(0))
        >>> nn.MaxUnpool2d(2)(y, i).tolist()
        [[[1.0, 0.0], [0.0, 0.0]]]
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpool):
    """``MaxUnpool1d`` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _LPPool(Shown):
    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")
    _function: ClassVar[str]

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPool):
    """Takes the ``norm_type``-norm over windows of (N, C, L) or (C, L)."""

    _function = "lp_pool1d"


class LPPool2d(_LPPool):
    """Takes the ``norm_type``-norm over windows of (N, C, H, W) or (C, H, W).

    Example:
        >>> nn.LPPool2d(2, 2)(tensorbus.ones(1, 1, 2, 2)).item()
        2.0
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPool):
    """Takes the ``norm_type``-norm over windows of (N, C, D, H, W) or (C, D, H, W)."""

    _function = "lp_pool3d"


class _FractionalMaxPool(Module):
    _dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else as_tuple(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else as_tuple(output_ratio, self._dims)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"fractional_max_pool{self._dims}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Takes the maximum over windows at random places of two dims (arXiv:1412.6071).

    Args:
        kernel_size: size of the window.
        output_size: size of the result.
        output_ratio: the result's size as a part of the input's, below 1.
        return_indices: whether to return the flat indices of the maxima too.

    Example:
        >>> nn.FractionalMaxPool2d(3, output_ratio=0.5)(tensorbus.ones(2, 3, 8, 9)).shape
        torch.Size([2, 3, 4, 4])
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """``FractionalMaxPool2d`` for three dims."""

    _dims = 3
