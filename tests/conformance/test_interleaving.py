"""Two threads in turn: each line of one is followed by a line of the other."""

from __future__ import annotations

import functools
import gc
import hashlib
import threading

import pytest

from tensorbus_conformance import interleaving
from tensorbus_conformance.interleaving import together


def test_a_slow_line_is_waited_for():
    told: list[tuple[str, int]] = []

    def kernel(who: int) -> None:
        told.append(("first", who))
        # It runs without the interpreter's lock, for far longer in the first thread.
        hashlib.pbkdf2_hmac("sha256", b"", b"", (400_000, 1)[who])
        told.append(("second", who))

    together([functools.partial(kernel, who) for who in range(2)])
    assert told == [("first", 0), ("first", 1), ("second", 0), ("second", 1)]


def test_one_that_waits_for_the_other_is_not_waited_for():
    lock = threading.Lock()
    told: list[tuple[str, int]] = []

    def kernel(who: int) -> None:
        with lock:
            told.append(("in", who))
            told.append(("out", who))

    together([functools.partial(kernel, who) for who in range(2)])
    assert told == [("in", 0), ("out", 0), ("in", 1), ("out", 1)]


def test_many_lines_under_a_lock_are_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    lock, looks = threading.Lock(), []
    asleep = interleaving._asleep

    def counted(thread: int) -> str | None:
        looks.append(asleep(thread))
        return looks[-1]

    monkeypatch.setattr(interleaving, "_asleep", counted)
    told: list[int] = []

    def kernel(who: int) -> None:
        with lock:
            for line in range(100):
                told.append(line)

    together([functools.partial(kernel, who) for who in range(2)])
    assert told == [*range(100)] * 2
    # Two hundred lines under the lock: one look at each, and not all that find a thread stuck.
    assert len(looks) < 2 * interleaving._LOOKS * 100


def test_what_the_collector_calls_puts_no_thread_ahead():
    told: list[tuple[int, int]] = []

    def callback(phase: str, info: dict[str, int]) -> None:
        collections.append(phase)
        collections.append(phase)

    def kernel(who: int) -> None:
        for line in range(50):
            garbage.append(list(map(list, [()] * (40, 1)[who])))
            told.append((line, who))

    collections: list[str] = []
    garbage: list[list[list[int]]] = []
    before = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(20)
    try:
        together([functools.partial(kernel, who) for who in range(2)])
        in_turn = told.copy()
        assert gc.isenabled()
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*before)
    assert in_turn == [(line, who) for line in range(50) for who in range(2)]


def _module(name: str, source: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": name}
    exec(source, names)
    return names


def test_what_the_frontend_calls_in_a_library_is_no_kernel_s():
    told: list[tuple[str, int]] = []
    twice = "def lines(tell, name, who):\n    tell((name, who))\n    tell((name, who))\n"
    library = _module("numpy.somewhere", twice)
    kernel = _module("some_backend", "def kernel(lines, *args):\n    lines(*args)\n")
    frontend = _module(
        "tensorbus.somewhere",
        "def op(lines, kernel, tell, who):\n"
        "    lines(tell, 'of an op', who)\n"
        "    kernel(lines, tell, 'of a kernel', who)\n",
    )
    op = functools.partial(frontend["op"], library["lines"], kernel["kernel"], told.append)
    together([functools.partial(op, who) for who in range(2)], interleaving.in_a_kernel)
    assert told[:2] == [("of an op", 0)] * 2
    assert [who for name, who in told if name == "of a kernel"] == [0, 1, 0, 1]
