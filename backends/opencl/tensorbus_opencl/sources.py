"""Kernels that programs wrote in OpenCL C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from tensorbus_opencl.runtime import Runtime


def compile_source(
    source: str, name: str, runtime: Runtime, device: Any, lock: Any
) -> Callable[..., None]:
    """The launch of the kernel *name*."""
    program = cl.Program(runtime.context, source).build(options=runtime.options)
    kernel = cl.Kernel(program, name)
    align = device.mem_base_addr_align // 8

    def argument(value: Any) -> Any:
        if isinstance(value, np.generic):
            return np.uint8(value) if isinstance(value, np.bool_) else value
        start = value.offset * value.dtype.itemsize
        if not start:
            return value.buffer
        if start % align:
            raise RuntimeError(
                f"{name}: a tensor that starts {start} bytes into its storage has no address for "
                f"an OpenCL kernel, which must be a multiple of {align}: pass a .clone() of it"
            )
        whole: Any = cl.Buffer.from_int_ptr(value.buffer.int_ptr, retain=True)
        return whole.get_sub_region(start, value.storage.nbytes - start)

    def launch(threads: tuple[int, ...], group: tuple[int, ...], *arguments: Any) -> None:
        if not threads:
            raise ValueError(f"{name}: say how many run: {name}(..., threads=n)")
        size = threads
        if group:
            size = tuple(-(-n // g) * g for n, g in zip(threads, group, strict=True))
        stream = runtime.current
        with lock:  # arguments are the kernel's until it is queued
            passed = [argument(value) for value in arguments]
            stream.last = kernel(stream.queue, size, group or None, *passed)

    return launch
