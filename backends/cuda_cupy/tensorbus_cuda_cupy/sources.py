"""Kernels that programs wrote in CUDA C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

GROUP = 256
"""The threads of a block where the program does not say."""


def compile_source(source: str, name: str, index: int) -> Callable[..., None]:
    """The launch of the kernel *name*, whose text has ``extern "C" __global__``."""
    with cupy.cuda.Device(index):
        kernel = cupy.RawKernel(source, name)
        kernel.compile()

    def launch(threads: tuple[int, ...], group: tuple[int, ...], *arguments: Any) -> None:
        if not threads:
            raise ValueError(f"{name}: say how many run: {name}(..., threads=n)")
        block = group or (GROUP, *(1 for _ in threads[1:]))
        grid = tuple(-(-n // g) for n, g in zip(threads, block, strict=True))
        with cupy.cuda.Device(index):
            kernel(grid, block, arguments)

    return launch
