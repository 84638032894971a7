"""One rank's process: how it is started, what it is sent, and what is known of its end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tensorbus.distributed.run import guard
from tensorbus.distributed.run.console import Console
from tensorbus.distributed.run.filtered import Filtered
from tensorbus.distributed.run.plan import ERR, OUT, Job, Plan, environment, rank_folder, words
from tensorbus.distributed.run.stream import Stream

_GUARD = str(Path(guard.__file__))
_PYTHON = (sys.executable, "-I", "-S", _GUARD)
"""Without site-packages and the user's settings: it starts in some milliseconds."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The event that a rank's process has ended."""

    rank: Rank


class Watchdog:
    """The process that ends the ranks if this one is killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*_PYTHON, "watch"], stdin=subprocess.PIPE, start_new_session=True
        )

    def tell(self, text: str) -> None:
        """``+ID`` and ``-ID``: process groups that it ends, or no more."""
        with contextlib.suppress(OSError):
            assert_pipe(self._process.stdin).write(f"{text}\n".encode())
            assert_pipe(self._process.stdin).flush()

    def close(self) -> None:
        """Let it end."""
        with contextlib.suppress(OSError):
            assert_pipe(self._process.stdin).close()
        self._process.wait()


def assert_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """A pipe that was asked for, for the type checker."""
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


class Rank:
    """One running rank."""

    def __init__(
        self,
        plan: Plan,
        job: Job,
        local: int,
        console: Console,
        watchdog: Watchdog,
        on_end: Callable[[Ended], None],
        filtered: Mapping[int, Filtered],
    ):
        self.local, self.number = local, job.first_rank + local
        self.code: int | None = None
        self.ended_at = float("inf")
        self.asked_to_end = False
        self._watchdog = watchdog
        self.started = time.monotonic()
        self._recorded: Path | None = None
        if plan.log_dir is not None:
            folder = rank_folder(plan, job, local)
            folder.mkdir(parents=True, exist_ok=True)
            self._recorded = folder / "error.json"
            self._recorded.unlink(missing_ok=True)  # of a job of the same name
        logs = {fd: _log(plan, job, local, fd) for fd in (OUT, ERR)}
        attached = local == plan.attached
        own = words(plan, local)
        bound = ",".join(map(str, sorted(plan.processors[local]))) if plan.processors else ""
        self.process = subprocess.Popen(
            [*_PYTHON, "start", str(os.getpid()), bound, *own] if os.name == "posix" else own,
            env=environment(plan, job, local),
            stdin=None if local == 0 and not _terminal(0) else subprocess.DEVNULL,
            stdout=None if attached else subprocess.PIPE,
            stderr=None if attached else subprocess.PIPE,
            # A group of its own, so that Ctrl-C reaches it once, from us, and so that all it
            # started can be ended with it.
            start_new_session=True,
        )
        watchdog.tell(f"+{self.process.pid}")
        self.streams: dict[int, Stream] = {}
        if not attached:
            for fd, pipe in ((OUT, self.process.stdout), (ERR, self.process.stderr)):
                shown = None if plan.silent.get(local, 0) & fd else console
                self.streams[fd] = Stream(
                    assert_pipe(pipe), self.number, fd, shown, logs[fd], filtered.get(fd)
                )
        for stream in self.streams.values():
            stream.start()
        threading.Thread(target=self._wait, args=(on_end,), daemon=True).start()

    def _wait(self, on_end: Callable[[Ended], None]) -> None:
        code = self.process.wait()
        self.ended_at, self.code = time.monotonic(), code
        on_end(Ended(self))

    @property
    def alive(self) -> bool:
        """Whether its end was not seen yet."""
        return self.code is None

    def tell(self, number: int) -> None:
        """Send a signal to the rank itself, which has helpers of its own to care for."""
        if self.alive:
            self.process.send_signal(number)

    def ask_to_end(self, number: int) -> None:
        """Send a signal that is to end it."""
        if self.alive:
            self.asked_to_end = True
            self.tell(number)

    def tell_group(self, number: int) -> bool:
        """Send a signal to the rank and to all it started; whether there is anything left."""
        return guard.tell(self.process.pid, number)

    def kill(self) -> None:
        """End it and all it started, at once."""
        self.asked_to_end = self.asked_to_end or self.alive
        self.tell_group(guard.KILL)

    def forget(self) -> None:
        """Nothing of it is left: its number may soon be another's."""
        self._watchdog.tell(f"-{self.process.pid}")

    # -- its last words ----------------------------------------------------------------------
    def drained(self, seconds: float) -> None:
        """Wait until what it printed was read."""
        stop = time.monotonic() + seconds
        for stream in self.streams.values():
            stream.join(max(0.0, stop - time.monotonic()))

    @property
    def failed_at(self) -> float:
        """When it began to fail: the traceback comes first, and leaving the job takes a while."""
        said = self.streams[ERR].traceback_at if ERR in self.streams else float("inf")
        if self.code is not None and self.code < 0:
            return self.ended_at
        return min(said, self.ended_at)

    @property
    def guilt(self) -> tuple[bool, float]:
        """The lowest is the first to fail. Who blames another rank comes after all that don't."""
        blames = ERR in self.streams and self.streams[ERR].blames_another
        return blames and not (self.code or 0) < 0, self.failed_at

    def last_words(self, lines: int = 25) -> list[str]:
        """The end of its last traceback, printed or recorded, else of its error output."""
        found = self._recorded_traceback()
        if ERR in self.streams:
            stream = self.streams[ERR]
            found = stream.traceback or found or list(stream.kept)[-10:]
        if len(found) > lines:
            found = [*found[:1], b"  ...", *found[2 - lines :]]
        return [line.decode(errors="replace") for line in found]

    def _recorded_traceback(self) -> list[bytes]:
        """What ``record`` of ``elastic.multiprocessing.errors`` wrote, if the program has it."""
        try:
            message = json.loads((self._recorded or Path()).read_text("utf-8"))["message"]
            text: str = message["extraInfo"]["py_callstack"]
        except (OSError, ValueError, TypeError, KeyError):
            return []  # nothing was recorded, or by something else
        return text.rstrip().encode(errors="replace").split(b"\n")


def _terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return True


def _log(plan: Plan, job: Job, local: int, fd: int) -> IO[bytes] | None:
    if plan.log_dir is None or not plan.logged.get(local, 0) & fd:
        return None
    name = "stdout.log" if fd == OUT else "stderr.log"
    return (rank_folder(plan, job, local) / name).open("wb", buffering=0)
