"""Streams and events as programs have them, over those of the backends.

On a device that has none there is one queue, the stream 0, and its events are never recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tensorbus import discovery
from tensorbus._base.leaving import Entered, Leaving, entering
from tensorbus._base.modes import STREAMS
from tensorbus._base.public_place import show_in
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import current_index, set_current_index
from tensorbus._dispatch.meant_devices import device_of, index_of, offered
from tensorbus._dispatch.stream_order import order
from tensorbus.plugin import streams as plugin
from tensorbus.plugin.backend import Backend


def _switched(stream: Stream | None, let_go: Callable[[], None]) -> Generator[Any, None, None]:
    """A block in which a stream is current; *let_go* is called at its end."""
    own = None if stream is None else stream._own
    if stream is None or own is None:
        try:
            yield
        finally:
            let_go()
        return
    backend = discovery.backend(stream.device.type)
    index, before = current_index(backend.name), backend.current_stream(own.index)
    try:
        set_stream(stream)
        yield
    finally:
        try:
            let_go()
            _set_back(backend, index, before)
        except BaseException:
            let_go()
            _set_back(backend, index, before)
            raise


def _set_back(backend: Backend, index: int, stream: plugin.Stream | None) -> None:
    set_current_index(backend.name, index)
    if stream is not None:
        backend.set_stream(stream)


_entered = Entered()


def _entered_stream(stream: Stream, outer: Callable[[], None]) -> Generator[Any, None, None]:
    return _switched(stream, functools.partial(setattr, _entered, "leave", outer))


class Stream:
    """A queue of a device's work: what is put into one runs in that order.

    *device* None is the accelerator, or else the CPU; a lower *priority* runs first where the
    device can tell. A stream that exists is given by *stream_id*, *device_index* and *device_type*,
    as it says them itself. In a ``with`` block it is the thread's current stream of its device,
    where kernels and copies go, and its device is the current one of that type. RuntimeError for a
    device that can't be used here.
    """

    _type: str | None = None
    device: Device
    _own: plugin.Stream | None

    def __new__(
        cls,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: str | None = None,
    ) -> Any:
        if stream_id is not None:
            index = None if device_index is None or device_index < 0 else device_index
            return cls._known(
                device_of(Device(device_type or cls._type or "cpu", index)), stream_id
            )
        where = device_of(device, cls._type)
        make = offered(where, "new_stream")
        return cls._over(where, None if make is None else make(index_of(where), priority))

    @classmethod
    def _over(cls, device: Device, own: plugin.Stream | None) -> Any:
        made = object.__new__(cls)
        made.device = device if own is None else Device(device.type, own.index)
        made._own = own
        return made

    @classmethod
    def _known(cls, device: Device, handle: int) -> Any:
        """The stream of a handle; RuntimeError where the device takes none of others."""
        wrap = offered(device, "wrap_stream")
        own = None if wrap is None else wrap(handle, index_of(device))
        if own is None and (handle or wrap is not None):
            raise RuntimeError(
                f"device {device} takes no streams of other libraries; make one with Stream(device)"
            )
        return cls._over(device, own)

    @property
    def device_index(self) -> int:
        """The index of its device; -1 where the device has one queue alone."""
        return -1 if self._own is None else self._own.index

    @property
    def device_type(self) -> str:
        """The type of its device."""
        return self.device.type

    @property
    def stream_id(self) -> int:
        """The device library's number for it; 0 where the device has one queue alone."""
        return 0 if self._own is None else self._own.handle()

    @property
    def priority(self) -> int:
        """Lower numbers run first, where the device can tell them apart."""
        return 0 if self._own is None else self._own.priority

    @property
    def native_handle(self) -> int:
        """The device library's stream, as a number; RuntimeError where there is none."""
        if self._own is None:
            raise RuntimeError("Backend doesn't support getting stream native handle.")
        return self._own.handle()

    def query(self) -> bool:
        """Whether all work that was put into the stream is done."""
        if self._own is None:
            self.synchronize()
            return True
        return self._own.query()

    def synchronize(self) -> None:
        """Wait for all work that was put into the stream; raises what went wrong there."""
        if self._own is not None:
            self._own.synchronize()
        else:
            discovery.backend(self.device.type).synchronize(index_of(self.device))

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for an event; returns at once."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for what another has now; returns at once."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event, None: a new one, behind the work of the stream; the event.

        RuntimeError on devices without streams.
        """
        made = Event(self.device) if event is None else event
        made.record(self)
        return made

    def is_capturing(self) -> bool:
        """Whether a graph records what is put into the stream: no device does so yet."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int, int]:
        return self.device_type, self.device_index, self.stream_id

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device_type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )

    if TYPE_CHECKING:

        def __enter__(self) -> Any: ...

        def __exit__(self, *_: object) -> None: ...

    else:
        __enter__, __exit__ = entering(_entered, _entered_stream)


class Event:
    """A mark in a stream, which the host and other streams can wait for.

    *device* None is the accelerator, or else the CPU. One that was never recorded counts as done.
    Only events made with *enable_timing* tell times; *blocking* has no effect.
    """

    _type: str | None = None
    device: Device

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = device_of(device, self._type)
        discovery.backend(self.device.type)  # an error here, where there is no such device
        self._timing, self._interprocess = enable_timing, interprocess
        self._own: plugin.Event | None = None

    @property
    def event_id(self) -> int:
        """A number of its own once it is recorded; 0 before."""
        return 0 if self._own is None else id(self._own)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind what a stream has now, None: the current one.

        RuntimeError on devices without streams, and for a stream of another device.
        """
        where = current_stream(self.device) if stream is None else stream
        self._same_type(where, "recording")
        own = self._own
        if where._own is not None and (own is None or own.index == where._own.index):
            self._own = own = own or self._made(where._own.index)
            if own is not None:
                own.record(where._own)
                return
        elif own is not None:
            raise RuntimeError(
                f"Event device {own.index} does not match recording stream's device "
                f"{where.device_index}."
            )
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def _made(self, index: int) -> plugin.Event | None:
        make = offered(self.device, "new_event")
        made: Any = None if make is None else make(index, self._timing, self._interprocess)
        if made is None and self._interprocess:
            raise RuntimeError(
                f"device {self.device} has no events for several processes: make one without "
                "interprocess"
            )
        return made

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, None: the current one, wait for the event; returns at once.

        RuntimeError for a stream of another type of device.
        """
        where = current_stream(self.device) if stream is None else stream
        self._same_type(where, "blocking")
        if self._own is not None and where._own is not None:
            where._own.wait_event(self._own)

    def _same_type(self, stream: Stream, how: str) -> None:
        if stream.device_type != self.device.type:
            raise RuntimeError(
                f"Event device type {self.device.type} does not match {how} stream's device type "
                f"{stream.device_type}."
            )

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return self._own is None or self._own.query()

    def synchronize(self) -> None:
        """Wait for the work before the mark."""
        if self._own is not None:
            self._own.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this event and a later one.

        ValueError unless both were made with ``enable_timing`` and recorded; RuntimeError while
        the device has not come to both.
        """
        if end_event.device.type != self.device.type:
            raise RuntimeError(
                f"Event device type {self.device.type} does not match other's device type "
                f"{end_event.device.type}"
            )
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._own is None or end_event._own is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return self._own.elapsed_time(end_event._own)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Any:
        """The event of another process, by its handle; RuntimeError where that is not offered."""
        where = device_of(device, cls._type)
        open = offered(where, "open_event")
        own = None if open is None else open(handle, index_of(where))
        if own is None:
            raise RuntimeError(f"device {where} has no events for several processes")
        made = cls.__new__(cls)
        made.device, made._own, made._timing, made._interprocess = where, own, False, True
        return made

    def ipc_handle(self) -> bytes:
        """What ``from_ipc_handle`` of another process takes.

        RuntimeError unless the event was made with ``interprocess``, and where that is not offered.
        """
        if not self._interprocess:
            raise RuntimeError("ipc_handle(): the event was not made with interprocess=True")
        self._own = self._own or self._made(index_of(self.device))
        if self._own is None:
            raise RuntimeError(f"{self.device.type} backend doesn't support events.")
        return self._own.handle()

    def __repr__(self) -> str:
        index = -1 if self._own is None else self._own.index
        return (
            f"torch.Event device_type={self.device.type}, device_index={index}, "
            f"event_flag={int(self._timing)}, event_id={self.event_id}"
        )


def current_stream(device: Any = None, cls: type[Stream] = Stream) -> Any:
    """The stream that this thread's work for a device goes into."""
    return _asked("current_stream", device, cls)


def default_stream(device: Any = None, cls: type[Stream] = Stream) -> Any:
    """The stream that a thread uses until it chooses another."""
    return _asked("default_stream", device, cls)


def _asked(method: str, device: Any, cls: type[Stream]) -> Any:
    where = device_of(device, cls._type)
    ask = offered(where, method)
    return cls._over(where, None if ask is None else ask(index_of(where)))


def set_stream(stream: Stream) -> None:
    """Make a stream the current one of its device, and that device the current one of its type."""
    own = stream._own
    if own is None:
        return
    backend: Backend = discovery.backend(stream.device.type)
    STREAMS.order = order
    order.know(backend, own)
    set_current_index(backend.name, own.index)
    backend.set_stream(own)


def record_stream(backend: Backend, array: Any, stream: Stream) -> None:
    """Keep an array's memory until what a stream has now is done.

    NotImplementedError where the device has no streams.
    """
    if stream._own is None:
        raise NotImplementedError(
            f"record_stream(): device type '{backend.name}' has one queue alone, where memory is "
            "never used too early; leave the call out"
        )
    backend.record_stream(array, stream._own)


class StreamContext(Leaving):
    """A block in which a stream is current; None changes nothing."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        """Choose the stream, and the one before it again."""
        return _switched(self.stream, functools.partial(setattr, self, "close", outer))


show_in("tensorbus", [("Stream", Stream), ("Event", Event)])
