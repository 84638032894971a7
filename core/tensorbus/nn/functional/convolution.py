"""Convolutions of one, two and three dimensions, and their transposes."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import check_same_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import ints
from tensorbus.ops.nn.convolution import clipped, out_size

Ints = tuple[int, ...]

_SIDES = ("depth", "height", "width")


def _node(spatial: int) -> Any:
    """The name of the node, for PyTorch squeezes what came without a batch."""

    def name(input: Tensor, *_: Any, **__: Any) -> str:
        return "ConvolutionBackward0" if len(input._s) == spatial + 2 else "SqueezeBackward1"

    return name


@composed(layout="channels_last", autocast="lower")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with (O, C / groups, kh, kw)."""
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composed(layout="channels_last", autocast="lower")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with (O, C / groups, kd, kh, kw)."""
    return _convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composed(node=_node(1), autocast="lower")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with (O, C / groups, k)."""
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composed(node="ConvTbcBackward0", autocast="lower")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` of (L, N, C) with (k, C, O)."""
    if len(input._s) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(weight._s) != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if len(bias._s) != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    y = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return y.permute(2, 0, 1)


@composed(node=_node(2), layout="channels_last", autocast="lower")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of ``conv2d``: (N, C, H, W) with (C, O / groups, kh, kw)."""
    name = "conv_transpose2d"
    return _transpose(
        name, 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composed(node=_node(3), layout="channels_last", autocast="lower")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of ``conv3d``: (N, C, D, H, W) with (C, O / groups, kd, kh, kw)."""
    name = "conv_transpose3d"
    return _transpose(
        name, 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composed(node=_node(1), autocast="lower")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of ``conv1d``."""
    name = "conv_transpose1d"
    return _transpose(
        name, 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def _convolution(
    name: str,
    spatial: int,
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    _check_operands(name, spatial, x, w, b)
    stride = ints(name, "stride", stride, spatial)
    dilation = ints(name, "dilation", dilation, spatial)
    kernel = w._s[2:]
    if isinstance(padding, str):
        padding, behind = _named_padding(padding, kernel, stride, dilation)
    else:
        padding, behind = ints(name, "padding", padding, spatial), (0,) * spatial
    _check_settings(w, stride, padding, (0,), dilation, groups)
    channels = x._s[-spatial - 1]
    if w._s[1] * groups != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w._s)}, expected input{list(x._s)} to "
            f"have {w._s[1] * groups} channels, but got {channels} channels instead"
        )
    _check_bias(f"weight of size {list(w._s)}", b, w._s[0])
    if any(behind):
        from tensorbus.nn.functional.padding import padded

        x = padded(x, tuple(n for d in behind[::-1] for n in (0, d)), "constant", None)
    sizes = x._s[-spatial:]
    for d in range(spatial):
        if out_size(sizes[d], kernel[d], stride[d], padding[d], dilation[d]) < 1:
            wide = " x ".join(str(n + 2 * p) for n, p in zip(sizes, padding, strict=True))
            reach = " x ".join(str(s * (k - 1) + 1) for s, k in zip(dilation, kernel, strict=True))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({wide}). Kernel size: ({reach}). "
                "Kernel size can't be greater than actual input size"
            )
    stride = clipped(stride, sizes, padding, kernel)
    dilation = tuple(d if k > 1 else 1 for d, k in zip(dilation, kernel, strict=True))
    if not channels:
        return _of_no_channels(x, w, b, [
            out_size(sizes[d], kernel[d], stride[d], padding[d], dilation[d])
            for d in range(spatial)
        ])  # fmt: skip
    if not sizes.numel():
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(x._s)}"
        )
    setting = (_per_side(stride, 1), _per_side(padding, 0), _per_side(dilation, 1), groups)
    return _lifted(
        spatial, x, w, lambda batch, kernels: core("convolution")(batch, kernels, b, *setting)
    )


def _transpose(
    name: str,
    spatial: int,
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    _check_operands(name, spatial, x, w, b)
    if not w._s[1]:
        raise RuntimeError(f"{name}: weight should have elements, but is of size {list(w._s)}")
    stride = ints(name, "stride", stride, spatial)
    dilation = ints(name, "dilation", dilation, spatial)
    padding = ints(name, "padding", padding, spatial)
    extra = ints(name, "output_padding", output_padding, spatial)
    _check_settings(w, stride, padding, extra, dilation, groups)
    channels = x._s[-spatial - 1]
    given = f"transposed=1, weight of size {list(w._s)}"
    if w._s[0] != channels:
        raise RuntimeError(
            f"Given {given}, expected input{list(x._s)} to have {w._s[0]} channels, but got "
            f"{channels} channels instead"
        )
    _check_bias(given, b, w._s[1] * groups)
    if any(extra[d] >= stride[d] and extra[d] >= dilation[d] for d in range(spatial)):
        listed = [
            f"{what}_{side}: {values[d]}"
            for what, values in (
                ("output_padding", extra),
                ("stride", stride),
                ("dilation", dilation),
            )
            for d, side in enumerate(_SIDES[-spatial:])
        ]
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(listed)
        )
    sizes, kernel = x._s[-spatial:], w._s[2:]
    size = tuple(
        (sizes[d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) + extra[d] + 1
        for d in range(spatial)
    )
    if min(size) < 1 or min(sizes) < 1:
        raise RuntimeError(
            f"Given input size per channel: {_by(sizes)}. Calculated output size per channel: "
            f"{_by(size)}. Output size is too small"
        )
    # More than a stride on top is under no window: the planes are computed whole, then cut.
    cut = any(extra[d] >= stride[d] for d in range(spatial))
    around = (0,) * spatial if cut else padding
    planes = tuple(
        n + 2 * p - e if cut else n for n, p, e in zip(size, padding, extra, strict=True)
    )
    stride = clipped(stride, planes, around, kernel)
    spread = core("conv3d_input" if spatial == 3 else "conv2d_input")
    setting = (_per_side(stride, 1), _per_side(around, 0), _per_side(dilation, 1), groups)
    size = _per_side(planes, 1)
    r = _lifted(spatial, x, w, lambda batch, kernels: spread(batch, kernels, size, *setting))
    if cut:
        from tensorbus.nn.functional.padding import padded

        ends = zip(padding[::-1], extra[::-1], strict=True)
        r = padded(r, tuple(n for p, e in ends for n in (-p, e - p)), "constant", None)
    return r if b is None else r + b.view(-1, *(1,) * spatial)


def _of_no_channels(x: Tensor, w: Tensor, b: Tensor | None, size: list[int]) -> Tensor:
    """Planes without channels, as PyTorch has it; the operands get gradients of zeros."""
    lead = x._s[: -len(size) - 1]
    tied = x.sum() + w.sum()
    return x.new_empty((*lead, 0, *size)) + (tied if b is None else tied + b.sum())


def _lifted(spatial: int, x: Tensor, w: Tensor, f: Any) -> Tensor:
    """What *f* makes of a batch of planes: one dimension counts as planes of one row."""
    unbatched = len(x._s) == spatial + 1
    if unbatched:
        x = x.unsqueeze(0)
    r = f(x.unsqueeze(-2), w.unsqueeze(-2)).squeeze(-2) if spatial == 1 else f(x, w)
    return r.squeeze(0) if unbatched else r


def _per_side(values: Ints, first: int) -> Ints:
    """The values for each dimension of planes or volumes, where one was a line."""
    return (first, *values) if len(values) == 1 else values


def _by(sizes: Any) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def _named_padding(padding: str, kernel: Any, stride: Ints, dilation: Ints) -> tuple[Ints, Ints]:
    """Padding on both sides, and what comes on top of it behind."""
    if padding == "valid":
        return (0,) * len(stride), (0,) * len(stride)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'. Use 'valid' or 'same'.")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return tuple(n // 2 for n in total), tuple(n % 2 for n in total)


# -- checks ----------------------------------------------------------------------------------
def _check_operands(name: str, spatial: int, x: Tensor, w: Tensor, b: Tensor | None) -> None:
    if len(x._s) not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but "
            f"got input of size: {list(x._s)}"
        )
    if len(w._s) != spatial + 2 or not w._s[2:].numel():
        raise RuntimeError(
            f"{name}: weight should have {spatial + 2} dimensions, and kernels greater than zero, "
            f"but got weight of size {list(w._s)}"
        )
    check_same_kind(x, w, b)


def _check_settings(
    w: Tensor, stride: Ints, padding: Ints, extra: Ints, dilation: Ints, groups: int
) -> None:
    if max(padding) >= 1 << 62:
        raise RuntimeError(
            f"padding is at most {(1 << 62) - 1}, for both sides count, but got {list(padding)}"
        )
    if min(padding) < 0:
        raise RuntimeError(f"negative padding is not supported, but got padding={list(padding)}")
    if min(extra) < 0:
        raise RuntimeError(
            f"negative output_padding is not supported, but got output_padding={list(extra)}"
        )
    if min(stride) < 1:
        raise RuntimeError(f"non-positive stride is not supported, but got stride={list(stride)}")
    if min(dilation) < 1:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups < 1:
        raise RuntimeError(f"non-positive groups is not supported, but got groups={groups}")
    if w._s[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(w._s)} instead"
        )
    if w._s[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w._s)}] instead"
        )


def _check_bias(given: str, b: Tensor | None, channels: int) -> None:
    if b is not None and (len(b._s) != 1 or b._s[0] != channels):
        raise RuntimeError(
            f"Given {given}, expected bias to be 1-dimensional with {channels} elements, but got "
            f"bias of size {list(b._s)} instead"
        )
