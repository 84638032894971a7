"""What one OpenCL device has: its context, its queues, and the memory that they took."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyopencl as cl

from tensorbus.plugin import Stream
from tensorbus.plugin.streams import WeakValues
from tensorbus_opencl import pocl
from tensorbus_opencl.streams import ForeignQueue, Queue

STREAMS = 32
"""So many queues a device has besides the first; who asks for more gets one of them again."""


class _Local(threading.local):
    def __init__(self, default: Queue):
        self.stream = default


def _end(found: weakref.ref[Runtime], pid: int) -> None:
    """Wait for what the process left in its queues.

    A driver may still compile the last kernels, in threads of its own (PoCL does when a kernel
    first runs): exit would destroy that compiler under them, and the process end in a fault.
    """
    runtime = found()
    if runtime is not None and os.getpid() == pid:  # a forked child has no such threads
        runtime.finish()


class Runtime:
    """The context, the queues and the memory of one device."""

    def __init__(self, device: Any, index: int, lock: Any, fault: Callable[[Any], None]):
        self.index = index
        self.context = cl.Context([device])
        self.options = ["-cl-std=CL1.2", "-w"]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            self.options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        self._declares = pocl.takes_declarations(device)
        self._parts = index, lock, fault
        self.default = self._queue()
        self.only: Queue | None = self.default
        """The one queue of all threads, until one chooses another."""
        self.local = _Local(self.default)
        self._further: list[Queue] = []
        self._next = 0
        self._foreign: WeakValues[int, Queue] = WeakValues()
        self._peak = self._peak_held = self._total = 0
        atexit.register(_end, weakref.ref(self), os.getpid())

    def _queue(self) -> Queue:
        index, lock, fault = self._parts
        return Queue(index, cl.CommandQueue(self.context), lock, fault)

    def build(self, source: str) -> Any:
        """The program of a generated kernel."""
        if self._declares:
            options = [*self.options, pocl.WITHOUT_HEADER]
            with suppress(cl.Error):
                return cl.Program(self.context, pocl.DECLARATIONS + source).build(options=options)
        program = cl.Program(self.context, source).build(options=self.options)
        self._declares = False  # not before: a text that is wrong says nothing of the header
        return program

    # -- queues ------------------------------------------------------------------------------
    @property
    def current(self) -> Queue:
        """The queue that the calling thread's work goes into."""
        return self.only or self.local.stream

    def choose(self, stream: Stream) -> None:
        """Make a queue the calling thread's."""
        self.local.stream = self.known(stream)
        self.only = None

    def known(self, stream: Stream) -> Queue:
        """A stream as one of this device's queues; TypeError for what is none."""
        if isinstance(stream, Queue) and stream.index == self.index:
            return stream
        raise TypeError(f"{stream!r} is no stream of this OpenCL device")

    def queues(self) -> list[Queue]:
        """All queues of the device that are known."""
        return [self.default, *self._further, *self._foreign.values()]

    def new_stream(self) -> Queue:
        """A further queue, or one of those there are, each in its turn."""
        if len(self._further) < STREAMS:
            self._further.append(self._queue())
        found = self._further[self._next % STREAMS]
        self._next += 1
        return found

    def stream_of(self, handle: int) -> Queue:
        """The queue of a number; RuntimeError for one that can't use this device's memory."""
        for known in self.queues():
            if known.handle() == handle:
                return known
        queue = cl.CommandQueue.from_int_ptr(handle, retain=True)
        orders = queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        if queue.context != self.context or orders:
            raise RuntimeError(
                f"the command queue {handle:#x} is no stream of device opencl:{self.index}: it "
                "must run in order, and belong to the context of that device's own queues"
            )
        index, lock, fault = self._parts
        found = self._foreign[handle] = ForeignQueue(index, queue, lock, fault)
        return found

    def finish(self) -> None:
        """Wait for all queues."""
        for queue in self.queues():
            queue.finish()

    # -- memory ------------------------------------------------------------------------------
    def allocate(self, nbytes: int) -> Any:
        """A buffer for the calling thread's queue."""
        pool = (self.only or self.local.stream).pool
        made = pool.allocate(nbytes)
        self._total += nbytes
        used = pool.active_bytes if self.only else self.allocated()
        if used > self._peak:
            self._peak = used
        return made

    def allocated(self) -> int:
        """The bytes of all buffers that are in use."""
        return sum(queue.pool.active_bytes for queue in self.queues())

    def memory_stats(self) -> dict[str, int]:
        """The figures of ``Backend.memory_stats`` that OpenCL has."""
        held = self._count_held()
        return {
            "allocated": self.allocated(),
            "allocated_peak": self._peak,
            "allocated_total": self._total,
            "reserved": held,
            "reserved_peak": self._peak_held,
        }

    def _count_held(self) -> int:
        held = sum(queue.pool.managed_bytes for queue in self.queues())
        self._peak_held = max(self._peak_held, held)
        return held

    def reset_peaks(self) -> None:
        """Let the peaks begin again, at what is in use now."""
        self._peak, self._peak_held = self.allocated(), 0
        self._count_held()

    def free_held(self) -> None:
        """Give the memory that no array has back to the driver."""
        self._count_held()
        for queue in self.queues():
            queue.let_go()
            queue.pool.free_held()
