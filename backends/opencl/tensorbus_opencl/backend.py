"""The runtime of the device ``opencl``: buffers, transfers, compiled kernels, queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from tensorbus.plugin import (
    Array,
    Capabilities,
    Event,
    KernelLanguageBackend,
    OutOfMemoryError,
    Stream,
)
from tensorbus.plugin.kernel_language import Dialect
from tensorbus_opencl.devices import find_devices
from tensorbus_opencl.dialect import dialect_of
from tensorbus_opencl.runtime import Runtime
from tensorbus_opencl.sources import compile_source
from tensorbus_opencl.streams import Mark, Queue

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


class OpenCLBackend(KernelLanguageBackend):
    """OpenCL devices, GPUs first."""

    name = "opencl"

    def __init__(self) -> None:
        super().__init__()
        self._found = find_devices()
        self._dialects = [dialect_of(device) for device in self._found]
        self._runtimes: dict[int, Runtime] = {}

    def _runtime(self, index: int) -> Runtime:
        found = self._runtimes.get(index)
        if found is None:
            with self.lock:
                found = self._runtimes.get(index)
                if found is None:
                    found = Runtime(self._found[index], index, self.lock, self._raise_fault)
                    self._runtimes[index] = found
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
            return runtime.allocate(nbytes)
        except cl.Error as error:
            if error.code in _NO_MEMORY:
                raise OutOfMemoryError(nbytes) from None
            raise

    def upload(self, index: int, buffer: Any, values: np.ndarray) -> None:
        cl.enqueue_copy(self._runtime(index).current.queue, buffer, values, is_blocking=True)

    def download(self, index: int, buffer: Any, start: int, values: np.ndarray) -> None:
        queue = self._runtime(index).current.queue
        cl.enqueue_copy(queue, values, buffer, src_offset=start, is_blocking=True)

    def build(
        self, index: int, source: str, name: str, types: Sequence[str | None]
    ) -> Callable[..., None]:
        runtime = self._runtime(index)
        kernel = cl.Kernel(runtime.build(source), name)
        kernel.set_scalar_arg_dtypes([None if t is None else _SCALARS[t] for t in types])
        group = self._dialects[index].group
        local = {1: (group,), 2: (group, 1)}

        def launch(size: tuple[int, ...], *arguments: Any) -> None:
            stream = runtime.only or runtime.local.stream
            try:
                stream.last = kernel(stream.queue, size, local[len(size)], *arguments)
            except cl.Error as error:  # some drivers find memory for a buffer when it is used
                if error.code in _NO_MEMORY:
                    raise OutOfMemoryError from None
                raise

        return launch

    def compile_source(self, source: str, name: str, index: int) -> Callable[..., None]:
        runtime = self._runtime(index)
        return compile_source(source, name, runtime, self._found[index], self.lock)

    def finish(self, index: int) -> None:
        self._runtime(index).finish()

    # -- memory ------------------------------------------------------------------------------
    def memory_allocated(self, index: int) -> int | None:
        return self._runtime(index).allocated()

    def memory_stats(self, index: int) -> dict[str, int]:
        with self.lock:
            return self._runtime(index).memory_stats()

    def reset_memory_peaks(self, index: int) -> None:
        with self.lock:
            self._runtime(index).reset_peaks()

    def empty_cache(self) -> None:
        with self.lock:
            for runtime in self._runtimes.values():
                runtime.free_held()

    # -- streams -----------------------------------------------------------------------------
    def current_queue(self, index: int) -> Queue:
        return self._runtime(index).current

    def default_stream(self, index: int) -> Stream:
        return self._runtime(index).default

    def current_stream(self, index: int) -> Stream:
        return self._runtime(index).current

    def set_stream(self, stream: Stream) -> None:
        self._runtime(stream.index).choose(stream)

    def new_stream(self, index: int, priority: int = 0) -> Stream:
        with self.lock:
            return self._runtime(index).new_stream()

    def wrap_stream(self, handle: int, index: int) -> Stream:
        with self.lock:
            return self._runtime(index).stream_of(handle)

    def new_event(
        self, index: int, timing: bool = False, interprocess: bool = False
    ) -> Event | None:
        return None if interprocess else Mark(index, timing, self.lock)

    def record_stream(self, array: Array, stream: Stream) -> None:
        with self.lock:
            self._runtime(stream.index).known(stream).hold(array.storage.buffer)

    def _raise_fault(self, queue: Queue) -> None:
        self.device(queue.index).raise_fault(queue)
