"""Runs cases in a process of their own, so that a kernel that dies or hangs is one result."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection

from tensorbus_conformance.case import Case
from tensorbus_conformance.exceptions import KnownGap
from tensorbus_conformance.report import CRASH, Result

TIMEOUT = 300.0
"""Seconds without a result after which a case counts as hanging."""


def run_apart(
    name: str, cases: Sequence[Case], gaps: Sequence[KnownGap], timeout: float = TIMEOUT
) -> Iterator[Result]:
    """The result of each case on the device *name*; a new worker takes over from one that died."""
    waiting = list(cases)
    while waiting:
        done = 0
        for result in _one_worker(name, waiting, gaps, timeout):
            done += 1
            yield result
        waiting = waiting[done:]


def _one_worker(
    name: str, cases: Sequence[Case], gaps: Sequence[KnownGap], timeout: float
) -> Iterator[Result]:
    # Not fork: a device that the parent has touched hangs or breaks in a forked child.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, name, [case.id for case in cases], list(gaps))
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    theirs.close()
    try:
        for case in cases:
            try:
                if not ours.poll(timeout):
                    yield _crash(case, gaps, f"no result within {timeout:g} seconds")
                    return
                yield ours.recv()
            except (EOFError, ConnectionError):
                process.join()
                yield _crash(case, gaps, f"the process died with exit code {process.exitcode}")
                return
    finally:
        process.kill()
        process.join()
        ours.close()


def _crash(case: Case, gaps: Sequence[KnownGap], message: str) -> Result:
    reason = next((gap.reason for gap in gaps if gap.covers(case.id)), None)
    return Result(case.id, case.family, CRASH, message, excepted=reason)


def _serve(pipe: Connection, name: str, ids: list[str], gaps: list[KnownGap]) -> None:
    from tensorbus_conformance.cases import all_cases
    from tensorbus_conformance.runner import find_backend, run_case
    from tensorbus_conformance.trial import Device

    cases = {case.id: case for case in all_cases()}
    device = Device(*find_backend(name))
    for id in ids:
        pipe.send(run_case(cases[id], device, gaps))
