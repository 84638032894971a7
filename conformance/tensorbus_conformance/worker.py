"""Runs cases in processes of their own, so that a kernel that dies or hangs is one result."""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing import resource_tracker
from pathlib import Path

from tensorbus_conformance.case import Case
from tensorbus_conformance.exceptions import KnownGap, excuse
from tensorbus_conformance.report import CRASH, Result

TIMEOUT = 300.0
"""Seconds without a result after which a case counts as hanging."""

CHUNK = 400
"""Cases handed to a process at a time."""


def run_apart(
    name: str,
    cases: Sequence[Case],
    gaps: Sequence[KnownGap],
    timeout: float = TIMEOUT,
    jobs: int = 1,
    samples: str | Path | None = None,
) -> Iterator[Result]:
    """The result of each case on the device *name*, in no order where there are several *jobs*.

    A family's cases run in one process as far as they can; a new one takes over from one that died.
    """
    chunks: queue.SimpleQueue[list[Case]] = queue.SimpleQueue()
    results: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
    for _, family in groupby(cases, key=lambda case: (case.level, case.family)):
        members = list(family)
        for start in range(0, len(members), CHUNK):
            chunks.put(members[start : start + CHUNK])
    stopping = threading.Event()
    threads = [
        threading.Thread(
            target=_work,
            args=(name, samples, chunks, gaps, timeout, results, stopping),
            daemon=True,
        )
        for _ in range(jobs)
    ]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def _work(
    name: str,
    samples: str | Path | None,
    chunks: queue.SimpleQueue[list[Case]],
    gaps: Sequence[KnownGap],
    timeout: float,
    results: queue.SimpleQueue[Result | BaseException | None],
    stopping: threading.Event,
) -> None:
    """One thread: feeds a process with chunks, and starts another where it died."""
    process = None
    try:
        while not stopping.is_set():
            try:
                waiting = chunks.get_nowait()
            except queue.Empty:
                break
            while waiting and not stopping.is_set():
                process = process or _Process(name, gaps, samples)
                done = 0
                for result in process.results(waiting, timeout, stopping):
                    done += 1
                    results.put(result)
                    if result.outcome == CRASH:
                        process.end()
                        process = None
                        break
                waiting = waiting[done:]
    except BaseException as error:
        results.put(error)
    finally:
        if process is not None:
            process.end()
        results.put(None)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process that is started inside never sees Ctrl-C: the parent does, and ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It is started with the first process otherwise, and then lets interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Process:
    """A process that serves chunks of cases."""

    def __init__(self, name: str, gaps: Sequence[KnownGap], samples: str | Path | None):
        # Not fork: a device that the parent has touched hangs or breaks in a forked child.
        context = multiprocessing.get_context("spawn")
        self.gaps = gaps
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, name, list(gaps), samples), daemon=True
        )
        with _interrupts_blocked():
            self.process.start()
        theirs.close()

    def results(
        self, cases: Sequence[Case], timeout: float, stopping: threading.Event
    ) -> Iterator[Result]:
        """The result of each case; the last is a crash where the process ends or hangs."""
        with contextlib.suppress(ConnectionError):  # it died between two chunks; reading shows it
            self.pipe.send([case.id for case in cases])
        for case in cases:
            waited = 0.0
            try:
                while not self.pipe.poll(min(0.5, timeout)):
                    waited += 0.5
                    if stopping.is_set():
                        return
                    if waited >= timeout:
                        yield _crash(case, self.gaps, f"no result within {timeout:g} seconds")
                        return
                yield self.pipe.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                code = self.process.exitcode
                yield _crash(case, self.gaps, f"the process died with exit code {code}")
                return

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _crash(case: Case, gaps: Sequence[KnownGap], message: str) -> Result:
    return Result(case.id, case.family, CRASH, message, excepted=excuse(gaps, case.id))


def _serve(
    pipe: multiprocessing.connection.Connection,
    name: str,
    gaps: list[KnownGap],
    samples: str | Path | None,
) -> None:
    from tensorbus_conformance.cases import each_case
    from tensorbus_conformance.found import load
    from tensorbus_conformance.runner import find_backend, run_case
    from tensorbus_conformance.trial import Device

    cases: dict[str, Case] = {}
    if samples is not None:
        cases |= {case.id: case for case in (found.case() for found in load(samples))}
    # Making all of them takes seconds: as many as lead to the first that is asked for.
    others = each_case()
    device = Device(*find_backend(name))
    while True:
        try:
            ids = pipe.recv()
        except EOFError:
            return
        for id in ids:
            while id not in cases and (case := next(others, None)) is not None:
                cases.setdefault(case.id, case)
            pipe.send(run_case(cases[id], device, gaps))
