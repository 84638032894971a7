"""Planes as columns of their windows, and planes that are summed up from such columns."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.nn.convolution import Pair, folded, out_size, padded, windows
from tensorbus.rows.registry import row

# fmt: off
row("im2col", "x:T, kernel, dilation, padding, stride",
    doc="The windows of the planes *x*, each as a column: (N, C, H, W) to (N, C kh kw, windows).",
    node_name="Im2ColBackward0",
    composite=lambda F, x, kernel, dilation, padding, stride:
        _columns(F, x, kernel, dilation, padding, stride),
    x=lambda F, g, x_shape, kernel, dilation, padding, stride:
        F.col2im(g, tuple(x_shape[2:]), kernel, dilation, padding, stride))
row("col2im", "x:T, size, kernel, dilation, padding, stride",
    doc="Planes of *size*, each pixel the sum of what the columns *x* have for it.",
    node_name="Col2ImBackward0",
    in_float32=True,
    composite=lambda F, x, size, kernel, dilation, padding, stride:
        _planes(F, x, size, kernel, dilation, padding, stride),
    x=lambda F, g, kernel, dilation, padding, stride:
        F.im2col(g, kernel, dilation, padding, stride))
# fmt: on


def _columns(F: Any, x: Any, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Any:
    view = windows(F, padded(F, x, padding, 0), kernel, stride, dilation)
    n, c, kh, kw, oh, ow = view.shape
    return F.view(F.clone(view), (n, c * kh * kw, oh * ow))


def _planes(
    F: Any, x: Any, size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair
) -> Any:
    n, rows, _ = x.shape
    along = zip(size, kernel, stride, padding, dilation, strict=True)
    blocks = tuple(out_size(*setting) for setting in along)
    taps = F.view(F.contiguous(x), (n, rows // math.prod(kernel), *kernel, *blocks))
    return F.contiguous(folded(F, taps, size, stride, padding, dilation))
