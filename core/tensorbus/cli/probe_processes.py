"""Runs one process for each plugin that is asked, a few at a time, and ends those that hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

AT_ONCE = 8
"""Enough that a few that hang keep nobody waiting, and not so many that they fill the machine."""

# Forked, a child begins with tensorbus loaded and the metadata read. Elsewhere the system's own
# libraries may not be used after a fork.
_FORKS = sys.platform.startswith("linux")
_PAUSE = 0.01
_PATIENCE = 5.0

Ask = Callable[[str, str, str], None]


class _Child:
    """One process that asks one plugin."""

    def __init__(self, group: str, name: str, path: Path, deadline: float, ask: Ask):
        self.path, self.deadline = path, deadline
        self._process: subprocess.Popen[bytes] | None = None
        with path.with_suffix(".log").open("wb") as log:
            if _FORKS:
                self._pid = os.fork()
                if self._pid == 0:
                    _child(log.fileno(), lambda: ask(group, name, str(path)))
            else:
                command = [sys.executable, "-P", "-m", "tensorbus.cli.probe", str(path)]
                self._process = subprocess.Popen(
                    [*command, group, name], stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )

    def status(self) -> int | None:
        """How it ended; None while it runs."""
        if self._process is not None:
            return self._process.poll()
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def kill(self) -> None:
        """End it, and wait until it is gone; not for ever, as a driver may hold it."""
        if self._process is not None:
            self._process.kill()
        else:
            os.kill(self._pid, signal.SIGKILL)
        patience = time.monotonic() + _PATIENCE
        while self.status() is None and time.monotonic() < patience:
            time.sleep(_PAUSE)


def _child(log: int, ask: Callable[[], None]) -> None:
    """In a forked child: ask, and end without the interpreter's own exit."""
    status = 1
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        ask()
        sys.stdout.flush()
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def ask_each_here(asked: Sequence[tuple[str, str]], folder: Path, timeout: float, ask: Ask) -> None:
    """Ask each (group, name) in a child of this process that may take *timeout* seconds.

    Beside the answer that the child itself writes, ``N.status`` says how it ended: its exit status,
    or null for one that gave no answer in time. Ends early when the process that wants to know is
    gone.
    """
    parent = os.getppid()
    waiting = [(i, group, name) for i, (group, name) in enumerate(asked)][::-1]
    running: list[_Child] = []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            i, group, name = waiting.pop()
            deadline = time.monotonic() + timeout
            running.append(_Child(group, name, folder / str(i), deadline, ask))
        for child in running[:]:
            status: Any = child.status()
            if status is None:
                if time.monotonic() < child.deadline:
                    continue
                child.kill()
            running.remove(child)
            child.path.with_suffix(".status").write_text(json.dumps(status))
        if os.getppid() != parent:
            for child in running:
                child.kill()
            return
        if running:
            time.sleep(_PAUSE)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all that it and its children started there."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def ending(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
