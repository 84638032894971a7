"""Convolution and pools."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import check_same_kind, refuse_complex
from tensorbus.op_engine.generate import core
from tensorbus.ops.nn.convolution import out_size
from tensorbus.ops.nn.pooling import pooled_size

Pair = tuple[int, int]


def _pair(value: Any, name: str, what: str) -> Pair:
    if isinstance(value, int):
        return value, value
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values[0], values[0]
    if len(values) != 2:
        raise RuntimeError(f"{name}: {what} must be an int or two ints, got {values}")
    return values[0], values[1]


def _check_conv(
    name: str, spatial: int, x: Tensor, w: Tensor, b: Tensor | None, groups: int
) -> None:
    if x.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but "
            f"got input of size: {list(x.shape)}"
        )
    channels = x.shape[-spatial - 1]
    if w.shape[1] * groups != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input"
            f"{list(x.shape)} to have {w.shape[1] * groups} channels, but got {channels} channels "
            "instead"
        )
    if w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w.shape)}] instead"
        )
    if b is not None and (b.dim() != 1 or b.shape[0] != w.shape[0]):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
            f"{w.shape[0]} elements, but got bias of size {list(b.shape)} instead"
        )
    check_same_kind(x, w, b)


def _padding(padding: Any, kernel: Pair, stride: Pair, dilation: Pair) -> tuple[Pair, Pair]:
    """Padding before, and what comes on top of it behind."""
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding == "same":
        if stride != (1, 1):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return (total[0] // 2, total[1] // 2), (total[0] % 2, total[1] % 2)
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'. Use 'valid' or 'same'.")
    return _pair(padding, "conv", "padding"), (0, 0)


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
    _check_conv("conv2d", 2, input, weight, bias, groups)
    stride, dilation = _pair(stride, "conv2d", "stride"), _pair(dilation, "conv2d", "dilation")
    kernel = (weight._s[2], weight._s[3])
    before, behind = _padding(padding, kernel, stride, dilation)
    if behind != (0, 0):
        input = pad(input, (0, behind[1], 0, behind[0]))
    for d in (0, 1):
        extent = input._s[-2 + d]
        if out_size(extent, kernel[d], stride[d], before[d], dilation[d]) < 1:
            reach = [dilation[e] * (kernel[e] - 1) + 1 for e in (0, 1)]
            padded = [input._s[-2 + e] + 2 * before[e] for e in (0, 1)]
            raise RuntimeError(
                f"Calculated padded input size per channel: ({padded[0]} x {padded[1]}). "
                f"Kernel size: ({reach[0]} x {reach[1]}). Kernel size can't be greater than actual "
                "input size"
            )
    if len(input._s) == 3:
        batch = input.unsqueeze(0)
        return core("convolution")(batch, weight, bias, stride, before, dilation, groups).squeeze(0)
    return core("convolution")(input, weight, bias, stride, before, dilation, groups)


def _one(value: Any) -> int:
    return value if isinstance(value, int) else int(value[0])


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
    _check_conv("conv1d", 1, input, weight, bias, groups)
    flat = input.unsqueeze(-2)
    around = padding if isinstance(padding, str) else (0, _one(padding))
    made = conv2d(
        flat, weight.unsqueeze(-2), bias, (1, _one(stride)), around, (1, _one(dilation)), groups
    )
    return made.squeeze(-2)


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
    if input.dim() == 3:
        batch = input.unsqueeze(0)
        return conv_transpose2d(
            batch, weight, bias, stride, padding, output_padding, groups, dilation
        ).squeeze(0)
    if input.dim() != 4 or input.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input"
            f"{list(input.shape)} to have {weight.shape[0]} channels, but got "
            f"{input.shape[1] if input.dim() > 1 else 1} channels instead"
        )
    check_same_kind(input, weight, bias)
    name = "conv_transpose2d"
    stride, dilation = _pair(stride, name, "stride"), _pair(dilation, name, "dilation")
    around, extra = _pair(padding, name, "padding"), _pair(output_padding, name, "output_padding")
    for d in (0, 1):
        if extra[d] >= stride[d] and extra[d] >= dilation[d]:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding_height: {extra[0]} output_padding_width: {extra[1]} "
                f"stride_height: {stride[0]} stride_width: {stride[1]} "
                f"dilation_height: {dilation[0]} dilation_width: {dilation[1]}"
            )
    size = tuple(
        (input.shape[2 + d] - 1) * stride[d]
        - 2 * around[d]
        + dilation[d] * (weight.shape[2 + d] - 1)
        + extra[d]
        + 1
        for d in (0, 1)
    )
    r = core("conv2d_input")(input, weight, size, stride, around, dilation, groups)
    return r if bias is None else r + bias.view(1, -1, 1, 1)


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
    return conv_transpose2d(
        input.unsqueeze(-2),
        weight.unsqueeze(-2),
        bias,
        (1, _one(stride)),
        (0, _one(padding)),
        (0, _one(output_padding)),
        groups,
        (1, _one(dilation)),
    ).squeeze(-2)


# -- pools -----------------------------------------------------------------------------------
def _pool_settings(
    name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> tuple[Pair, Pair, Pair, Pair]:
    if x.dim() not in (3, 4):
        raise RuntimeError(
            f"{name}(): Expected 3D or 4D input, but got input of size: {list(x.shape)}"
        )
    kernel = _pair(kernel, name, "kernel_size")
    stride = kernel if stride is None or stride == [] else _pair(stride, name, "stride")
    padding, dilation = _pair(padding, name, "padding"), _pair(dilation, name, "dilation")
    if min(kernel) < 1 or min(stride) < 1:
        raise RuntimeError(
            f"{name}: kernel size and stride should be greater than zero, but got kernel "
            f"{kernel} and stride {stride}"
        )
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got "
            f"pad={max(padding)}, kernel_size={kernel[0]} and dilation={dilation[0]}"
        )
    h, w = x.shape[-2:]
    sizes = [
        pooled_size(n, kernel[d], stride[d], padding[d], dilation[d], ceil)
        for d, n in enumerate((h, w))
    ]
    if min(sizes) < 1:
        c = x.shape[-3]
        raise RuntimeError(
            f"Given input size: ({c}x{h}x{w}). Calculated output size: "
            f"({c}x{sizes[0]}x{sizes[1]}). Output size is too small"
        )
    return kernel, stride, padding, dilation


def _planes(x: Tensor) -> Tensor:
    return x.unsqueeze(0) if x.dim() == 3 else x


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the planes, and its place where asked for."""
    kernel, stride, padding, dilation = _pool_settings(
        "max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode
    )
    x = _planes(input)
    y = core("max_pool2d")(x, kernel, stride, padding, dilation, ceil_mode)
    if not return_indices:
        return y if x is input else y.squeeze(0)
    i = core("max_pool2d_indices")(x, kernel, stride, padding, dilation, ceil_mode)
    return (y, i) if x is input else (y.squeeze(0), i.squeeze(0))


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of (N, C, L) or (C, L)."""
    step = _one(kernel_size) if stride is None or stride == [] else _one(stride)
    found = max_pool2d(
        input.unsqueeze(-2),
        (1, _one(kernel_size)),
        (1, step),
        (0, _one(padding)),
        (1, _one(dilation)),
        ceil_mode,
        return_indices,
    )
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean over windows of the planes."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, stride, padding, _ = _pool_settings(
        "avg_pool2d", input, kernel_size, stride, padding, 1, ceil_mode
    )
    refuse_complex("avg_pool2d", input)
    x = _planes(input)
    y = core("avg_pool2d")(
        x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return y if x is input else y.squeeze(0)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean over windows of (N, C, L) or (C, L)."""
    step = _one(kernel_size) if stride is None or stride == [] else _one(stride)
    return avg_pool2d(
        input.unsqueeze(-2),
        (1, _one(kernel_size)),
        (1, step),
        (0, _one(padding)),
        ceil_mode,
        count_include_pad,
    ).squeeze(-2)


def _bins(n: int, size: int) -> list[tuple[int, int]]:
    return [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]


def _adaptive_size(output_size: Any, x: Tensor, spatial: int) -> tuple[int, ...]:
    given = (output_size,) * spatial if isinstance(output_size, int) else tuple(output_size)
    own = x.shape[-spatial:]
    return tuple(own[d] if n is None else n for d, n in enumerate(given))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows chosen so that the result has a given size."""
    refuse_complex("adaptive_avg_pool2d", input)
    oh, ow = _adaptive_size(output_size, input, 2)
    h, w = input.shape[-2:]
    if h % oh == 0 and w % ow == 0:
        return avg_pool2d(input, (h // oh, w // ow))
    return (
        _average_matrix(input, h, oh, -2)
        if (w == ow)
        else _average_matrix(_average_matrix(input, h, oh, -2), w, ow, -1)
    )


def _average_matrix(x: Tensor, n: int, size: int, dim: int) -> Tensor:
    """A dimension averaged over bins, as a product with a small matrix."""
    from tensorbus import tensor

    rows = [
        [1.0 / (end - start) if start <= i < end else 0.0 for i in range(n)]
        for start, end in _bins(n, size)
    ]
    matrix = tensor(rows, dtype=x.dtype, device=x.device)
    return matrix @ x if dim == -2 else x @ matrix.t()


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows of (N, C, L) chosen so that the result has a given length."""
    size = _one(output_size)
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows chosen so that the result has a given size."""
    oh, ow = _adaptive_size(output_size, input, 2)
    h, w = input.shape[-2:]
    if h % oh == 0 and w % ow == 0:
        return max_pool2d(input, (h // oh, w // ow), return_indices=return_indices)
    from tensorbus import stack

    values, places = [], []
    for r0, r1 in _bins(h, oh):
        for c0, c1 in _bins(w, ow):
            part = input[..., r0:r1, c0:c1].flatten(-2)
            value, place = part.max(-1)
            values.append(value)
            places.append((place // (c1 - c0) + r0) * w + place % (c1 - c0) + c0)
    shape = (*input.shape[:-2], oh, ow)
    y = stack(values, -1).reshape(shape)
    return (y, stack(places, -1).reshape(shape)) if return_indices else y


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows of (N, C, L) chosen so that the result has a given length."""
    found = adaptive_max_pool2d(input.unsqueeze(-2), (1, _one(output_size)), return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """A border around the last dimensions; negative widths cut.

    *pad* counts from the last dimension: (left, right, top, bottom, ...).
    """
    from tensorbus.nn.functional.padding import padded

    return padded(input, tuple(pad), mode, value)
