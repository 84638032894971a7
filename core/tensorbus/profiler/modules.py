"""The calls of modules as blocks of a profile."""

from __future__ import annotations

from typing import Any

from tensorbus.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from tensorbus.profiler.recording import Record, current
from tensorbus.utils.hooks import RemovableHandle


def watch_modules() -> list[RemovableHandle]:
    """Record each call of a module in this thread: ``nn.Module: Linear_0``."""
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

    return [
        register_module_forward_pre_hook(before),
        register_module_forward_hook(after, always_call=True),
    ]
