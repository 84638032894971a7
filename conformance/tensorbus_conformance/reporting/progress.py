"""The live count of a run, on a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from tensorbus_conformance.report import Result

_INTERVAL = 0.1


class Progress:
    """Shows how far a run is; use it as the ``progress`` of ``run``, inside ``with``.

    Silent where standard error is no terminal.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._done = self._bad = 0
        self._shown = 0.0

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
            self._task = self._bar.add_task("", total=None, bad="")
        return self

    def __call__(self, result: Result, total: int | None = None) -> None:
        """Count *result*; *total* is the number of cases that will be run, where known."""
        if self._bar is None:
            return
        self._done += 1
        self._bad += result.bad
        # A result takes tens of microseconds to make and a drawn line a thousand.
        now = time.monotonic()
        if now - self._shown < _INTERVAL and self._done != total:
            return
        self._shown = now
        bad = f"[red]{self._bad} failed[/red]" if self._bad else ""
        self._bar.update(
            self._task,
            completed=self._done,
            total=total,
            description=f"{result.level} {result.family}",
            bad=bad,
        )

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bad]}"),
        TimeElapsedColumn(),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
