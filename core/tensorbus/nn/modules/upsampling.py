"""Layers that change the size of lines, planes and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.modules.module import Module


class Upsample(Module):
    """Another size by interpolation: ``F.interpolate``.

    Args:
        size: of the result.
        scale_factor: the result's size as a multiple of the input's; one of both is given.
        mode: nearest, linear, bilinear, bicubic, trilinear, and what ``F.interpolate`` has else.
        align_corners: whether the outermost elements stay in their places.
        recompute_scale_factor: whether the sizes decide where elements lie, not the factor.

    Shapes: (N, C, L), (N, C, H, W) or (N, C, D, H, W) to the same with other sizes.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.Upsample.html

    Example:
        >>> nn.Upsample(scale_factor=2, mode="bilinear")(tensorbus.ones(1, 1, 2, 3)).shape
        torch.Size([1, 1, 4, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Any
        if isinstance(scale_factor, (tuple, list)):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None  # type: ignore[arg-type]
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of planes to the nearest element.

    Example:
        >>> nn.UpsamplingNearest2d(scale_factor=2)(tensorbus.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of planes, bilinear with aligned corners."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
