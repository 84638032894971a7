"""Backward passes of programs that use several streams.

A pass runs in the caller's current stream, while what it reads may have been computed in others. So
it waits for all that they have when it begins, and they go on when all of it is done: by then it
has freed what was saved, and their memory may be used again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorbus._base import registered
from tensorbus._base.weak import WeakValues
from tensorbus.plugin.backend import Backend
from tensorbus.plugin.streams import Event, Stream


class StreamOrder:
    """The streams that a program has made current, device by device."""

    def __init__(self) -> None:
        # A stream of another library is used no longer than the program holds it.
        self._known: dict[tuple[str, int], tuple[Backend, WeakValues[int, Stream]]] = {}

    def know(self, backend: Backend, stream: Stream) -> None:
        """A stream was made current, in some thread."""
        key = backend.name, stream.index
        if key not in self._known:
            self._known[key] = backend, WeakValues()
        for one in (stream, backend.default_stream(stream.index)):
            if one is not None:
                self._known[key][1][one.handle()] = one

    def forget(self, type: str) -> None:
        """The devices of a type are no more."""
        for key in [key for key in self._known if key[0] == type]:
            del self._known[key]

    def before(self) -> None:
        """Let this thread's current streams wait for all others."""
        for backend, current, others in self._current():
            for other in others:
                current.wait_event(_recorded(backend, other))

    def after(self) -> None:
        """Let all other streams wait for this thread's current ones."""
        for backend, current, others in self._current():
            event = _recorded(backend, current)
            for other in others:
                other.wait_event(event)

    def _current(self) -> Iterator[tuple[Backend, Stream, list[Stream]]]:
        for (_, index), (backend, streams) in list(self._known.items()):
            current = backend.current_stream(index)
            if current is not None:
                handle = current.handle()
                yield backend, current, [s for h, s in streams.items() if h != handle]


def _recorded(backend: Backend, stream: Stream) -> Event:
    event = backend.new_event(stream.index)
    if event is None:
        raise RuntimeError(
            f"the backend of device type '{backend.name}' has streams and no events: its "
            "new_event returned None"
        )
    event.record(stream)
    return event


order = StreamOrder()
registered.device_forgotten.listen(order.forget)
