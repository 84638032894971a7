"""Windows of planes as columns, and back: what a convolution is made of."""

from __future__ import annotations

from typing import Any

import tensorbus.ops.nn.columns  # noqa: F401 -- its rows
from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import int_tuple, ints
from tensorbus.ops.nn.convolution import Pair, clipped, out_size


def _pair(function: str, argument: str, value: Any) -> Pair:
    """An argument that is one int for height and width, or one for each."""
    if not isinstance(value, (tuple, list)):
        return ints(function, argument, value, 2)  # type: ignore[return-value]
    found = int_tuple(function, argument, value)
    if len(found) != 2:
        raise RuntimeError(f"It is expected {argument} equals to 2, but got size {len(found)}")
    return found


def _setting(
    function: str, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Pair, Pair, Pair, Pair]:
    made = (
        _pair(function, "kernel_size", kernel),
        _pair(function, "dilation", dilation),
        _pair(function, "padding", padding),
        _pair(function, "stride", stride),
    )
    for what, short, (h, w), least in zip(
        ("kernel size", "dilation", "padding", "stride"),
        ("kernel", "dilation", "pad", "stride"),
        made,
        (1, 1, 0, 1),
        strict=True,
    ):
        if h < least or w < least:
            allowed = "greater than zero" if least else "non-negative"
            raise RuntimeError(
                f"{what} should be {allowed}, but got {short}_height: {h} {short}_width: {w}"
            )
    return made


def _check_dtype(kernel: str, input: Tensor) -> None:
    d = input._k.dtype
    if d.category == dtypes.INTEGER or d is dtypes.complex32:
        raise not_implemented(kernel, input)


def _blocks(size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Pair:
    """How many windows there are, downwards and across."""
    along = zip(size, kernel, stride, padding, dilation, strict=True)
    down, across = (out_size(*setting) for setting in along)
    return down, across


def _short_strides(size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Any:
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    return clipped(stride, size, padding, reach)


@composed(node="Im2ColBackward0")
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of the planes, each as a column.

    (N, C, H, W) to (N, C kh kw, windows), or without N in both; the windows go row by row. Floats,
    complex numbers and truth values. A copy: windows without one has ``Tensor.unfold``.
    """
    kernel, dilation, padding, stride = _setting("unfold", kernel_size, dilation, padding, stride)
    shape = tuple(input._s)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    size = (shape[-2], shape[-1])
    blocks = _blocks(size, kernel, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {blocks}, but "
            "its components must be at least one."
        )
    _check_dtype("im2col_out_cpu", input)
    stride = _short_strides(size, kernel, dilation, padding, stride)
    x = input if len(shape) == 4 else input.unsqueeze(0)
    y = core("im2col")(x, kernel, dilation, padding, stride)
    return y if len(shape) == 4 else y.squeeze(0)


@composed(node="Col2ImBackward0")
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Planes of a size from the columns of their windows, added where windows overlap.

    (N, C kh kw, windows) to (N, C, H, W), or without N in both: the sum's counterpart to
    ``unfold``. Floats, complex numbers and truth values.
    """
    size = _pair("fold", "output_size", output_size)
    kernel, dilation, padding, stride = _setting("fold", kernel_size, dilation, padding, stride)
    shape = tuple(input._s)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    rows, columns = shape[-2:]
    if rows % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    down, across = _blocks(size, kernel, dilation, padding, stride)
    if columns != down * across or down < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding="
            f"{padding}, stride={stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {down} * {across} = {down * across}, but got "
            f"input.size(2)={columns}."
        )
    _check_dtype("col2im_out_cpu", input)
    stride = _short_strides(size, kernel, dilation, padding, stride)
    x = input if len(shape) == 3 else input.unsqueeze(0)
    y = core("col2im")(x, size, kernel, dilation, padding, stride)
    return y if len(shape) == 3 else y.squeeze(0)
