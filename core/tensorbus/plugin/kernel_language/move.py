"""Copies with casts, fills, and the view kernels."""

from __future__ import annotations

import numpy as np

from tensorbus._base.dtypes import HALVES, dtype
from tensorbus._base.float_warnings import quietly
from tensorbus._base.rounding import as_float, to_bfloat16
from tensorbus._base.size import is_row_major
from tensorbus.plugin.kernel_language.array import StridedArray, row_major, view
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.layout import expand_strides
from tensorbus.plugin.kernel_language.loops import LoopNest, Operand
from tensorbus.plugin.kernel_language.types import (
    FLOAT8,
    cast_for_store,
    compute_type,
    load,
    raw,
    store,
)


def copy(device: Device, dst: StridedArray, src: StridedArray) -> None:
    """Write *src*, broadcast and cast, into *dst* on the same device."""
    source, target = src.dtype, dst.dtype
    if source is target:
        source = target = raw(source)
    key = ("copy", target, source)
    nest = device.made.get(key)
    if nest is None:
        value = cast_for_store(load(source, "x", "x_i"), source, target)
        operands = [Operand("out", target, written=True), Operand("x", source)]
        body = store(target, "out", "out_i", value)
        nest = device.made[key] = LoopNest(device, "k_copy", operands, body)
    if 0 in dst.shape:
        return
    strides = (dst.strides, expand_strides(src.shape, src.strides, dst.shape))
    plan = nest.plan(dst.shape, strides)
    plan.launch(plan.size, dst.buffer, dst.offset, src.buffer, src.offset, *plan.layout)


def fill(device: Device, dst: StridedArray, value: bool | int | float) -> None:
    """Write a number that fits *dst*'s dtype into all of it."""
    key = ("fill", dst.dtype)
    nest = device.made.get(key)
    if nest is None:
        operands = [Operand("out", dst.dtype, written=True)]
        body = store(dst.dtype, "out", "out_i", "value")
        extras = [(compute_type(dst.dtype), "value")]
        nest = device.made[key] = LoopNest(device, "k_fill", operands, body, extras)
    if 0 in dst.shape:
        return
    plan = nest.plan(dst.shape, (dst.strides,))
    plan.launch(plan.size, dst.buffer, dst.offset, *plan.layout, value)


def contiguous(device: Device, x: StridedArray) -> StridedArray:
    """A row-major copy."""
    out = device.new(x.shape, x.dtype)
    copy(device, out, x)
    return out


def converted(device: Device, x: StridedArray, target: dtype) -> StridedArray:
    """A row-major copy in another dtype."""
    out = device.new(x.shape, target)
    copy(device, out, x)
    return out


def as_halves(device: Device, x: StridedArray, target: dtype) -> StridedArray:
    """What a kernel that adds up in float32 loads for halves: each element rounded."""
    return x if target not in HALVES or x.dtype is target else converted(device, x, target)


def wrap(value: bool | int | float, d: dtype) -> bool | int | float:
    """A Python number as one that *d* holds, by the rules of ``copy_``."""
    if d.name == "bool":
        return int(value != 0)
    if d.is_floating_point:
        return quietly(_rounded, value, d)
    n = int(value) & ((1 << d.bits) - 1)
    return n - (1 << d.bits) if d.is_signed and n >> (d.bits - 1) else n


def _rounded(value: bool | int | float, d: dtype) -> float:
    if d in FLOAT8:
        return _odd(float(value))
    exact = as_float(value, d)
    if d.name == "bfloat16":
        return to_bfloat16(exact)
    return float(np.float16(exact)) if d.name == "float16" else exact


def _odd(value: float) -> float:
    """The number in float32, its last bit one where bits were lost: the kernel rounds again."""
    near = np.float32(value)
    bits = near.view(np.uint32)
    if np.isfinite(near) and float(near) != value and not bits & 1:
        bits += np.uint32(1) if abs(float(near)) < abs(value) else np.uint32(0xFFFFFFFF)
    return float(bits.view(np.float32))


def permute(x: StridedArray, dims: tuple[int, ...]) -> StridedArray:
    """Dimensions in another order."""
    shape, strides = x.shape, x.strides
    return view(x, tuple([shape[d] for d in dims]), tuple([strides[d] for d in dims]), x.offset)


def expand(x: StridedArray, shape: tuple[int, ...]) -> StridedArray:
    """Sizes of 1 repeated, new leading dimensions added."""
    shape = tuple(shape)
    return view(x, shape, expand_strides(x.shape, x.strides, shape), x.offset)


def slice_(x: StridedArray, dim: int, start: int, stop: int | None, step: int) -> StridedArray:
    """Elements start, start + step, ... before *stop*."""
    n = x.shape[dim]
    if stop is None:
        stop = n if step > 0 else -1
    count = max(0, -(-(stop - start) // step))
    stride = x.strides[dim]
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
    strides = (*x.strides[:dim], stride * step, *x.strides[dim + 1 :])
    return view(x, shape, strides, x.offset + start * stride if count else x.offset)


def select(x: StridedArray, dim: int, i: int) -> StridedArray:
    """Element *i* of a dimension, which vanishes."""
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    strides = x.strides[:dim] + x.strides[dim + 1 :]
    return view(x, shape, strides, x.offset + i * x.strides[dim])


def unsqueeze(x: StridedArray, dim: int) -> StridedArray:
    """A new dimension of size 1."""
    shape, strides = x.shape, x.strides
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return StridedArray(
        x.storage,
        x.dtype,
        (*shape[:dim], 1, *shape[dim:]),
        (*strides[:dim], step, *strides[dim:]),
        x.offset,
        x.flat,
    )


def reshape(x: StridedArray, shape: tuple[int, ...]) -> StridedArray:
    """The same elements in row-major order with another shape, where no copy is needed."""
    shape = tuple(shape)
    strides, _ = row_major(shape)
    if x.flat or 0 in x.shape:  # of nothing, any order is row-major
        return StridedArray(x.storage, x.dtype, shape, strides, x.offset, True)
    result = [0] * len(shape)
    old = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    at = len(shape) - 1
    while old:
        # A run of old dimensions that one stride walks takes as many new ones as fill it.
        n, stride = old.pop()
        total = n
        while old and old[-1][1] == total * stride:
            total *= old.pop()[0]
        step = stride
        while at >= 0 and (total > 1 or shape[at] == 1):
            if total % shape[at]:
                raise ValueError(f"{x} has no view of shape {shape}: copy it first")
            result[at] = step
            step *= shape[at]
            total //= shape[at]
            at -= 1
    while at >= 0:
        result[at] = 1 if at == len(shape) - 1 else result[at + 1] * shape[at + 1]
        at -= 1
    strides = tuple(result)
    return StridedArray(x.storage, x.dtype, shape, strides, x.offset, is_row_major(shape, strides))


VIEW_KERNELS = {
    "permute": permute,
    "view": reshape,
    "expand": expand,
    "slice": slice_,
    "select": select,
    "unsqueeze": unsqueeze,
}
