"""The calls of modules as blocks of a profile."""

from __future__ import annotations

from typing import Any

from tensorbus.nn.modules._hooks import EVERYWHERE
from tensorbus.profiler.recording import Record, current
from tensorbus.utils.hooks import RemovableHandle


def watch_modules(handles: list[RemovableHandle]) -> None:
    """Record each call of a module in this thread: ``nn.Module: Linear_0``.

    The hooks' handles are in the list before the hooks are there: an interrupt leaves none behind.
    """
    recorder = current()
    numbers: dict[str, list[Any]] = {}
    running: list[Record] = []

    def before(module: Any, args: Any) -> None:
        if recorder is not None and current() is recorder:
            name = type(module).__name__
            known = numbers.setdefault(name, [])
            if not any(module is other for other in known):
                known.append(module)
            number = next(i for i, other in enumerate(known) if module is other)
            running.append(recorder.begin(f"nn.Module: {name}_{number}"))

    def after(module: Any, args: Any, output: Any) -> None:
        if recorder is not None and current() is recorder and running:
            recorder.end(running.pop())

    EVERYWHERE.used = True
    for table, hook, always_call in (
        (EVERYWHERE.hooks.forward_pre, before, False),
        (EVERYWHERE.hooks.forward, after, True),
    ):
        handle = table.handle()
        handles.append(handle)
        table[handle.id] = hook
        table.mark(handle.id, always_call=always_call)
