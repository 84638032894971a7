"""Pools, and borders around tensors."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import int_tuple, ints
from tensorbus.ops.nn.convolution import clipped
from tensorbus.ops.nn.pooling import pooled_size

Ints = tuple[int, ...]


# -- pools -----------------------------------------------------------------------------------
def pool_settings(
    name: str,
    spatial: int,
    x: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
    of_lines: bool = False,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Kernel, stride, padding and dilation of planes, where the pool of *x* has a result.

    PyTorch has a kernel of its own for the maxima of lines, and other limits for it.
    """
    _check_rank(name, spatial, x)
    kernel = ints(name, "kernel_size", kernel, spatial)
    omitted = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if omitted else ints(name, "stride", stride, spatial)
    padding = ints(name, "padding", padding, spatial)
    dilation = ints(name, "dilation", dilation, spatial)
    for what, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) < 1:
            raise RuntimeError(
                f"{name}(): {what} must be greater than zero, but got {_text(values)}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"{name}(): padding must be non-negative, but got {_text(padding)}")
    if not of_lines and max(*kernel, *stride, *padding, *dilation) >= 1 << 31:
        raise RuntimeError(
            f"value cannot be converted to type int without overflow: {name}() takes numbers of "
            "32 bits"
        )
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    widest = reach if of_lines else kernel
    if any(2 * p > n for p, n in zip(padding, widest, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={_text(padding)}, "
            f"kernel_size={_text(kernel)} and dilation={_text(dilation)}"
        )
    own = x._s[-spatial:]
    sizes = [
        pooled_size(n, kernel[d], stride[d], padding[d], dilation[d], ceil)
        for d, n in enumerate(own)
    ]
    if min(sizes) < 1:
        c = x._s[-spatial - 1]
        raise RuntimeError(
            f"Given input size: ({c}x{'x'.join(map(str, own))}). Calculated output size: "
            f"({c}x{'x'.join(map(str, sizes))}). Output size is too small"
        )
    stride = clipped(stride, own, padding, reach)
    if spatial == 1:
        return (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)
    return kernel, stride, padding, dilation


def _check_rank(name: str, spatial: int, x: Tensor) -> None:
    rank = len(x._s)
    if rank not in (spatial + 1, spatial + 2) or not x._s[rank - spatial - 1 :].numel():
        raise RuntimeError(
            f"{name}: Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional "
            f"0 dim batch size for input, but got:{list(x._s)}"
        )


def _text(values: Ints) -> str:
    return str(values[0]) if len(set(values)) == 1 else str(list(values))


def _planes(x: Tensor, spatial: int) -> Tensor:
    """The input as a batch of planes: one dimension counts as planes of one row."""
    if spatial == 1:
        x = x.unsqueeze(-2)
    return x.unsqueeze(0) if len(x._s) == 3 else x


def _as_given(y: Tensor, x: Tensor, spatial: int) -> Tensor:
    """A result of planes with the dimensions that the input has."""
    if spatial == 1:
        y = y.squeeze(-2)
    return y.squeeze(0) if len(x._s) == spatial + 1 else y


def _max_pool(
    name: str,
    spatial: int,
    input: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    of_lines = spatial == 1 and not return_indices and input._e is None
    if of_lines:
        refuse_integers("max_pool1d_impl", input)
    elif input._k.dtype.category == dtypes.BOOL:
        raise not_implemented("max_pool2d", input)
    settings = pool_settings(
        name, spatial, input, kernel, stride, padding, dilation, ceil_mode, of_lines
    )
    x = _planes(input, spatial)
    y = _as_given(core("max_pool2d")(x, *settings, ceil_mode), input, spatial)
    if not return_indices:
        return y
    return y, _as_given(core("max_pool2d_indices")(x, *settings, ceil_mode), input, spatial)


@composed(layout="channels_last")
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the planes, and its index where asked for."""
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


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
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@composed(layout="channels_last")
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
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean over windows of (N, C, L) or (C, L)."""
    return _avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def _avg_pool(
    name: str,
    spatial: int,
    input: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, stride, padding, _ = pool_settings(
        name, spatial, input, kernel, stride, padding, 1, ceil_mode
    )
    refuse_complex("avg_pool2d", input)
    if input._k.dtype is not dtypes.int64:
        refuse_integers("avg_pool2d", input)
    y = core("avg_pool2d")(
        _planes(input, spatial), kernel, stride, padding, ceil_mode, count_include_pad, divisor
    )
    return _as_given(y, input, spatial)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """A border around the last dimensions; negative widths cut.

    *pad* counts from the last dimension: (left, right, top, bottom, ...).
    """
    from tensorbus.nn.functional.padding import padded

    return padded(input, int_tuple("pad", "pad", pad), mode, value)
