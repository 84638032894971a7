"""Runs a program of the gallery and reports which of its lines waited for a device.

    python tests/support/gallery.py REPORT PROGRAM DEVICE [STEPS]

REPORT is the file for a list of stacks in JSON: of each wait the lines of PROGRAM, innermost first,
that led to it, and 0 at the end where another thread than the program's waited.
"""

from __future__ import annotations

import json
import runpy
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorbus import discovery


def lines_of(program: str) -> tuple[int, ...]:
    """The lines of *program* that this thread is in."""
    lines = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == program:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    if threading.current_thread() is not threading.main_thread():
        lines.append(0)
    return tuple(lines)


def watch(backend: Any, program: str) -> dict[tuple[int, ...], None]:
    """The stacks of all later waits for the *backend*, each once."""
    stacks: dict[tuple[int, ...], None] = {}

    def watched(wait: Callable[..., Any]) -> Callable[..., Any]:
        def waiting(*arguments: Any) -> Any:
            stacks[lines_of(program)] = None
            return wait(*arguments)

        return waiting

    for name in ("to_host", "synchronize"):
        setattr(backend, name, watched(getattr(backend, name)))
    return stacks


def main(report: str, program: str, device: str, *steps: str) -> None:
    stacks = watch(discovery.backend(device), program)
    sys.argv = [program, device, *steps]
    sys.path[0] = str(Path(program).parent)  # as where Python itself runs it
    runpy.run_path(program, run_name="__main__")
    Path(report).write_text(json.dumps(list(stacks)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
