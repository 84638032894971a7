"""Layers that infer the number of channels or features from their first input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from tensorbus.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tensorbus.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from tensorbus.nn.modules.lazy import LazyModuleMixin
from tensorbus.nn.modules.linear import Linear

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class _LazyLayer(LazyModuleMixin):
    """A layer whose *_inferred* attribute is 0 until the first input says what it is."""

    _inferred: str

    def reset_parameters(self: Any) -> None:
        """Draw new initial values, if there are parameters to draw them for."""
        if getattr(self, self._inferred) != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]


def _await(layer: Any, names: Sequence[str], device: Any, dtype: Any) -> None:
    for name in names:
        setattr(layer, name, tensorbus.nn.UninitializedParameter(device=device, dtype=dtype))


class LazyLinear(_LazyLayer, Linear):
    """A ``Linear`` that infers ``in_features`` from its first input.

    Args: as for ``Linear``, without the first.

    Example:
        >>> layer = nn.LazyLinear(3)
        >>> layer.weight
        <UninitializedParameter>
        >>> layer(tensorbus.ones(2, 5)).shape
        torch.Size([2, 3])
        >>> layer
        Linear(in_features=5, out_features=3, bias=True)
    """

    _inferred = "in_features"
    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        _await(self, ("weight", "bias") if bias else ("weight",), device, dtype)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Infer ``in_features`` from *input* and draw initial values."""
        if self.has_uninitialized_params():
            with tensorbus.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            inferred, known = input.shape[-1], self.weight.shape[-1]
            if inferred != known:
                raise AssertionError(
                    f"The in_features inferred from input: {inferred} is not equal to in_features "
                    f"from self.weight: {known}"
                )
            self.in_features = inferred


class _LazyChannels(_LazyLayer):
    """What lazy convolutions share; they come before the class of the convolution."""

    _inferred = "in_channels"

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Infer ``in_channels`` from *input* and draw initial values."""
        if not self.has_uninitialized_params():
            return
        unbatched = self._dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-unbatched]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        ends = self.out_channels, self.in_channels
        first, second = ends[::-1] if self.transposed else ends
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _start(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        _await(self, ("weight", "bias") if bias else ("weight",), device, dtype)


class _LazyConv(_LazyChannels):
    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )  # fmt: skip
        self._start(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyChannels):
    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode,
        )  # fmt: skip
        self._start(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A ``Conv1d`` that infers ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A ``Conv2d`` that infers ``in_channels`` from its first input.

    Args: as for ``Conv2d``, without the first.

    Example:
        >>> layer = nn.LazyConv2d(4, 3)
        >>> layer(tensorbus.ones(2, 5, 8, 8)).shape
        torch.Size([2, 4, 6, 6])
        >>> layer
        Conv2d(5, 4, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A ``Conv3d`` that infers ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ``ConvTranspose1d`` that infers ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ``ConvTranspose2d`` that infers ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ``ConvTranspose3d`` that infers ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(_LazyLayer):
    """What lazy normalisations share; they come before the class of the normalisation."""

    _inferred = "num_features"
    num_batches_tracked: Tensor | None

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            _await(self, ("weight", "bias") if bias else ("weight",), device, dtype)
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                buffer = tensorbus.nn.UninitializedBuffer(device=device, dtype=dtype)
                setattr(self, name, buffer)
            self.num_batches_tracked = tensorbus.tensor(0, dtype=tensorbus.int64, device=device)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Infer ``num_features`` from *input*."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for name in ("weight", "bias", "running_mean", "running_var"):
            if (own := getattr(self, name)) is not None:
                own.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A ``BatchNorm1d`` that infers ``num_features`` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A ``BatchNorm2d`` that infers ``num_features`` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A ``BatchNorm3d`` that infers ``num_features`` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An ``InstanceNorm1d`` that infers ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An ``InstanceNorm2d`` that infers ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An ``InstanceNorm3d`` that infers ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
