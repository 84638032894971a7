"""Which module makes the kernel of which op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.dtypes import INTEGER, dtype
from tensorbus.plugin.backend import Kernel
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.create import arange_kernel, random_bits_kernel
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.fused import clamp_kernel, fold_kernel
from tensorbus.plugin.kernel_language.index import gather_kernels, scatter_kernels
from tensorbus.plugin.kernel_language.matmul import matmul_kernel
from tensorbus.plugin.kernel_language.move import VIEW_KERNELS, as_halves, contiguous
from tensorbus.plugin.kernel_language.order import argsort_kernel
from tensorbus.plugin.kernel_language.pointwise import pointwise_kernel
from tensorbus.plugin.kernel_language.reduce import ArgReduction, Reduction
from tensorbus.plugin.kernel_language.scan import Scan
from tensorbus.plugin.kernel_language.windows import convolution_kernel, max_pool_kernel

Maker = Callable[[Device, dtype], Kernel | None]


def _sum(op: str) -> Maker:
    def make(device: Device, source: dtype) -> Kernel:
        def reduce(
            x: StridedArray, dims: tuple[int, ...], dtype: dtype, out: StridedArray | None = None
        ) -> StridedArray:
            x = as_halves(device, x, dtype)
            return Reduction.of(device, op, x.dtype, dtype)(x, dims, out)

        return reduce

    return make


def _extreme(op: str) -> Maker:
    return lambda device, source: Reduction.of(device, op, source, source)


def _index(op: str) -> Maker:
    def make(device: Device, source: dtype) -> Kernel:
        reduction = ArgReduction(device, op, source)

        def reduce(x: StridedArray, dim: int, out: StridedArray | None = None) -> StridedArray:
            return reduction(x, (dim,), out)

        return reduce

    return make


def _contiguous(device: Device, source: dtype) -> Kernel:
    return lambda x: contiguous(device, x)


def _scan(op: str) -> Maker:
    def make(device: Device, source: dtype) -> Kernel:
        def scan(
            x: StridedArray, dim: int, dtype: dtype, out: StridedArray | None = None
        ) -> StridedArray:
            x = as_halves(device, x, dtype)
            return Scan.of(device, op, x.dtype, dtype)(x, dim, out)

        return scan

    return make


MAKERS: dict[str, Maker] = {
    "sum": _sum("sum"),
    "prod": _sum("prod"),
    "amax": _extreme("amax"),
    "amin": _extreme("amin"),
    "argmax": _index("argmax"),
    "argmin": _index("argmin"),
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "cummax": lambda device, source: Scan.of(device, "cummax", source, source),
    "cummin": lambda device, source: Scan.of(device, "cummin", source, source),
    "matmul": matmul_kernel,
    "take": lambda device, source: gather_kernels(device, source)[0],
    "gather": lambda device, source: gather_kernels(device, source)[1],
    "put": lambda device, source: scatter_kernels(device, source)[0],
    "scatter": lambda device, source: scatter_kernels(device, source)[1],
    "argsort": argsort_kernel,
    "arange": arange_kernel,
    "random_bits": random_bits_kernel,
    "contiguous": _contiguous,
}
FUSED: dict[str, Callable[[Device, str, dtype], Kernel | None]] = {
    **dict.fromkeys(["clamp", "clamp_min", "clamp_max"], clamp_kernel),
    **dict.fromkeys(["mean", "any", "all"], fold_kernel),
    **dict.fromkeys(["conv2d", "conv2d_input", "conv2d_weight"], convolution_kernel),
    **dict.fromkeys(["max_pool2d", "max_pool2d_indices"], max_pool_kernel),
}


_STORED = frozenset(
    ["arange", "take", "gather", "put", "scatter", "contiguous", "where", "eq", "ne"]
)
"""What there is beside views for dtypes that are for storage."""
_UNSIGNED = frozenset(
    "mul bitwise_and bitwise_or bitwise_xor sum prod cumsum cumprod argsort".split()
)
"""What there is for unsigned integers of more than 8 bits, too."""


def find(device: Device, op: str, source: dtype) -> Any:
    """The kernel of *op* on operands of *source*, or None."""
    view = VIEW_KERNELS.get(op)
    if view is not None:
        return view
    known = _STORED | _UNSIGNED if source.category == INTEGER else _STORED
    if not source.computes and op not in known:
        return None
    make = MAKERS.get(op)
    if make is not None:
        return make(device, source)
    fused = FUSED.get(op)
    return fused(device, op, source) if fused else pointwise_kernel(device, op, source)
