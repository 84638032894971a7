"""Which module makes the kernel of which op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus.dtypes import dtype
from tensorbus.plugin.backend import Kernel
from tensorbus.plugin.kernel_language.array import StridedArray
from tensorbus.plugin.kernel_language.device import Device
from tensorbus.plugin.kernel_language.matmul import matmul_kernel
from tensorbus.plugin.kernel_language.move import VIEW_KERNELS, contiguous
from tensorbus.plugin.kernel_language.pointwise import pointwise_kernel
from tensorbus.plugin.kernel_language.reduce import ArgReduction, Reduction

Maker = Callable[[Device, dtype], Kernel | None]


def _sum(op: str) -> Maker:
    def make(device: Device, source: dtype) -> Kernel:
        def reduce(
            x: StridedArray, dims: tuple[int, ...], dtype: dtype, out: StridedArray | None = None
        ) -> StridedArray:
            return Reduction.of(device, op, source, dtype)(x, dims, out)

        return reduce

    return make


def _extreme(op: str) -> Maker:
    return lambda device, source: Reduction.of(device, op, source, source)


def _place(op: str) -> Maker:
    def make(device: Device, source: dtype) -> Kernel:
        reduction = ArgReduction(device, op, source)

        def reduce(x: StridedArray, dim: int, out: StridedArray | None = None) -> StridedArray:
            return reduction(x, (dim,), out)

        return reduce

    return make


def _contiguous(device: Device, source: dtype) -> Kernel:
    return lambda x: contiguous(device, x)


MAKERS: dict[str, Maker] = {
    "sum": _sum("sum"),
    "prod": _sum("prod"),
    "amax": _extreme("amax"),
    "amin": _extreme("amin"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
    "matmul": matmul_kernel,
    "contiguous": _contiguous,
}


def find(device: Device, op: str, source: dtype) -> Any:
    """The kernel of *op* on operands of *source*, or None."""
    view = VIEW_KERNELS.get(op)
    if view is not None:
        return view
    make = MAKERS.get(op)
    if make is not None:
        return make(device, source)
    return pointwise_kernel(device, op, source)
