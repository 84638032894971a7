"""Two threads that change at each line of a kernel."""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DEPTH = 3
Cut = Callable[[Any, Any], bool]


def together(bodies: Sequence[Callable[[], None]], cut: Cut | None = None) -> None:
    """Run two bodies in threads that change at each line of what they call; raise what one raises.

    *cut* says of a frame below *top* whether its lines are cut; without it those of functions that
    are called in turn are not. What runs outside Python never is. Python's garbage collector is off
    meanwhile: what it calls has lines too, after which one thread would be ahead of the other.
    """
    baton, raised = _Baton(), []

    def run(who: int) -> None:
        baton.start(who)
        sys.settrace(functools.partial(_handing_over, baton, who, cut or _shallow, sys._getframe()))
        try:
            bodies[who]()
        except Exception as error:
            raised.append(error)
        finally:
            sys.settrace(None)
            baton.leave(who)

    threads = [threading.Thread(target=run, args=(who,)) for who in range(2)]
    collected = gc.isenabled()
    gc.disable()
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        if collected:
            gc.enable()
    if raised:
        raise raised[0]


def in_rounds(count: int, call: Callable[[int, int], None], cut: Cut | None = None) -> None:
    """Run ``call(who, k)`` in two threads together for each of so many *k*.

    Each round begins in step: a thread that was ahead in one would stay so.
    """
    for k in range(count):
        together([functools.partial(call, who, k) for who in range(2)], cut)


class _Baton:
    """Which of two threads runs; the other waits, but not for one that waits for it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.holder = 0
        self.started: dict[int, int] = {}
        self.gone: set[int] = set()
        self.stuck: dict[int, str] = {}
        self.lines = 0

    def start(self, who: int) -> None:
        with self.changed:
            self.started[who] = threading.get_native_id()
            self.changed.notify_all()
            self.changed.wait_for(lambda: len(self.started) == 2)
        self.wait(who)

    def wait(self, who: int) -> None:
        # The holder may stand at a lock of the device that this thread has: then both go on. One
        # that a busy machine has stopped is waited for, however long.
        seen, looks = None, 0
        with self.changed:
            while self.holder != who and not self.gone:
                holder = self.holder
                if holder in self.stuck:
                    if self.stuck[holder] == _asleep(self.started[holder]):
                        break  # as it was found: not every line under the lock takes all the looks
                    del self.stuck[holder]
                if self.changed.wait(_LOOK):
                    continue
                now = _asleep(self.started[holder])
                looks = looks + 1 if now is not None and now == seen else 0
                seen = now
                if looks == _LOOKS:
                    if now:
                        self.stuck[holder] = now
                    break
            self.holder = who

    def hand_over(self, who: int) -> None:
        self.lines += 1
        if self.lines > _EACH and self.lines % _SOME:
            return
        with self.changed:
            self.holder = 1 - who
            self.changed.notify_all()
        self.wait(who)

    def leave(self, who: int) -> None:
        with self.changed:
            self.gone.add(who)
            self.changed.notify_all()


_LOOK = 0.003  # seconds; the looks last longer than a wait for the interpreter
_LOOKS = 4
_EACH, _SOME = 2000, 7
"""Each of so many lines is a change, later one in seven: a kernel of many launches has many."""


def _asleep(thread: int) -> str | None:
    """How often a thread has fallen asleep, where it sleeps; elsewhere than on Linux: a constant.

    Equal answers in turn mean that it waits for something, not for a processor.
    """
    try:
        status = Path(f"/proc/self/task/{thread}/status").read_text(encoding="ascii")
    except OSError:
        return ""
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return fields["voluntary_ctxt_switches"] if fields["State"].startswith("S") else None


def _shallow(top: Any, frame: Any) -> bool:
    caller, depth = frame, 0
    while caller is not None and caller is not top:
        caller, depth = caller.f_back, depth + 1
    return depth <= _DEPTH


def in_a_kernel(top: Any, frame: Any) -> bool:
    """Whether a frame is a kernel's, or one of a library's that a kernel calls.

    What the frontend or the suite calls in a library is none: how many lines it runs depends on
    the values and on what was called before, so one thread would be ahead of the other from then
    on; and of the frontend's locks the other thread may hold one.
    """
    while frame is not None and frame is not top:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OF_KERNELS):
            package = module.partition(".")[0]
            if package in _CALLERS:
                return False
            if package in _LIBRARIES:
                frame = frame.f_back
                continue
        return True
    return False


_OF_KERNELS = tuple(
    f"tensorbus.plugin.{room}" for room in ("array_library", "immutable_arrays", "kernel_language")
)
_CALLERS = ("tensorbus", "tensorbus_conformance")
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy"}


def _handing_over(
    baton: _Baton, who: int, cut: Cut, top: Any, frame: Any, event: str, arg: Any
) -> Any:
    if not cut(top, frame):
        return None

    def at(frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            baton.hand_over(who)
        return at

    return at
