"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import tensorbus
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules._shared import as_tuple
from tensorbus.nn.modules.module import Module
from tensorbus.nn.modules.utils import (  # noqa: F401 -- names that programs import from here
    _pair,
    _reverse_repeat_tuple,
    _single,
    _triple,
)
from tensorbus.nn.parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: checks, parameters, ``repr``; sizes are tuples."""

    padding: Any
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str = "zeros",  # programs of before 1.1 pass none
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {('same', 'valid')}"
                )
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._pad_widths()
        ends = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (ends[0], ends[1] // groups, *self.kernel_size)
        self.weight = Parameter(tensorbus.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tensorbus.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def _pad_widths(self) -> list[int]:
        """What ``F.pad`` takes for the padding: (before, after) of each dim, the last dim first."""
        widths: list[int] = []
        if not isinstance(self.padding, str):
            return [width for width in reversed(self.padding) for _ in range(2)]
        for dim in reversed(range(len(self.kernel_size))):
            total = self.dilation[dim] * (self.kernel_size[dim] - 1)
            widths += [0, 0] if self.padding == "valid" else [total // 2, total - total // 2]
        return widths

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        if isinstance(self.padding, str) or any(self.padding):
            parts.append(f"padding={self.padding}")
        if any(step != 1 for step in self.dilation):
            parts.append(f"dilation={self.dilation}")
        if any(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution over ``_dims`` dims by the functional ``_function``."""

    _dims: ClassVar[int]
    _function: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
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
            in_channels,
            out_channels,
            as_tuple(kernel_size, self._dims),
            as_tuple(stride, self._dims),
            padding if isinstance(padding, str) else as_tuple(padding, self._dims),
            as_tuple(dilation, self._dims),
            False,
            (0,) * self._dims,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight and bias, for classes that compute them."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._function)(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """Convolves (as cross-correlation) over one dim.

    Args: as for ``Conv2d``.

    Shapes: (N, in_channels, L) or (in_channels, L) to the same with out_channels.
    """

    _dims = 1
    _function = "conv1d"


class Conv2d(_Conv):
    """Convolves (as cross-correlation) over two dims.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the kernel; a number stands for both dims.
        stride: step of the kernel.
        padding: rows added on both sides; 'valid' is none, 'same' keeps the size.
        dilation: distance of the kernel's elements.
        groups: number of blocks of channels that are convolved on their own.
        bias: whether to learn an added bias.
        padding_mode: 'zeros', 'reflect', 'replicate' or 'circular'.

    Shapes: (N, in_channels, H, W) or (in_channels, H, W) to the same with out_channels; each size
    becomes floor((size + 2 padding - dilation (kernel - 1) - 1) / stride + 1).

    Example:
        >>> nn.Conv2d(16, 33, 3, stride=2)(tensorbus.ones(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    _dims = 2
    _function = "conv2d"


class Conv3d(_Conv):
    """Convolves (as cross-correlation) over three dims.

    Args: as for ``Conv2d``.

    Shapes: (N, in_channels, D, H, W) or (in_channels, D, H, W) to the same with out_channels.

    Example:
        >>> nn.Conv3d(2, 3, 3, padding=1)(tensorbus.ones(1, 2, 4, 5, 6)).shape
        torch.Size([1, 3, 4, 5, 6])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv3d.html
    """

    _dims = 3
    _function = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution, which finds its output's size; takes what ``_ConvNd`` takes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str = "zeros",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
            output_padding, groups, bias, padding_mode, *args, **kwargs,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> tuple[int, ...]:
        """What to add at the end of each dim so that the output has *output_size*."""
        if output_size is None:
            return self.output_padding
        count = num_spatial_dims
        steps = (1,) * count if dilation is None else dilation
        leading = input.dim() - count
        wanted = list(output_size)
        if len(wanted) == leading + count:
            wanted = wanted[leading:]
        if len(wanted) != count:
            raise ValueError(
                f"ConvTranspose{count}D: for {input.dim()}D input, output_size must have {count} "
                f"or {leading + count} elements (got {len(wanted)})"
            )
        smallest = [
            (input.size(leading + d) - 1) * stride[d]
            - 2 * padding[d]
            + steps[d] * (kernel_size[d] - 1)
            + 1
            for d in range(count)
        ]
        largest = [low + stride[d] - 1 for d, low in enumerate(smallest)]
        for size, low, high in zip(wanted, smallest, largest, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range "
                    f"from {smallest} to {largest} (for an input of {input.size()[2:]})"
                )
        return tuple(size - low for size, low in zip(wanted, smallest, strict=True))


_ConvTransposeMixin = _ConvTransposeNd


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution over ``_dims`` dims by the functional ``_function``."""

    _dims: ClassVar[int]
    _function: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
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
            in_channels,
            out_channels,
            as_tuple(kernel_size, self._dims),
            as_tuple(stride, self._dims),
            as_tuple(padding, self._dims),
            as_tuple(dilation, self._dims),
            True,
            as_tuple(output_padding, self._dims),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(
                input,
                output_size,
                self.stride,
                self.padding,
                self.kernel_size,
                self._dims,
                self.dilation,
            ),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    """The gradient of ``Conv1d`` with respect to its input, as a layer."""

    _dims = 1
    _function = "conv_transpose1d"


class ConvTranspose2d(_ConvTranspose):
    """The gradient of ``Conv2d`` with respect to its input, as a layer.

    Args: as for ``Conv2d``, and ``output_padding``, the rows added at the end of each dim. A stride
    above 1 leaves several output sizes possible; calling with ``output_size`` picks one.

    Shapes: (N, in_channels, H, W) to (N, out_channels, H', W') with
    H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.
    """

    _dims = 2
    _function = "conv_transpose2d"


class ConvTranspose3d(_ConvTranspose):
    """The gradient of ``Conv3d`` with respect to its input, as a layer.

    Args: as for ``ConvTranspose2d``.

    Example:
        >>> nn.ConvTranspose3d(2, 3, 2, stride=2)(tensorbus.ones(1, 2, 2, 3, 4)).shape
        torch.Size([1, 3, 4, 6, 8])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.ConvTranspose3d.html
    """

    _dims = 3
    _function = "conv_transpose3d"


if not TYPE_CHECKING:  # what PyTorch keeps in this module
    __getattr__ = _attributes(__name__, others=_names_of("tensorbus.nn.modules.lazy_layers"))
