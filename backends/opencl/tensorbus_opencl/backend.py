"""The runtime of the device ``opencl``: buffers, transfers, compiled kernels, one queue each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

from tensorbus.plugin import Capabilities, KernelLanguageBackend, OutOfMemoryError
from tensorbus.plugin.kernel_language import Dialect
from tensorbus_opencl.devices import find_devices
from tensorbus_opencl.dialect import dialect_of

_SCALARS = {
    "u8": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f32": np.float32,
    "f64": np.float64,
}

_NO_MEMORY = (
    cl.status_code.INVALID_BUFFER_SIZE,
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
)


class _Runtime:
    """The context, the in-order queue and the memory pool of one device."""

    def __init__(self, device: Any):
        self.device = device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.pool = MemoryPool(ImmediateAllocator(self.queue))
        self.options = ["-cl-std=CL1.2", "-w"]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            self.options.append("-cl-fp32-correctly-rounded-divide-sqrt")


class OpenCLBackend(KernelLanguageBackend):
    """OpenCL devices, GPUs first."""

    name = "opencl"

    def __init__(self) -> None:
        super().__init__()
        self._found = find_devices()
        self._dialects = [dialect_of(device) for device in self._found]
        self._runtimes: dict[int, _Runtime] = {}

    def _runtime(self, index: int) -> _Runtime:
        found = self._runtimes.get(index)
        if found is None:
            found = self._runtimes[index] = _Runtime(self._found[index])
        return found

    def device_count(self) -> int:
        return len(self._found)

    def capabilities(self, index: int) -> Capabilities:
        device = self._found[index]
        details = {
            "platform": device.platform.name,
            "version": device.version,
            "driver": device.driver_version,
            "compute units": str(device.max_compute_units),
        }
        return Capabilities(
            name=device.name,
            dtypes=self.supported(index),
            memory_total=device.global_mem_size,
            details=details,
            accelerator=not device.type & cl.device_type.CPU,
        )

    def dialect(self, index: int) -> Dialect:
        return self._dialects[index]

    def alloc(self, index: int, nbytes: int) -> Any:
        runtime = self._runtimes.get(index) or self._runtime(index)
        try:
            return runtime.pool.allocate(nbytes)
        except cl.Error as error:
            if error.code in _NO_MEMORY:
                raise OutOfMemoryError(nbytes) from None
            raise

    def upload(self, index: int, buffer: Any, values: np.ndarray) -> None:
        cl.enqueue_copy(self._runtime(index).queue, buffer, values, is_blocking=True)

    def download(self, index: int, buffer: Any, start: int, values: np.ndarray) -> None:
        queue = self._runtime(index).queue
        cl.enqueue_copy(queue, values, buffer, src_offset=start, is_blocking=True)

    def build(
        self, index: int, source: str, name: str, types: Sequence[str | None]
    ) -> Callable[..., None]:
        runtime = self._runtime(index)
        program = cl.Program(runtime.context, source).build(options=runtime.options)
        kernel = cl.Kernel(program, name)
        kernel.set_scalar_arg_dtypes([None if t is None else _SCALARS[t] for t in types])
        queue = runtime.queue
        group = self._dialects[index].group
        local = {1: (group,), 2: (group, 1)}

        def launch(size: tuple[int, ...], *arguments: Any) -> None:
            try:
                kernel(queue, size, local[len(size)], *arguments)
            except cl.Error as error:  # some drivers find memory for a buffer when it is used
                if error.code in _NO_MEMORY:
                    raise OutOfMemoryError from None
                raise

        return launch

    def finish(self, index: int) -> None:
        self._runtime(index).queue.finish()

    def memory_allocated(self, index: int) -> int | None:
        return self._runtime(index).pool.active_bytes

    def empty_cache(self) -> None:
        for runtime in self._runtimes.values():
            runtime.pool.free_held()
