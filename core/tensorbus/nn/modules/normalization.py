"""Normalisation within each sample: layer, group and RMS norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter


class _Affine(Module):
    """A norm with a weight that starts at one and a bias that starts at zero."""

    weight: Tensor | None
    bias: Tensor | None

    def _add_parameter(self, name: str, wanted: bool, shape: Any, device: Any, dtype: Any) -> None:
        value = Parameter(tensorbus.empty(shape, device=device, dtype=dtype)) if wanted else None
        self.register_parameter(name, value)

    def reset_parameters(self) -> None:
        """Set weight 1 and bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        bias = self._parameters.get("bias")
        if bias is not None:
            init.zeros_(bias)


class _AcrossChannels(Module):
    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_AcrossChannels):
    """Divides by a power of the squares of the channels around: ``F.local_response_norm``.

    Args:
        size: how many channels count.
        alpha: factor of their mean square.
        beta: the power.
        k: added to the mean square times alpha.

    Shapes: (N, C, ...) to the same.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LocalResponseNorm.html

    Example:
        >>> nn.LocalResponseNorm(2)(tensorbus.ones(32, 5, 24, 24)).shape
        torch.Size([32, 5, 24, 24])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_AcrossChannels):
    """``LocalResponseNorm`` of (N, C, H, W) as it is in models that came from Torch7.

    The sum of squares runs over (size + 1) // 2 - 1 channels to both sides, and is divided by
    ``size``. As in PyTorch the first channel stays in the sums of all that come after it.

    Raises:
        ValueError: an input of another rank.

    Example:
        >>> nn.CrossMapLRN2d(1, alpha=1.0, beta=1.0)(tensorbus.ones(1, 1, 1, 1)).item()
        0.5
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> None:  # fmt: skip
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        c = input.shape[1]
        ahead = (self.size - 1) // 2
        channels = tensorbus.arange(c, device=input.device)
        distance = channels - channels.view(c, 1)
        counted = (distance.abs() <= ahead) | ((channels == 0) & (distance < 0))
        squares = (input * input).flatten(2)
        sums = (counted.to(input.dtype) @ squares).view(input.shape)
        return input * (sums * (self.alpha / self.size) + self.k).pow(-self.beta)


def _as_shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """Normalises over the last dims: y = (x - mean) / sqrt(var + eps) weight + bias.

    Args:
        normalized_shape: the sizes of the dims to normalise over; a number stands for one dim.
        eps: added to the (biased) variance.
        elementwise_affine: whether to learn weight and bias, of that shape.
        bias: with *elementwise_affine*, whether to learn a bias.

    Example:
        >>> nn.LayerNorm(10)(tensorbus.ones(20, 5, 10)).shape
        torch.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_parameter("weight", elementwise_affine, shape, device, dtype)
        self._add_parameter("bias", elementwise_affine and bias, shape, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divides by the root of the mean square over the last dims: y = x / rms(x) weight.

    Args: as for ``LayerNorm``; *eps* None is the machine precision of the input's dtype.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_parameter("weight", elementwise_affine, self.normalized_shape, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Normalises each group of channels of each sample; weight and bias are per channel.

    Args:
        num_groups: number of groups; it divides *num_channels*.
        num_channels: C of the input (N, C, *).
        eps: added to the (biased) variance.
        affine: whether to learn weight and bias.
        bias: with *affine*, whether to learn a bias.

    Raises:
        ValueError: the groups do not divide the channels.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_parameter("weight", affine, num_channels, device, dtype)
        self._add_parameter("bias", affine and bias, num_channels, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}, bias={self.bias is not None}"
        )
