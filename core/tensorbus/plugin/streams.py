"""Queues of a device's work, and marks in them: what a backend with streams returns."""

from __future__ import annotations

from tensorbus._base.weak import WeakValues as WeakValues


class Stream:
    """A queue of one device's work; what is put into one runs in that order.

    A backend that offers streams subclasses this and has every method.
    """

    index: int
    """The device it belongs to."""
    priority: int = 0
    """Lower numbers run first, where the device can tell them apart."""

    def handle(self) -> int:
        """The native stream as a number, as DLPack and other libraries take it."""
        raise NotImplementedError

    def query(self) -> bool:
        """Whether all work that was put into the stream is done."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for that work; raise the first pending ``IndexFault`` of the device."""
        raise NotImplementedError

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for *event* as last recorded; returns at once."""
        raise NotImplementedError


class Event:
    """A mark in a stream, which the host or another stream can wait for.

    One that was never recorded counts as done. A backend that offers events subclasses this and
    has every method.
    """

    index: int
    """The device it belongs to."""

    def record(self, stream: Stream) -> None:
        """Put the mark behind what *stream* has now, in place of an earlier one."""
        raise NotImplementedError

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for the work before the mark."""
        raise NotImplementedError

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds between two recorded events that were made with *timing*."""
        raise NotImplementedError

    def handle(self) -> bytes:
        """What ``Backend.open_event`` of another process takes, if made with *interprocess*."""
        raise NotImplementedError
