"""Three-dimensional convolution: that of planes, with the windows along the depth as channels."""

from __future__ import annotations

from typing import Any

from tensorbus.ops.nn.convolution import declare, out_size

Triple = tuple[int, int, int]


def _slabs(
    F: Any, x: Any, kernel: int, stride: int, padding: int, dilation: int
) -> tuple[Any, int]:
    """(N * od, C * kd, H, W): for each window along the depth its planes, beside each other."""
    n, c, depth, h, w = x.shape
    od = out_size(depth, kernel, stride, padding, dilation)
    if padding:
        inner = x
        x = F.full((n, c, depth + 2 * padding, h, w), 0)
        F.copy_(F.slice(x, 2, padding, padding + depth, 1), inner)
    _, offset, (sn, sc, sd, sh, sw) = F.layout(x)
    view = F.as_strided(
        x, (n, od, c, kernel, h, w), (sn, sd * stride, sc, sd * dilation, sh, sw), offset
    )
    return F.view(F.clone(view), (n * od, c * kernel, h, w)), od


def _flat_kernels(F: Any, w: Any) -> Any:
    """(O, C / groups * kd, kh, kw)."""
    o, c, kd, kh, kw = w.shape
    return F.view(F.contiguous(w), (o, c * kd, kh, kw))


def _flat_result(F: Any, g: Any) -> Any:
    """The planes (N * od, O, oh, ow) of a result."""
    n, o, od, oh, ow = g.shape
    return F.view(F.contiguous(F.permute(g, (0, 2, 1, 3, 4))), (n * od, o, oh, ow))


def _conv(
    F: Any, x: Any, w: Any, stride: Triple, padding: Triple, dilation: Triple, groups: int
) -> Any:
    slabs, od = _slabs(F, x, w.shape[2], stride[0], padding[0], dilation[0])
    planes = F.conv2d(slabs, _flat_kernels(F, w), stride[1:], padding[1:], dilation[1:], groups)
    apart = F.view(F.contiguous(planes), (x.shape[0], od, *planes.shape[1:]))
    return F.contiguous(F.permute(apart, (0, 2, 1, 3, 4)))


def _weight(
    F: Any, g: Any, x: Any, size: Triple, stride: Triple, padding: Triple, dilation: Triple,
    groups: int,
) -> Any:  # fmt: skip
    slabs, _ = _slabs(F, x, size[0], stride[0], padding[0], dilation[0])
    flat = F.conv2d_weight(
        _flat_result(F, g), slabs, size[1:], stride[1:], padding[1:], dilation[1:], groups
    )
    return F.view(F.contiguous(flat), (g.shape[1], x.shape[1] // groups, *size))


def _input(
    F: Any, g: Any, w: Any, size: Triple, stride: Triple, padding: Triple, dilation: Triple,
    groups: int,
) -> Any:  # fmt: skip
    n, _, od = g.shape[:3]
    kd, channels = w.shape[2], w.shape[1] * groups
    (depth, *plane), before = size, padding[0]
    slabs = F.conv2d_input(
        _flat_result(F, g), _flat_kernels(F, w), tuple(plane), stride[1:], padding[1:],
        dilation[1:], groups,
    )  # fmt: skip
    taps = F.view(F.contiguous(slabs), (n, od, channels, kd, *plane))
    out = F.zeros((n, channels, depth + 2 * before, *plane))
    for i in range(kd):
        at = i * dilation[0]
        target = F.slice(out, 2, at, at + (od - 1) * stride[0] + 1, stride[0])
        F.add(target, F.permute(F.select(taps, 3, i), (0, 2, 1, 3, 4)), out=target)
    return F.contiguous(F.slice(out, 2, before, before + depth, 1)) if before else out


declare("conv3d", "volumes", _conv, _input, _weight)
