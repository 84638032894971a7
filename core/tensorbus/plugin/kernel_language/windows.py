"""Convolutions as unfolding and matrix products; max pooling in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorbus._base import dtypes
from tensorbus._base.dtypes import FLOAT, HALVES, dtype
from tensorbus.plugin.kernel_language.array import StridedArray, view
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.matmul import matmul_kernel
from tensorbus.plugin.kernel_language.move import contiguous, permute, reshape
from tensorbus.plugin.kernel_language.reduce import Reduction
from tensorbus.plugin.kernel_language.types import compute_type, load, raw, store

# (of the height, of the width)
Pair = Sequence[int]

# Below so many weights, their gradient is computed for each sample and then summed: there is more
# to do at once, and the product's inner dimension is shorter.
FEW_WEIGHTS = 1 << 16


def _result_size(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


class Convolution:
    """The three products of a 2-d convolution on one dtype; all arrays are 4-dimensional."""

    def __init__(self, device: Device, d: dtype):
        self.device = device
        self.dtype = d
        self.partial = dtypes.float32 if d in HALVES else d
        self.matmul = matmul_kernel(device, d)
        width = raw(d)
        row, column = Operand("row", dtypes.int8), Operand("column", dtypes.int8)
        # row and column are no arrays: their offsets are the coordinates in the image.
        self.unfolding = LoopNest(
            device,
            "k_unfold",
            [Operand("out", width, written=True), Operand("x", width), row, column],
            """
            for (i64 p = 0; p < kh; p++) {
                i64 r = row_i + p * dh;
                bool inside = r >= 0 && r < h;
                for (i64 q = 0; q < kw; q++) {
                    i64 c = column_i + q * dw, to = out_i + (p * kw + q) * step;
                    out[to] = inside && c >= 0 && c < w ? x[x_i + p * dh * sh + q * dw * sw] : 0;
                }
            }
            """,
            [("i64", name) for name in ("step", "h", "w", "sh", "sw", "kh", "kw", "dh", "dw")],
        )
        self.folding = LoopNest(
            device,
            "k_fold",
            [Operand("out", d, written=True), Operand("taps", self.partial), row, column],
            f"""
            {compute_type(d)} acc = 0;
            for (i64 p = 0; p < kh; p++) {{
                i64 r = row_i - p * dh;
                if (r < 0 || r % sh || r / sh >= oh) continue;
                for (i64 q = 0; q < kw; q++) {{
                    i64 c = column_i - q * dw;
                    if (c < 0 || c % sw || c / sw >= ow) continue;
                    acc += taps[taps_i + ((p * kw + q) * oh + r / sh) * ow + c / sw];
                }}
            }}
            {store(d, "out", "out_i", "acc")}
            """,
            [("i64", name) for name in ("kh", "kw", "dh", "dw", "sh", "sw", "oh", "ow")],
        )

    def unfold(
        self, x: StridedArray, kernel: Pair, size: Pair, stride: Pair, padding: Pair,
        dilation: Pair, taps_last: bool,
    ) -> StridedArray:  # fmt: skip
        """(N, C, kh, kw, oh, ow), or (N, oh, ow, C, kh, kw): what each window sees of *x*."""
        n, c, h, w = x.shape
        sn, sc, sh, sw = x.strides
        taps = kernel[0] * kernel[1]
        strides: tuple[int, ...]
        if taps_last:
            out = self.device.new((n, *size, c, *kernel), self.dtype)
            strides = (out.strides[0], taps, out.strides[1], out.strides[2])
            step = 1
        else:
            out = self.device.new((n, c, *kernel, *size), self.dtype)
            strides = (*out.strides[:2], *out.strides[4:])
            step = size[0] * size[1]
        steps = (sn, sc, stride[0] * sh, stride[1] * sw)
        rows, columns = (0, 0, stride[0], 0), (0, 0, 0, stride[1])
        plan = self.unfolding.plan((n, c, *size), (strides, steps, rows, columns))
        start = x.offset - padding[0] * sh - padding[1] * sw
        plan.launch(plan.size, out.buffer, 0, x.buffer, start, x.buffer, -padding[0], x.buffer,
                    -padding[1], *plan.layout, step, h, w, sh, sw, *kernel,
                    *dilation)  # fmt: skip
        return out

    def forward(
        self, x: StridedArray, w: StridedArray, stride: Pair, padding: Pair, dilation: Pair,
        groups: int,
    ) -> StridedArray:  # fmt: skip
        n, _, *image = x.shape
        o, cg, *kernel = w.shape
        size = tuple(
            _result_size(image[k], kernel[k], stride[k], padding[k], dilation[k]) for k in (0, 1)
        )
        out = self.device.new((n, o, *size), self.dtype)
        if 0 in out.shape:
            return out
        seen = self.unfold(x, tuple(kernel), size, stride, padding, dilation, False)
        taps, pixels = cg * kernel[0] * kernel[1], size[0] * size[1]
        w = reshape(w if w.flat else contiguous(self.device, w), (groups, o // groups, taps))
        self.matmul(
            w,
            reshape(seen, (n, groups, taps, pixels)),
            self.dtype,
            out=reshape(out, (n, groups, o // groups, pixels)),
        )
        return out

    def for_input(
        self, g: StridedArray, w: StridedArray, image: Pair, stride: Pair, padding: Pair,
        dilation: Pair, groups: int,
    ) -> StridedArray:  # fmt: skip
        n, o, *size = g.shape
        _, cg, *kernel = w.shape
        c, taps, pixels = cg * groups, cg * kernel[0] * kernel[1], size[0] * size[1]
        out = self.device.new((n, c, *image), self.dtype)
        if 0 in out.shape:
            return out
        w = reshape(w if w.flat else contiguous(self.device, w), (groups, o // groups, taps))
        g = reshape(g if g.flat else contiguous(self.device, g), (n, groups, o // groups, pixels))
        spread = self.matmul(permute(w, (0, 2, 1)), g, self.partial)
        block = kernel[0] * kernel[1] * pixels
        strides = ((c * block, block, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
        plan = self.folding.plan((n, c, *image), (out.strides, *strides))
        plan.launch(plan.size, out.buffer, 0, spread.buffer, 0, g.buffer, padding[0], g.buffer,
                    padding[1], *plan.layout, *kernel, *dilation, *stride, *size)  # fmt: skip
        return out

    def for_weight(
        self, g: StridedArray, x: StridedArray, kernel: Pair, stride: Pair, padding: Pair,
        dilation: Pair, groups: int,
    ) -> StridedArray:  # fmt: skip
        device, d = self.device, self.dtype
        n, o, *size = g.shape
        cg = x.shape[1] // groups
        taps, pixels = cg * kernel[0] * kernel[1], size[0] * size[1]
        shape = (o, cg, *kernel)
        if n == 0:
            return Reduction.of(device, "sum", d, d)(device.new((0, *shape), d), (0,))
        seen = self.unfold(x, kernel, tuple(size), stride, padding, dilation, True)
        g = reshape(g if g.flat else contiguous(device, g), (n, groups, o // groups, pixels))
        if o * taps <= FEW_WEIGHTS:
            steps = (pixels * groups * taps, taps, groups * taps, 1)
            seen = view(seen, (n, groups, pixels, taps), steps, 0)
            each = self.matmul(g, seen, self.partial)
            total = Reduction.of(device, "sum", self.partial, d)(each, (0,))
        else:
            seen = view(seen, (groups, n * pixels, taps), (taps, groups * taps, 1), 0)
            g = contiguous(device, permute(g, (1, 2, 0, 3)))
            total = self.matmul(reshape(g, (groups, o // groups, n * pixels)), seen, d)
        return reshape(total, shape)


def convolution_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray] | None:
    """``conv2d``, ``conv2d_input`` or ``conv2d_weight``."""
    if d.category != FLOAT:
        return None
    made = device.made.get(("convolution", d))
    if made is None:
        made = device.made["convolution", d] = Convolution(device, d)
    run: dict[str, Callable[..., StridedArray]] = {
        "conv2d": made.forward,
        "conv2d_input": made.for_input,
        "conv2d_weight": made.for_weight,
    }
    return run[op]


def max_pool_kernel(device: Device, op: str, d: dtype) -> Callable[..., StridedArray]:
    """``max_pool2d`` or ``max_pool2d_indices(x, kernel, stride, padding, dilation, ceil_mode)``."""
    indices = op == "max_pool2d_indices"
    result = dtypes.int64 if indices else d
    last = "out[out_i] = index;" if indices else store(d, "out", "out_i", "best")
    body = f"""
    i64 index = -1; {compute_type(d)} best = 0;
    for (i64 p = 0; p < kh; p++) for (i64 q = 0; q < kw; q++) {{
        i64 r = row_i + p * dh, c = column_i + q * dw;
        if (r < 0 || r >= h || c < 0 || c >= w) continue;
        {compute_type(d)} v = {load(d, "x", "x_i + r * sh + c * sw")};
        if (index < 0 || v > best || v != v) {{ best = v; index = r * w + c; }}
    }}
    {last}
    """
    names = ("h", "w", "sh", "sw", "kh", "kw", "dh", "dw")
    nest = LoopNest(
        device,
        f"k_{op}",
        [Operand("out", result, written=True), Operand("x", d), Operand("row", dtypes.int8),
         Operand("column", dtypes.int8)],
        body,
        [("i64", name) for name in names],
    )  # fmt: skip

    def max_pool(
        x: StridedArray, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
    ) -> StridedArray:
        lead, image = x.shape[:-2], x.shape[-2:]
        size = []
        for k in (0, 1):
            reach = image[k] + 2 * padding[k] - dilation[k] * (kernel[k] - 1) - 1
            n = (reach + (stride[k] - 1 if ceil_mode else 0)) // stride[k] + 1
            # With ceil_mode the last window must begin inside the image or the padding before it.
            size.append(n - 1 if ceil_mode and (n - 1) * stride[k] >= image[k] + padding[k] else n)
        out = device.new((*lead, *size), result)
        if 0 in out.shape:
            return out
        none = (0,) * len(lead)
        strides = (out.strides, (*x.strides[:-2], 0, 0), (*none, stride[0], 0),
                   (*none, 0, stride[1]))  # fmt: skip
        plan = nest.plan(out.shape, strides)
        plan.launch(plan.size, out.buffer, 0, x.buffer, x.offset, x.buffer, -padding[0], x.buffer,
                    -padding[1], *plan.layout, *image, *x.strides[-2:], *kernel,
                    *dilation)  # fmt: skip
        return out

    return max_pool
