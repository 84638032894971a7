"""Streams and events of CUDA, as CuPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from tensorbus.plugin import AcceleratorError, Event, Stream
from tensorbus.plugin.streams import WeakValues

STREAMS = 32
"""So many streams a device has for each priority; who asks for more gets one of them again.

CuPy keeps the memory that was freed in a stream for that stream, as long as the process runs.
"""


def waited_for(index: int, wait: Callable[[], None]) -> None:
    """Wait for a device's work; AcceleratorError where CUDA says that it failed."""
    try:
        wait()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise AcceleratorError(f"device cuda:{index} failed: {error}") from error


class CudaStream(Stream):
    """A stream of CuPy; *fault* raises what kernels of the stream of that handle met."""

    def __init__(self, index: int, native: Any, priority: int, fault: Callable[[int, int], None]):
        self.index, self.native, self.priority = index, native, priority
        self._fault = fault
        self._held: list[tuple[Any, Any]] = []

    def handle(self) -> int:
        handle: int = self.native.ptr
        return handle

    def query(self) -> bool:
        with cupy.cuda.Device(self.index):
            done: bool = self.native.done
        return done

    def synchronize(self) -> None:
        with cupy.cuda.Device(self.index):
            waited_for(self.index, self.native.synchronize)
            self.let_go()
        self._fault(self.index, self.native.ptr)

    def wait_event(self, event: Event) -> None:
        if not isinstance(event, CudaEvent):
            raise TypeError(f"{event!r} is no event of CUDA")
        with cupy.cuda.Device(self.index):
            self.native.wait_event(event.native)

    def hold(self, memory: Any) -> None:
        """Keep *memory* until the work that the stream has now is done."""
        self.let_go()
        with cupy.cuda.Device(self.index):
            event = cupy.cuda.Event(disable_timing=True)
            event.record(self.native)
        self._held.append((event, memory))

    def let_go(self) -> None:
        """Give back the memory whose work is done."""
        self._held = [(event, memory) for event, memory in self._held if not event.done]


class CudaEvent(Event):
    """An event of CuPy."""

    def __init__(self, index: int, timing: bool):
        self.index = index
        with cupy.cuda.Device(index):
            self.native = cupy.cuda.Event(disable_timing=not timing)

    def record(self, stream: Stream) -> None:
        if not isinstance(stream, CudaStream):
            raise TypeError(f"{stream!r} is no stream of CUDA")
        with cupy.cuda.Device(self.index):
            self.native.record(stream.native)

    def query(self) -> bool:
        done: bool = self.native.done
        return done

    def synchronize(self) -> None:
        self.native.synchronize()

    def elapsed_time(self, end: Event) -> float:
        if not isinstance(end, CudaEvent):
            raise TypeError(f"{end!r} is no event of CUDA")
        milliseconds: float = cupy.cuda.get_elapsed_time(self.native, end.native)
        return milliseconds


class _Foreign:
    """The stream of another library, by CUDA's protocol for streams."""

    def __init__(self, handle: int):
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


class Streams:
    """The streams of one device."""

    def __init__(self, index: int, fault: Callable[[int, int], None]):
        self.index, self._fault = index, fault
        self.default = CudaStream(index, cupy.cuda.Stream.null, 0, fault)
        self._further: dict[int, list[CudaStream]] = {}
        self._next: dict[int, int] = {}
        self._foreign: WeakValues[int, CudaStream] = WeakValues()

    def all(self) -> list[CudaStream]:
        """The streams of the device that are known."""
        own = [stream for streams in self._further.values() for stream in streams]
        return [self.default, *own, *self._foreign.values()]

    def new(self, priority: int) -> CudaStream:
        """A further stream of a priority, or one of those there are, each in its turn."""
        streams = self._further.setdefault(priority, [])
        turn = self._next[priority] = self._next.get(priority, -1) + 1
        if len(streams) < STREAMS:
            with cupy.cuda.Device(self.index):
                native = cupy.cuda.Stream(non_blocking=True, priority=priority)
            streams.append(CudaStream(self.index, native, priority, self._fault))
        return streams[turn % STREAMS]

    def of_handle(self, handle: int) -> CudaStream:
        """The stream of a handle, known or not."""
        for known in self.all():
            if known.handle() == handle:
                return known
        with cupy.cuda.Device(self.index):
            native = cupy.cuda.Stream.from_external(_Foreign(handle))
        found = self._foreign[handle] = CudaStream(self.index, native, 0, self._fault)
        return found

    def current(self) -> CudaStream:
        """The one that the calling thread's work goes into, also where CuPy's user chose it."""
        handle = cupy.cuda.get_current_stream(self.index).ptr
        return self.default if handle == self.default.handle() else self.of_handle(handle)

    def choose(self, stream: Stream) -> None:
        """Make a stream the calling thread's."""
        native = self.known(stream).native
        with cupy.cuda.Device(self.index):
            native.use()

    def known(self, stream: Stream) -> CudaStream:
        """A stream as one of CuPy's; TypeError for what is none."""
        if isinstance(stream, CudaStream):
            return stream
        raise TypeError(f"{stream!r} is no stream of CUDA")
