"""L0 cases of streams, events and figures of memory, for devices that offer them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus import discovery
from tensorbus.plugin import MEMORY_STATS, Event, IndexFault, Stream
from tensorbus_conformance import formats
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial, Unsupported

FAMILY = "runtime"
D = formats.FLOAT32
SIZE = 1_500_000
ROUNDS = 8
ATTEMPTS = 5
"""A busy machine may be done with the work of one stream before another was given its own."""


def _streams(t: Trial, count: int) -> list[Stream]:
    """As many further streams, each another."""
    if discovery.offered(t.backend, "new_stream") is None:
        raise Unsupported("new_stream is not offered")
    made = [t.backend.new_stream(t.index) for _ in range(count)]
    found = [s for s in made if s is not None]
    if not found:
        raise Unsupported("new_stream gives None")
    if len(found) < count:
        raise Mismatch("new_stream gave a stream once and None the next time")
    if len({s.handle() for s in found}) < count:
        raise Mismatch("two streams have one handle")
    if any(s.index != t.index for s in found):
        raise Mismatch(f"a stream of device {t.index} says it is of another")
    return found


def _event(t: Trial, timing: bool = False) -> Event:
    made = t.backend.new_event(t.index, timing)
    if made is None:
        raise Mismatch("new_stream is offered, and new_event gave None")
    return made


class _Within:
    """A block in which a stream is current, and what was current before is so again after."""

    def __init__(self, t: Trial, stream: Stream):
        self.backend, self.index, self.stream = t.backend, t.index, stream

    def __enter__(self) -> None:
        self.before = self.backend.current_stream(self.index)
        self.backend.set_stream(self.stream)
        now = self.backend.current_stream(self.index)
        if now is None or now.handle() != self.stream.handle():
            raise Mismatch("current_stream is another than the one that set_stream was given")

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            self.backend.set_stream(self.before)


def _filled(t: Trial, value: float) -> Any:
    return t.backend.from_host(np.full(SIZE, value, np.float32), D, t.index)


class _Counting:
    """Adds the number of rounds: so slowly that whoever does not wait for it sees less."""

    def __init__(self, t: Trial):
        add = t.device.kernel("add", D)
        if add is None:
            raise Unsupported("no kernel for add")
        self._add = add
        # Nothing is uploaded later: some devices wait for all that is in the stream.
        self.zeros, self._one = _filled(t, 0), _filled(t, 1)
        t.backend.synchronize(t.index)

    def __call__(self, x: Any) -> Any:
        for _ in range(ROUNDS):
            x = self._add(x, self._one)
        return x


def _all(t: Trial, x: Any, value: float) -> None:
    t.exact(t.read(x, D, (SIZE,)), np.full(SIZE, value), D)


def check_order(t: Trial) -> None:
    """Work of one stream runs in its order, and reading waits for the current stream."""
    (s,) = _streams(t, 1)
    counted = _Counting(t)
    with _Within(t, s):
        _all(t, counted(counted(counted.zeros)), 2 * ROUNDS)
    default = t.backend.default_stream(t.index)
    current = t.backend.current_stream(t.index)
    if default is None or current is None or default.handle() == s.handle():
        raise Mismatch("a further stream is the default one, or there is no default")


def check_wait_event(t: Trial) -> None:
    """What follows an event in another stream sees the work before the event."""
    a, b, c = _streams(t, 3)
    counted = _Counting(t)
    for _ in range(ATTEMPTS):
        with _Within(t, a):
            x = counted(counted.zeros)
        done = _event(t)
        done.record(a)
        b.wait_event(done)
        with _Within(t, b):
            y = counted(x)
        done.record(b)
        c.wait_event(done)
        with _Within(t, c):
            _all(t, counted(y), 3 * ROUNDS)


def check_query(t: Trial) -> None:
    """An event and a stream are done when they were waited for, and an event without a mark is."""
    a, b = _streams(t, 2)
    counted = _Counting(t)
    event = _event(t)
    if not event.query():
        raise Mismatch("an event that was never recorded is not done")
    event.synchronize()
    with _Within(t, a):
        x = counted(counted.zeros)
    event.record(a)
    event.synchronize()
    if not event.query():
        raise Mismatch("an event is not done after its synchronize")
    a.synchronize()
    if not a.query():
        raise Mismatch("a stream is not done after its synchronize")
    with _Within(t, b):  # nothing is left to wait for
        _all(t, x, ROUNDS)


def check_elapsed_time(t: Trial) -> None:
    """Times between events add up, and are not negative."""
    (s,) = _streams(t, 1)
    counted = _Counting(t)
    marks = [_event(t, timing=True) for _ in range(3)]
    with _Within(t, s):
        marks[0].record(s)
        x = counted(counted.zeros)
        marks[1].record(s)
        x = counted(x)
        marks[2].record(s)
    marks[2].synchronize()
    first, second, both = (marks[i].elapsed_time(marks[j]) for i, j in ((0, 1), (1, 2), (0, 2)))
    if first <= 0 or second <= 0 or abs(first + second - both) > 1e-2 * both + 1e-2:
        raise Mismatch(f"{first} ms and {second} ms add up to {both} ms")
    _all(t, x, 2 * ROUNDS)


def check_record_stream(t: Trial) -> None:
    """Memory that another stream still reads is not used again, once it was told."""
    a, b = _streams(t, 2)
    counted = _Counting(t)
    before = _event(t)
    for attempt in range(ATTEMPTS):
        with _Within(t, a):
            x = _filled(t, 5)
        before.record(a)
        b.wait_event(before)
        with _Within(t, b):
            for _ in range(2**attempt):
                counted(counted.zeros)
            before.record(b)
            y = counted(x)
            t.backend.record_stream(x, b)
            del x
        with _Within(t, a):
            for _ in range(4):
                _filled(t, -1)
        # Whoever had not begun to read by now would read what took its place.
        certain = not before.query()
        with _Within(t, b):
            _all(t, y, 5 + ROUNDS)
        if certain:
            return


def check_threads(t: Trial) -> None:
    """A thread's current stream is its own."""
    (s,) = _streams(t, 1)
    seen: list[Any] = []

    def look() -> None:
        seen.append(t.backend.current_stream(t.index))

    with _Within(t, s):
        other = threading.Thread(target=look)
        other.start()
        other.join()
    default = t.backend.default_stream(t.index)
    if not seen or seen[0] is None or default is None or seen[0].handle() != default.handle():
        raise Mismatch("a stream that one thread chose is current in another")


def check_faults(t: Trial) -> None:
    """An index outside is raised where its stream is waited for, once."""
    (s,) = _streams(t, 1)
    take = t.device.kernel("take", D)
    if take is None or t.traits.host_sync:
        raise Unsupported("take finds faults at once")
    index = t.backend.from_host(np.array([0, 9]), formats.INT64, t.index)
    with _Within(t, s):
        take(t.backend.from_host(np.ones(3, np.float32), D, t.index), 0, index, False)
    for wait in (s.synchronize, lambda: t.backend.synchronize(t.index)):
        try:
            wait()
        except IndexFault as fault:
            if (fault.value, wait) != (9, s.synchronize):
                raise Mismatch(f"{fault} is raised a second time, or wrong") from None
        else:
            if wait == s.synchronize:
                raise Mismatch("the stream's synchronize does not raise its fault")


def check_handle(t: Trial) -> None:
    """A stream's handle gives the same stream."""
    (s,) = _streams(t, 1)
    if discovery.offered(t.backend, "wrap_stream") is None:
        raise Unsupported("wrap_stream is not offered")
    again = t.backend.wrap_stream(s.handle(), t.index)
    if again is None or again.handle() != s.handle():
        raise Mismatch("wrap_stream gave another stream for the handle of one")
    counted = _Counting(t)
    with _Within(t, again):
        _all(t, counted(counted.zeros), ROUNDS)


def check_memory(t: Trial) -> None:
    """The figures of memory follow what is allocated and freed."""
    ask = discovery.offered(t.backend, "memory_stats")
    if ask is None or ask(t.index) is None:
        raise Unsupported("memory_stats is not offered")
    t.backend.synchronize(t.index)
    t.backend.reset_memory_peaks(t.index)
    before = ask(t.index)
    arrays = [t.backend.empty((SIZE,), D, t.index) for _ in range(3)]
    most = ask(t.index)
    del arrays[1:]
    after = ask(t.index)
    size = SIZE * 4
    for told in (before, most, after):
        if not set(told) <= set(MEMORY_STATS) or any(n < 0 for n in told.values()):
            raise Mismatch(f"memory_stats gave {told}; the names are {', '.join(MEMORY_STATS)}")
    grown = {name: most[name] - before[name] for name in before}
    left = {name: after[name] - before[name] for name in before}
    near = range(3 * size, 3 * size + 3 * 4096)
    for name in ("allocated", "allocated_peak", "allocated_total"):
        if name in grown and grown[name] not in near:
            raise Mismatch(f"three arrays of {size} bytes let {name} grow by {grown[name]}")
    if "allocated" in left and left["allocated"] not in range(size, size + 4096):
        raise Mismatch(f"one array of {size} bytes is left, and allocated grew by {left}")
    for name in ("allocated_peak", "allocated_total"):
        if name in left and left[name] != grown[name]:
            raise Mismatch(f"{name} fell when arrays were freed")
    if "reserved" in most and most["reserved"] < most.get("allocated", 0):
        raise Mismatch(f"more is allocated than reserved: {most}")
    t.backend.reset_memory_peaks(t.index)
    last = ask(t.index)
    if last.get("allocated_peak", 0) != last.get("allocated", 0) and "allocated_peak" in last:
        raise Mismatch(f"reset_memory_peaks leaves the peak above what is allocated: {last}")
    del arrays


CHECKS = {
    "streams": (
        check_order, check_wait_event, check_query, check_elapsed_time, check_record_stream,
        check_threads, check_faults, check_handle,
    ),
    "memory_stats": (check_memory,),
}  # fmt: skip


def cases() -> Iterator[Case]:
    """The cases of streams and of figures of memory."""
    for op, checks in CHECKS.items():
        for check in checks:
            name = check.__name__.removeprefix("check_") if op == "streams" else "figures"
            yield Case(f"L0/{op}/float32/{name}", FAMILY, check, (D,))
