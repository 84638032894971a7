"""Streams of OpenCL: in-order queues, each with a memory pool of its own.

A pool gives freed memory to the next array at once, which is right within one queue: what used it
last runs before what uses it next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

from tensorbus.plugin import AcceleratorError, Event, Stream


class Queue(Stream):
    """A command queue as a stream.

    *lock* is held around each call of the driver, and *fault* raises what kernels of the queue met.
    """

    def __init__(self, index: int, queue: Any, lock: Any, fault: Callable[[Any], None]):
        self.index = index
        self.queue = queue
        self.pool = MemoryPool(ImmediateAllocator(queue))
        self.last: Any = None
        """The event of the command that was put into the queue last."""
        self._lock, self._fault = lock, fault
        self._held: list[tuple[Any, Any]] = []
        self._timer: Any = None

    def handle(self) -> int:
        handle: int = self.queue.int_ptr
        return handle

    def mark(self) -> Any:
        """The event of the last command, which is on its way to the device; None: there is none."""
        if self.last is not None:
            self.queue.flush()
        return self.last

    def stamp(self) -> Any:
        """An event that knows when the last command was done.

        It lies in a queue of its own: a queue that takes times may be slower.
        """
        if self._timer is None:
            times = cl.command_queue_properties.PROFILING_ENABLE
            self._timer = cl.CommandQueue(self.queue.context, self.queue.device, times)
        mark = self.mark()
        stamp = cl.enqueue_marker(self._timer, wait_for=None if mark is None else [mark])
        self._timer.flush()
        return stamp

    def query(self) -> bool:
        with self._lock:
            mark = self.mark()
        return mark is None or done(mark)

    def synchronize(self) -> None:
        with self._lock:
            self.finish()
        self._fault(self)

    def finish(self) -> None:
        """Wait for all commands of the queue; AcceleratorError where the driver failed."""
        try:
            self.queue.finish()
        except cl.Error as error:
            raise AcceleratorError(f"device opencl:{self.index} failed: {error}") from error
        self.let_go()

    def wait_event(self, event: Event) -> None:
        mark = event.mark if isinstance(event, Mark) else None
        if mark is not None:
            with self._lock:
                self.last = cl.enqueue_barrier(self.queue, wait_for=[mark])

    def hold(self, memory: Any) -> None:
        """Keep *memory* until the commands that the queue has now are done."""
        mark = self.mark()
        self.let_go()
        if mark is not None:
            self._held.append((mark, memory))

    def let_go(self) -> None:
        """Give back the memory whose commands are done."""
        self._held = [(mark, memory) for mark, memory in self._held if not done(mark)]


class ForeignQueue(Queue):
    """The queue of another library, which may put commands there that we don't see."""

    def mark(self) -> Any:
        self.last = cl.enqueue_marker(self.queue)
        return super().mark()


class Mark(Event):
    """An event of the queue that it was recorded in."""

    def __init__(self, index: int, timing: bool, lock: Any):
        self.index = index
        self.mark: Any = None
        self._timing, self._lock = timing, lock

    def record(self, stream: Stream) -> None:
        if not isinstance(stream, Queue):
            raise TypeError(f"{stream!r} is no stream of OpenCL")
        with self._lock:
            self.mark = stream.stamp() if self._timing else stream.mark()

    def query(self) -> bool:
        return self.mark is None or done(self.mark)

    def synchronize(self) -> None:
        if self.mark is not None:
            self.mark.wait()

    def elapsed_time(self, end: Event) -> float:
        if not isinstance(end, Mark):
            raise TypeError(f"{end!r} is no event of OpenCL")
        began: int = self.mark.profile.end
        ended: int = end.mark.profile.end
        return (ended - began) / 1e6


def done(event: Any) -> bool:
    """Whether a command has run, or failed."""
    status: int = event.command_execution_status
    return status <= cl.command_execution_status.COMPLETE
