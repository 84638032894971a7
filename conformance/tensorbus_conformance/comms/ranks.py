"""A set of ranks as the parent sees it: starts them, gives them cases, does what a fault is."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any

import tensorbus.distributed as dist
from tensorbus_conformance.comms import serve
from tensorbus_conformance.comms.case import CommCase, Fault
from tensorbus_conformance.comms.setting import Setting

START = 180.0
"""Seconds that starting processes may take, and their meeting."""
APART = 30.0
"""Seconds that a case with a fault may take at least: ranks ask each other who it was."""
GRACE = 1.5
"""Seconds for the other ranks when one has failed."""

_numbers = itertools.count(1)


class Broken(Exception):
    """The ranks do not come together."""


@dataclass(frozen=True)
class Target:
    """The comm under test."""

    name: str
    threads: bool = False
    launcher: Callable[[int], list[str]] | None = None
    """The command that starts so many processes of a program, where the comm has its own."""
    paths: tuple[str, ...] = ()
    """Where its processes look for modules first."""


@dataclass
class Reply:
    """What became of a case on one rank."""

    outcome: str = ""
    """Empty: it gave none."""
    message: str = ""
    in_step: bool = False
    reported: dict[str, Any] = field(default_factory=dict)
    ended: bool = False
    """Whether its process ended."""


class Server:
    """What all sets of a run share: a folder for files, and a store that no rank serves."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tensorbus-comm-"))
        secret = secrets.token_bytes(16)
        self._store = dist.TCPStore("127.0.0.1", 0, is_master=True, secret=secret)
        self.store = ("127.0.0.1", self._store.port, secret)

    def close(self) -> None:
        """Free everything."""
        self._store.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Ranks:
    """Processes that run cases until one breaks them."""

    def __init__(self, target: Target, size: int, timeout: float, server: Server):
        self.target, self.size, self.timeout = target, size, timeout
        label = f"set{next(_numbers)}"
        self.folder = server.folder / label
        self.folder.mkdir()
        errors = server.folder / "errors"
        errors.mkdir(exist_ok=True)
        self._errors = errors
        key = secrets.token_bytes(16)
        self._listener = Listener(authkey=key)
        self.setting = Setting(
            target.name, size, timeout, str(self._listener.address), key, server.store,
            str(self.folder), str(errors), label, (*target.paths, *map(os.path.abspath, sys.path)),
            target.threads, target.launcher is not None,
        )  # fmt: skip
        self._processes: list[Any] = []
        self._lines: dict[int, Connection] = {}
        self._pids: dict[int, int] = {}
        self.dtypes: list[str] = []
        self.device = ""
        try:
            self._start(server.folder / f"{label}.setting")
        except BaseException:
            self.kill()
            raise

    # -- starting ----------------------------------------------------------------------------
    def _start(self, file: Path) -> None:
        connected: list[tuple[int, int, Connection]] = []
        refused: list[str] = []
        thread = threading.Thread(target=self._accept, args=(connected, refused), daemon=True)
        thread.start()
        if self.target.launcher is not None:
            file.write_bytes(pickle.dumps(self.setting))
            file.chmod(0o600)
            command = [*self.target.launcher(self.size), sys.executable, "-m", serve.__name__]
            environment = {**os.environ, serve.SETTING: str(file)}
            self._processes = [
                subprocess.Popen(
                    command,
                    env=environment,
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=(self._errors / self.setting.label).open("w"),
                )
            ]
        else:
            context = _context()
            for number in range(1 if self.target.threads else self.size):
                process = context.Process(
                    target=serve.main, args=(self.setting, number), daemon=True
                )
                process.start()
                self._processes.append(process)
        end = time.monotonic() + START
        while thread.is_alive():
            thread.join(0.02)
            if thread.is_alive() and (time.monotonic() > end or self._all_ended()):
                raise Broken(f"only {len(connected)} of {self.size} ranks started{self._said()}")
        if refused:
            raise Broken(refused[0])
        for number, pid, line in connected:
            self._lines[number], self._pids[number] = line, pid
        self._await_ready()

    def _accept(self, connected: list[Any], refused: list[str]) -> None:
        try:
            while len(connected) < self.size:
                line = self._listener.accept()
                _, number, pid = line.recv()
                if number < 0:
                    refused.append(line.recv()[1])
                    return
                connected.append((number, pid, line))
        except Exception as e:
            refused.append(f"the ranks could not be started: {e}")

    def _await_ready(self) -> None:
        broken = {}
        end = time.monotonic() + START
        for number, line in sorted(self._lines.items()):
            if not line.poll(max(end - time.monotonic(), 0.05)):
                broken[number] = "init_process_group did not come back in time"
                continue
            try:
                word, *more = line.recv()
            except (EOFError, OSError):
                word, more = "broken", [f"its process died{self._said(number)}"]
            if word == "ready":
                self.dtypes, self.device = more
            else:
                broken[number] = more[0]
        if broken:
            number, text = next(iter(broken.items()))
            raise Broken(f"init_process_group on rank {number} of {self.size}: {text}")

    def _all_ended(self) -> bool:
        return all(_ended(p) for p in self._processes)

    def _said(self, number: int | None = None) -> str:
        """The last that the processes wrote to standard error."""
        name = self.setting.label if number is None else f"{self.setting.label}-{number}"
        for file in sorted(self._errors.glob(f"{name}*")):
            lines = file.read_text(errors="replace").strip().splitlines()
            if lines:
                return f"; it wrote: {lines[-1][:300]}"
        return ""

    # -- cases -------------------------------------------------------------------------------
    def run(self, case: CommCase) -> list[Reply]:
        """The reply of each rank; those that give none in time have no outcome."""
        replies = [Reply() for _ in range(self.size)]
        waiting = dict(self._lines)
        for line in waiting.values():
            with contextlib.suppress(OSError):
                line.send(("case", case.id))
        limit = 2 * self.timeout  # a case that fails well ends with the time-out of a call
        end = time.monotonic() + (max(limit, APART) if case.apart else limit)
        at_point: set[int] = set()
        point = ""
        while waiting and time.monotonic() < end:
            failed = any(r.outcome and not r.in_step for r in replies)
            ready = wait(list(waiting.values()), 0.05)
            for number in [n for n, line in waiting.items() if line in ready]:
                word, *more = self._next(number)
                if word == "sync" and not any(r.outcome for r in replies):
                    at_point.add(number)
                    point = more[0]
                elif word == "sync":
                    self._send(number, "abandon")
                elif word == "done":
                    replies[number] = Reply(*more)
                    waiting.pop(number)
                else:
                    # Its number may be another process's by the time the set is ended.
                    self._pids.pop(number, None)
                    replies[number].ended = True
                    waiting.pop(number)
            if any(r.outcome for r in replies):
                for number in at_point:
                    self._send(number, "abandon")
                at_point.clear()
            elif at_point and at_point == set(waiting):
                for number in at_point:
                    self._send(number, "go")
                at_point.clear()
                if point == "fault" and case.fault is not None:
                    victim = case.fault.victim(self.size)
                    self._do(case.fault, victim)
                    waiting.pop(victim, None)
            if not failed and any(r.outcome and not r.in_step for r in replies):
                end = min(end, time.monotonic() + GRACE)
        for number in waiting:
            replies[number].message = "gave no result in time"
        for number, reply in enumerate(replies):
            if reply.ended:
                reply.message = f"died{self._said(number)}"
        return replies

    def _next(self, number: int) -> Any:
        try:
            return self._lines[number].recv()
        except (EOFError, OSError):
            return ("ended",)

    def _send(self, number: int, word: str) -> None:
        with contextlib.suppress(OSError):
            self._lines[number].send(word)

    def _do(self, fault: Fault, victim: int) -> None:
        time.sleep(fault.delay)
        number = signal.SIGKILL if fault.action == "kill" else signal.SIGSTOP
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pids[victim], number)

    # -- ending ------------------------------------------------------------------------------
    def end(self, well: bool = True, timeout: float = 60.0) -> str:
        """Let the ranks leave; what they did wrong, or nothing.

        Where not *well* their exit codes do not count.
        """
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send(("end",))
        stop = time.monotonic() + timeout
        while not self._all_ended() and time.monotonic() < stop:
            time.sleep(0.01)
        late = [n for n, p in enumerate(self._processes) if not _ended(p)]
        codes = [_code(p) for p in self._processes]
        left = self.left_behind()
        self.kill()
        if late:
            return f"{timeout:g} seconds after the end, processes {late} still run"
        if well and any(codes):
            return f"the processes ended with the codes {codes}{self._said()}"
        return f"files were left behind: {', '.join(left)}" if left else ""

    def left_behind(self) -> list[str]:
        """Files that the ranks made and did not remove."""
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))

    def kill(self) -> None:
        """End all processes, whatever they are doing."""
        if not self._all_ended():
            for pid in self._pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.kill()
            if isinstance(process, subprocess.Popen):
                process.wait()
            else:
                process.join()
        for line in self._lines.values():
            line.close()
        self._pids.clear()
        self._listener.close()

    def all_ended(self, timeout: float) -> bool:
        """Whether all processes end in time."""
        stop = time.monotonic() + timeout
        while not self._all_ended():
            if time.monotonic() > stop:
                return False
            time.sleep(0.02)
        return True


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # Imported once and not by every rank; no device is touched by that.
    context.set_forkserver_preload([serve.__name__])
    return context


def _ended(process: Any) -> bool:
    if isinstance(process, subprocess.Popen):
        return process.poll() is not None
    return process.exitcode is not None


def _code(process: Any) -> int | None:
    code: int | None = process.poll() if isinstance(process, subprocess.Popen) else process.exitcode
    return code
