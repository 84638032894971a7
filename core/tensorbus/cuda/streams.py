"""``torch.cuda.streams``: streams and events of CUDA devices."""

from __future__ import annotations

import ctypes
from typing import Any

from tensorbus._base.public_place import show_in
from tensorbus._dispatch import streams as every
from tensorbus._dispatch.meant_devices import device_of

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]


class Stream(every.Stream):
    """A queue of a CUDA device's work: what is put into one runs in that order.

    *device* None is the current CUDA device; a lower *priority* runs first. In a ``with`` block it
    is the thread's current stream of its device. RuntimeError where there is no CUDA device.
    """

    _type = "cuda"

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Any:
        return super().__new__(cls, device, priority=priority, **kwargs)

    @property
    def cuda_stream(self) -> int:
        """The ``cudaStream_t``, as a number."""
        return self.stream_id

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol's version and the stream: other libraries ask for them."""
        return 0, self.cuda_stream

    def record_event(self, event: every.Event | None = None) -> Any:
        """Put an event, None: a new one, behind the work of the stream; the event."""
        return super().record_event(Event() if event is None else event)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream of another library, by its ``cudaStream_t`` as a number.

    It is not kept alive: the other library's has to be while this one is used.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Any:
        return cls._known(device_of(device, cls._type), stream_ptr)


class Event(every.Event):
    """A mark in a stream of a CUDA device, which the host and other streams can wait for.

    One that was never recorded counts as done. Only events made with *enable_timing* tell times;
    *blocking* and *external* have no effect. RuntimeError where there is no CUDA device.
    """

    _type = "cuda"

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        super().__init__(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    def __repr__(self) -> str:
        state = f"{self.event_id:#x}" if self.event_id else "uninitialized"
        return f"<torch.cuda.Event {state}>"


class StreamContext(every.StreamContext):
    """A block in which a stream is current, as ``stream`` makes it; None changes nothing."""


def stream(stream: every.Stream | None) -> StreamContext:
    """A block in which a stream is this thread's current one of its device; None changes nothing.

    The stream's device is the current one, too; what was current before is so again afterwards.
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work for a CUDA device goes into; None: the current device.

    RuntimeError where there is no CUDA device.
    """
    found: Stream = every.current_stream(device, Stream)
    return found


def default_stream(device: Any = None) -> Stream:
    """The stream of a CUDA device that a thread uses until it chooses another.

    RuntimeError where there is no CUDA device.
    """
    found: Stream = every.default_stream(device, Stream)
    return found


def set_stream(stream: every.Stream | None) -> None:
    """Make a stream this thread's current one of its device; None changes nothing."""
    if stream is not None:
        every.set_stream(stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream of another library, by its ``cudaStream_t`` as a number; it is not kept alive.

    RuntimeError where there is no CUDA device.
    """
    found: Stream = Stream._known(device_of(device, Stream._type), data_ptr)
    return found


show_in("tensorbus.cuda", [(n, globals()[n]) for n in __all__])
