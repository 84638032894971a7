"""Ctrl-C at a chosen place: exact, without signals and without a clock.

CPython looks for signals where a function begins, after a call and where a loop goes back; so a
KeyboardInterrupt is raised in front of an instruction of the library, or of what runs on its
behalf, that follows one of these.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import itertools
import random
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

import numpy as np

import tensorbus

_ROOT = str(Path(tensorbus.__file__).parent)
_CALLS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW")
_ON_OUR_BEHALF = frozenset(
    module.__file__
    for module in (contextlib, weakref, sys.modules[weakref.WeakSet.__module__],
                   sys.modules[np.errstate.__init__.__module__])
)  # fmt: skip
"""What blocks, weak tables and NumPy's error state are in Python; where a callback is interrupted
the interrupt is lost."""
_SKIPPED = ("discovery",)
"""Plugins are found once for a process; what an interrupt leaves there is tested elsewhere."""
_BLOCK = "_plugged.py"
"""But what ``discovery.plugged`` sets is set back each time."""


@functools.cache
def _checked(code: CodeType) -> frozenset[int]:
    """The instructions of a function in front of which signals are looked for.

    What follows a call under another handler than the call's is left out: a signal is raised by the
    call itself, and could not come there.
    """
    listed = dis.Bytecode(code)
    instructions = list(listed)

    def handler(offset: int) -> int | None:
        return next((e.target for e in listed.exception_entries if e.start <= offset < e.end), None)

    found = {i.argval for i in instructions if "JUMP_BACKWARD" in i.opname}
    for before, after in itertools.pairwise(instructions):
        begins = before.opname == "RESUME"
        called = before.opname in _CALLS and handler(before.offset) == handler(after.offset)
        if begins or called:
            found.add(after.offset)
    return frozenset(found)


@functools.cache
def _ours(file: str) -> bool:
    if file.startswith("<tensorbus ") or file in _ON_OUR_BEHALF:
        return True
    parts = Path(file).parts
    skipped = any(folder in parts for folder in _SKIPPED) and parts[-1] != _BLOCK
    return file.startswith(_ROOT) and not skipped


class Injector:
    """Runs a program and counts the places; raises at the one that is asked for."""

    def __init__(self, at: int | None = None, error: type[BaseException] = KeyboardInterrupt):
        self.at = at
        self.error = error
        self.count = 0
        self.place = ""

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not _ours(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti in _checked(frame.f_code):
            if self.count == self.at:
                code = frame.f_code
                self.place = f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
                sys.settrace(None)
                self.count += 1
                raise self.error
            self.count += 1
        return self._step

    def run(self, program: Callable[[], Any]) -> bool:
        """Run the program; whether it was interrupted.

        Without the garbage collector, which runs what others have left behind at any moment: its
        places would be counted as the program's own.
        """
        before, collects = sys.gettrace(), gc.isenabled()
        gc.disable()
        sys.settrace(self._enter)
        try:
            program()
        except self.error:
            return True
        finally:
            sys.settrace(before)
            if collects:
                gc.enable()
        return False


def interrupt(make: Callable[[], SimpleNamespace], most: int) -> None:
    """Interrupt at up to *most* places, and look while the traceback still holds everything."""
    make().run()
    counter = Injector()
    assert not counter.run(make().run)
    places = list(range(counter.count))
    if len(places) > most:
        places = sorted(random.Random(most).sample(places, most))
    for at in places:
        s = make()
        before, held = s.seen(), []

        def run(s: SimpleNamespace = s, held: list[Any] = held) -> None:
            try:
                s.run()
            except KeyboardInterrupt as error:
                held.append(error)
                raise

        injector = Injector(at)
        assert injector.run(run), injector.place
        assert held
        assert s.seen() == before, injector.place
