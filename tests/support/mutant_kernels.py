"""Kernels of cpu made wrong each in a way of its own: ranges, conversions, sums, fused ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus.plugin import Backend, Kernel

CPU = type(discovery.backend("cpu"))


def after(change: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """A kernel whose result ``change(result, *args)`` replaces."""

    def mutate(kernel: Kernel) -> Kernel:
        def call(*args: Any, out: Any = None) -> Any:
            made = kernel(*args)
            with np.errstate(all="ignore"):
                found = np.asarray(change(made, *args)).astype(np.asarray(made).dtype)
            if out is None:
                return found
            out[...] = found
            return out

        return call

    return mutate


def before(change: Callable[..., Any], *positions: int) -> Callable[[Kernel], Kernel]:
    """A kernel that gets other operands."""

    def mutate(kernel: Kernel) -> Kernel:
        def call(*args: Any, **options: Any) -> Any:
            given = list(args)
            with np.errstate(all="ignore"):
                for p in positions or (0,):
                    given[p] = change(np.asarray(args[p]))
            return kernel(*given, **options)

        return call

    return mutate


def narrow_sum(method: str, kind: Any) -> Callable[[Kernel], Kernel]:
    """Accumulates in *kind*, then converts."""

    def mutate(kernel: Kernel) -> Kernel:
        def call(x: Any, dims: Any, dtype: Any, out: Any = None) -> Any:
            if np.dtype(dtype).kind != np.dtype(kind).kind or x.dtype.itemsize > 1:
                return kernel(x, dims, dtype) if out is None else kernel(x, dims, dtype, out=out)
            found = kernel(x, dims, np.dtype(kind)).astype(dtype)
            if out is None:
                return found
            out[...] = found
            return out

        return call

    return mutate


def _blend(made: Any, c: Any, x: Any, y: Any) -> Any:
    if np.asarray(made).dtype.kind != "f":
        return made
    return np.asarray(c) * x + (1 - np.asarray(c)) * y


def _skips_zeros(made: Any, a: Any, b: Any, dtype: Any) -> Any:
    return np.nan_to_num(made, nan=0.0) if made.dtype.kind == "f" and not np.isnan(a).any() \
        and not np.isnan(b).any() else made  # fmt: skip


def _from_lowest(made: Any, x: Any, dims: Any) -> Any:
    if made.dtype.kind != "f":
        return made
    return np.where(np.isneginf(made), np.finfo(made.dtype).min, made)


def _without_dilation(kernel: Kernel) -> Kernel:
    def conv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        if groups > 1 and dilation[0] != dilation[1] and padding[0] != padding[1]:
            found = kernel(x, w, stride, padding, dilation, groups)
            return found[..., ::-1].copy()
        return kernel(x, w, stride, padding, dilation, groups)

    return conv


def _large_where(wrong: Callable[..., bool]) -> Callable[[Kernel], Kernel]:
    """A kernel whose last element is wrong where *wrong* holds of its operands."""

    def change(made: Any, *args: Any) -> Any:
        if wrong(*args):
            made = np.array(made)
            made[(-1,) * made.ndim] += 1
        return made

    return after(change)


KERNELS: dict[str, tuple[str, Callable[[Kernel], Kernel], str]] = {
    # name: the kernel, its mutation, and the op whose cases catch it where it is no primitive
    "exp-overflows-early": ("exp", after(lambda r, x: np.where(x > 88, np.inf, r)), ""),
    "exp-vanishes-early": ("exp", after(lambda r, x: np.where(x < -86, 0, r)), ""),
    "cos-by-sine": (
        "cos", after(lambda r, x: np.sin(np.pi / 2 - x) if x.dtype == np.float32 else r), "",
    ),
    "log1p-by-log": ("log1p", after(lambda r, x: np.log(1 + x)), ""),
    "expm1-by-exp": ("expm1", after(lambda r, x: np.exp(x) - 1), ""),
    "round-by-adding-a-half": ("round", after(lambda r, x: np.floor(x + x.dtype.type(0.5))), ""),
    "round-by-int32": (
        "round", after(lambda r, x: np.where(np.abs(x) < 3e9, np.rint(x).astype(np.int32), r)), "",
    ),
    "floor-by-int64": (
        "floor", after(lambda r, x: np.where(np.isfinite(x), np.floor(x).astype(np.int64), r)), "",
    ),
    "sqrt-of-squares": ("sqrt", after(lambda r, x: np.where(x > 1e38, np.inf, r)), ""),
    "tanh-ends-early": ("tanh", after(lambda r, x: np.where(np.abs(x) > 8, np.sign(x), r)), ""),
    "pow-by-logarithm": (
        "pow", after(lambda r, x, y: np.exp(np.log(x) * y) if r.dtype.kind == "f" else r), "",
    ),
    "where-by-arithmetic": ("where", after(_blend), ""),
    "amax-from-the-lowest": ("amax", after(_from_lowest), ""),
    "cummax-from-the-lowest": ("cummax", after(_from_lowest), ""),
    "products-skip-zeros": ("matmul", after(_skips_zeros), ""),
    "products-lose-tails": ("matmul", _large_where(lambda a, b, _: a.shape[-1] % 16 == 15), ""),
    "products-of-one-row": (
        "matmul", _large_where(lambda a, b, _: a.shape[-2] == 1 and a.shape[-1] > 256), "",
    ),
    "products-of-large-columns": (
        "matmul", _large_where(lambda a, b, _: b.size > 4096 and not b.flags.c_contiguous), "",
    ),
    "wide-rows-are-taken": (
        "take", _large_where(lambda x, dim, *_: x.ndim > 1 and dim == 0 and x.shape[-1] > 256)
        , "",
    ),
    "int-lt-by-double": ("lt", before(np.float64, 0, 1), ""),
    "int-maximum-by-float": (
        "maximum", after(lambda r, x, y: np.maximum(np.float64(x), np.float64(y))
                         if r.dtype == np.int64 else r), "",
    ),
    "sum-of-bytes-in-int16": ("sum", narrow_sum("sum", np.int16), ""),
    "cumsum-of-bytes-in-int16": ("cumsum", narrow_sum("cumsum", np.int16), ""),
    "prod-of-bytes-in-int32": ("prod", narrow_sum("prod", np.int32), ""),
    "comparisons-leave-255": (
        "eq", lambda kernel: lambda x, y, out=None: (
            np.multiply(kernel(x, y), 255, dtype=np.uint8).view(bool) if np.ndim(kernel(x, y))
            and out is None else kernel(x, y) if out is None else kernel(x, y, out=out)), "",
    ),
    "softmax-of-nothing-is-zero": (
        "softmax", after(lambda r, x, dim: np.nan_to_num(r)), "L4/softmax",
    ),
    "convolution-drops-nan": (
        "conv2d", after(lambda r, *args: np.nan_to_num(r, nan=0.0)), "L4/nn.functional.conv2d",
    ),
    "convolution-mirrors": ("conv2d", _without_dilation, "L4/nn.functional.conv2d"),
    "pool-skips-nan": (
        "max_pool2d", after(lambda r, *args: np.nan_to_num(r, nan=0.0)),
        "L4/nn.functional.max_pool2d",
    ),
    "logcumsumexp-drops-the-least": (
        "logcumsumexp", after(lambda r, x, dim: np.nan_to_num(r, neginf=-1e30)), "L4/logcumsumexp",
    ),
    "trunc-drops-the-sign": ("trunc", after(lambda r, x: r + r.dtype.type(0)), "L4/trunc"),
    "ceil-drops-the-sign": ("ceil", after(lambda r, x: r + r.dtype.type(0)), "L4/ceil"),
    "sums-of-one-tensor": (
        "add", _large_where(lambda x, y: x is y and not np.asarray(x).flags.c_contiguous), "L2/add",
    ),
    "reciprocal-of-large-is-zero": (
        "reciprocal", after(lambda r, x: np.where(np.abs(x) > 1e30, 0, r)), "L4/reciprocal",
    ),
}  # fmt: skip


class _Doubled(CPU):
    """A backend whose casts to float32 go by way of float64."""

    def cast(self, src: Any, src_dtype: Any, dst_dtype: Any) -> Any:
        if dst_dtype.name == "float32" and src.dtype.kind == "i":
            src = src.astype(np.float64)
        return super().cast(src, src_dtype, dst_dtype)


class _Narrowed(CPU):
    """A backend whose casts to small integers go by way of int32."""

    def cast(self, src: Any, src_dtype: Any, dst_dtype: Any) -> Any:
        if dst_dtype.name == "int16" and src.dtype.kind == "f":
            with np.errstate(all="ignore"):
                src = np.clip(src, -(2.0**31), 2.0**31 - 1).astype(np.int32)
        return super().cast(src, src_dtype, dst_dtype)


class _FewBits(CPU):
    """A backend for which a number is true if its low byte is."""

    def cast(self, src: Any, src_dtype: Any, dst_dtype: Any) -> Any:
        if dst_dtype.name == "bool" and src.dtype.kind == "i":
            src = src.astype(np.uint8)
        return super().cast(src, src_dtype, dst_dtype)


class _Doubles(CPU):
    """A backend whose numbers beside int64 go by way of float64."""

    def scalar(self, value: Any, dtype: Any) -> Any:
        if dtype.name == "int64" and value < 2**63 - 1024:
            value = int(float(value))
        return super().scalar(value, dtype)


RUNTIMES: dict[str, tuple[Callable[[], Backend], str]] = {
    "int64-to-float32-rounds-twice": (_Doubled, "L0/copy_"),
    "float-to-int16-by-int32": (_Narrowed, "L0/copy_"),
    "truth-of-the-low-byte": (_FewBits, "L0/copy_"),
    "numbers-as-doubles": (_Doubles, "L0/copy_"),
}
