"""Convolution and its derivatives in two dimensions; one dimension is a special case."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.rows.registry import row

Pair = tuple[int, int]

_SETTING = "stride, padding, dilation, groups"

# fmt: off
row("convolution", f"x:T, w:T, b:T?, {_SETTING}",
    doc="The convolution of the planes or volumes *x* with the kernels *w*, and *b* added to each "
        "channel.",
    holomorphic=True,
    in_float32=True,
    composite=lambda F, x, w, b, stride, padding, dilation, groups:
        _biased(F, _entry(F, stride, "")(x, w, stride, padding, dilation, groups), b),
    x=lambda F, g, x_shape, w, stride, padding, dilation, groups:
        _entry(F, stride, "_input")(
            g, w, tuple(x_shape[2:]), stride, padding, dilation, groups),
    w=lambda F, g, x, w_shape, stride, padding, dilation, groups:
        gradient_of_weight(F, g, x, w_shape, stride, padding, dilation, groups),
    b=lambda F, g: F.sum(g, (0, *range(2, len(g.shape)))), autocast="lower")
# fmt: on


def declare(name: str, images: str, conv: Any, conv_input: Any, conv_weight: Any) -> None:
    """The rows of the convolution *name* of *images*, and of its two derivatives."""

    def op(F: Any, of: str = "") -> Any:
        return getattr(F, name + of)

    # fmt: off
    row(name, f"x:T, w:T, {_SETTING}",
        doc=f"The convolution of the {images} *x* with the kernels *w*.",
        holomorphic=True,
        in_float32=True,
        composite=lambda F, x, w, stride, padding, dilation, groups:
            conv(F, x, w, stride, padding, dilation, groups),
        x=lambda F, g, x_shape, w, stride, padding, dilation, groups:
            op(F, "_input")(g, w, tuple(x_shape[2:]), stride, padding, dilation, groups),
        w=lambda F, g, x, w_shape, stride, padding, dilation, groups:
            gradient_of_weight(F, g, x, w_shape, stride, padding, dilation, groups),
        autocast="lower")
    row(f"{name}_input", f"y:T, w:T, size, {_SETTING}",
        doc=f"The derivative of ``{name}`` for its input, {images} of *size*, from the gradient "
            "*y* and the kernels *w*.",
        holomorphic=True,
        in_float32=True,
        composite=lambda F, y, w, size, stride, padding, dilation, groups:
            conv_input(F, y, w, size, stride, padding, dilation, groups),
        y=lambda F, g, w, stride, padding, dilation, groups:
            op(F)(g, w, stride, padding, dilation, groups),
        w=lambda F, g, y, w_shape, stride, padding, dilation, groups:
            gradient_of_weight(F, y, g, w_shape, stride, padding, dilation, groups))
    row(f"{name}_weight", f"y:T, x:T, size, {_SETTING}",
        doc=f"The derivative of ``{name}`` for its kernels, of *size*, from the gradient *y* and "
            f"the {images} *x*.",
        holomorphic=True,
        in_float32=True,
        composite=lambda F, y, x, size, stride, padding, dilation, groups:
            conv_weight(F, y, x, size, stride, padding, dilation, groups),
        y=lambda F, g, x, stride, padding, dilation, groups:
            op(F)(x, g, stride, padding, dilation, groups),
        x=lambda F, g, y, x_shape, stride, padding, dilation, groups:
            op(F, "_input")(y, g, tuple(x_shape[2:]), stride, padding, dilation, groups))
    # fmt: on


def out_size(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The size that a window leaves."""
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def clipped(stride: Any, sizes: Any, padding: Any, reach: Any) -> tuple[int, ...]:
    """Strides that give the same windows, and are no longer than a kernel can count with.

    Beyond the padded size and a window's own *reach* there is one window, with *ceil* too.
    """
    along = zip(stride, sizes, padding, reach, strict=True)
    return tuple(min(s, n + 2 * p + r) for s, n, p, r in along)


def _entry(F: Any, stride: tuple[int, ...], of: str) -> Any:
    """The op for planes or for volumes, by the number of strides; *of* says which derivative."""
    return getattr(F, f"conv{len(stride)}d{of}")


def gradient_of_weight(
    F: Any, g: Any, x: Any, w_shape: Any, stride: tuple[int, ...], *setting: Any
) -> Any:
    """Zeros where the batch is empty: no kernel is asked for a sum of nothing."""
    if 0 in g.shape or 0 in x.shape:
        return F.full(tuple(w_shape), 0)
    return _entry(F, stride, "_weight")(g, x, tuple(w_shape[2:]), stride, *setting)


def _biased(F: Any, r: Any, b: Any) -> Any:
    if b is None:
        return r
    ones = (1,) * (len(r.shape) - 2)
    return F.add(r, F.view(F.contiguous(b), (1, b.shape[0], *ones)), out=r)


def padded(F: Any, x: Any, padding: Pair, fill: float = 0.0, extra: Pair = (0, 0)) -> Any:
    """The planes with a border; *extra* goes to the bottom and the right."""
    top, left = padding
    if not (top or left or extra[0] or extra[1]):
        return x
    n, c, h, w = x.shape
    out = F.full((n, c, h + 2 * top + extra[0], w + 2 * left + extra[1]), fill)
    inner = F.slice(F.slice(out, 2, top, top + h, 1), 3, left, left + w, 1)
    F.copy_(inner, x)
    return out


def windows(F: Any, x: Any, kernel: Pair, stride: Pair, dilation: Pair) -> Any:
    """A view (N, C, kh, kw, oh, ow) of all windows of padded planes."""
    n, c, h, w = x.shape
    _, offset, (sn, sc, sh, sw) = F.layout(x)
    oh, ow = (
        out_size(side, k, s, 0, d)
        for side, k, s, d in zip((h, w), kernel, stride, dilation, strict=True)
    )
    return F.as_strided(
        x,
        (n, c, *kernel, oh, ow),
        (sn, sc, sh * dilation[0], sw * dilation[1], sh * stride[0], sw * stride[1]),
        offset,
    )


def _columns(
    F: Any, x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    """(N, G, C/G * kh * kw, oh * ow): what each window covers."""
    view = windows(F, padded(F, x, padding), kernel, stride, dilation)
    n, c = view.shape[:2]
    length = view.shape[4] * view.shape[5]
    return F.view(F.clone(view), (n, groups, c // groups * math.prod(kernel), length))


def _conv(F: Any, x: Any, w: Any, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    n, o, kernel = x.shape[0], w.shape[0], tuple(w.shape[2:])
    oh, ow = (
        out_size(x.shape[2 + d], kernel[d], stride[d], padding[d], dilation[d]) for d in (0, 1)
    )
    columns = _columns(F, x, kernel, stride, padding, dilation, groups)
    rows = columns.shape[2]
    matrix = F.expand(F.view(F.contiguous(w), (1, groups, o // groups, rows)),
                      (n, groups, o // groups, rows))  # fmt: skip
    return F.view(F.contiguous(F.matmul(matrix, columns)), (n, o, oh, ow))


def _weight(
    F: Any, g: Any, x: Any, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    n, o = g.shape[:2]
    length = g.shape[2] * g.shape[3]
    columns = _columns(F, x, size, stride, padding, dilation, groups)
    # Windows beyond the result's size (stride does not divide) are not there by construction.
    grid = F.view(F.contiguous(g), (n, groups, o // groups, length))
    products = F.matmul(grid, F.permute(columns, (0, 1, 3, 2)))
    return F.view(F.contiguous(F.sum(products, (0,))), (o, x.shape[1] // groups, *size))


def _input(
    F: Any, g: Any, w: Any, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    n, o, oh, ow = g.shape
    per_group, kernel = w.shape[1], tuple(w.shape[2:])
    rows = per_group * math.prod(kernel)
    matrix = F.permute(F.view(F.contiguous(w), (1, groups, o // groups, rows)), (0, 1, 3, 2))
    matrix = F.expand(matrix, (n, groups, rows, o // groups))
    grid = F.view(F.contiguous(g), (n, groups, o // groups, oh * ow))
    taps = F.view(F.contiguous(F.matmul(matrix, grid)), (n, groups * per_group, *kernel, oh, ow))
    return folded(F, taps, size, stride, padding, dilation)


def folded(F: Any, taps: Any, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Any:
    """The sum of what windows (N, C, kh, kw, oh, ow) hold for each pixel of the planes."""
    n, c, kh, kw, oh, ow = taps.shape
    out = F.zeros((n, c, size[0] + 2 * padding[0], size[1] + 2 * padding[1]))
    for i in range(kh):
        at = i * dilation[0]
        rows = F.slice(out, 2, at, at + (oh - 1) * stride[0] + 1, stride[0])
        for j in range(kw):
            at = j * dilation[1]
            target = F.slice(rows, 3, at, at + (ow - 1) * stride[1] + 1, stride[1])
            F.add(target, F.select(F.select(taps, 2, i), 2, j), out=target)
    if padding == (0, 0):
        return out
    out = F.slice(out, 2, padding[0], padding[0] + size[0], 1)
    return F.slice(out, 3, padding[1], padding[1] + size[1], 1)


declare("conv2d", "planes", _conv, _input, _weight)
