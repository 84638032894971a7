"""Pooling layers of other kinds: unpooling, norms, windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules._shared import Shown, as_tuple
from tensorbus.nn.modules.module import Module


class _MaxUnpoolNd(Shown):
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


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the results of ``MaxPool1d`` back to where they came from, among zeros.

    Called with the maxima, their indices, and where several sizes have the same pool, the size.

    Shapes: (N, C, L) or (C, L), *indices* the same, to a longer L.
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """``MaxUnpool1d`` for (N, C, H, W) or (C, H, W).

    Args: as for the pool.

    Example:
        >>> y, i = nn.MaxPool2d(2, return_indices=True)(tensorbus.eye(2).unsqueeze(0))
        >>> nn.MaxUnpool2d(2)(y, i).tolist()
        [[[1.0, 0.0], [0.0, 0.0]]]
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """``MaxUnpool1d`` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _LPPoolNd(Shown):
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


class LPPool1d(_LPPoolNd):
    """Takes the ``norm_type``-norm over windows of (N, C, L) or (C, L)."""

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Takes the ``norm_type``-norm over windows of (N, C, H, W) or (C, H, W).

    Example:
        >>> nn.LPPool2d(2, 2)(tensorbus.ones(1, 1, 2, 2)).item()
        2.0
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
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
        **given: Tensor | None,
    ) -> None:
        super().__init__()
        samples = given.pop("_random_samples", None)
        if given:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                f"'{next(iter(given))}'"
            )
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", samples)
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
