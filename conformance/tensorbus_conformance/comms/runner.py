"""Runs the comm suite and says how each case came out."""

from __future__ import annotations

import queue
import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tensorbus.plugin import Comm, CommContext
from tensorbus_conformance.comms import cases
from tensorbus_conformance.comms.case import LEVELS, CommCase
from tensorbus_conformance.comms.plugged import Plugged, plugged
from tensorbus_conformance.comms.ranks import Broken, Ranks, Reply, Server, Target
from tensorbus_conformance.comms.report import CommReport
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.report import BLOCKED, CRASH, FAIL, PASS, UNSUPPORTED, Result

if TYPE_CHECKING:
    from tensorbus_conformance.exceptions import KnownGap

TIMEOUT = 10.0
"""Seconds that a call of the comm may take, unless the case says otherwise."""
WAITING = 4
"""Sets of ranks in which faults happen at a time."""
HANGS = 3
"""So many cases of one op that fail by their time-out are enough: its others are not run."""
HANGS_IN_A_ROW = 6
"""So many, whatever their op, end the run."""

Progress = Callable[[Result, int], None]
Work = tuple[int, list[CommCase]]


def run_comm(
    comm: str | Callable[[CommContext], Comm],
    ranks: int | Sequence[int] = (2, 4),
    level: str | Sequence[str] | None = None,
    pattern: str | None = None,
    *,
    profile: str = "full",
    timeout: float = TIMEOUT,
    jobs: int = 1,
    soak: int = 0,
    seed: int = 0,
    threads: bool | None = None,
    launcher: str | None = None,
    known: Sequence[KnownGap] | None = None,
    progress: Progress | None = None,
) -> CommReport:
    """Run the comm suite on a comm and return its report.

    *comm* is the name of an installed one, or a class or function that processes can import and
    that makes one from a context; *ranks* are the numbers of ranks to run on. *level* and
    *pattern* choose as in ``run``; *profile* is core or full. *timeout*, in seconds, is that of
    every call. *jobs* sets of ranks run at a time. *soak* runs so many randomised rounds in place
    of the cases, drawn from *seed*. *threads* says whether ranks are threads of one process, and
    *launcher* how processes are started, such as ``"mpiexec -n {ranks}"``; None asks the comm's
    spec. *known* replaces the entries of the package's exceptions file. ``ValueError`` for an
    unknown level, profile or number of ranks, ``RuntimeError`` for a comm that can't be used.

    >>> from tensorbus_conformance.comms import run_comm
    >>> run_comm("tcp", 2, pattern="C1/barrier/*").ok
    True
    """
    # Not above: a program's processes import what it imports, and this brings every device's cases.
    from tensorbus_conformance.comms import about

    sizes = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"ranks are numbers from 1, such as 2,4; got {sizes}")
    levels = tuple(level.split(",")) if isinstance(level, str) else tuple(level or LEVELS)
    chosen = cases.soak_cases(seed, soak) or cases.select(levels, pattern, profile)
    with plugged(comm) as found:
        target = _target(found, threads, launcher)
        report = CommReport(
            backend=f"comm:{found.name}",
            index=0,
            device=f"on {' and '.join(map(str, sizes))} ranks",
            levels=levels,
            pattern=pattern,
            profile=profile,
            versions={},
            seeds={"soak": seed} if soak else {},
            options=_options(threads, launcher),
        )
        about.complete(report, found.package)
        gaps = about.known_gaps(found.package) if known is None else list(known)
        _Run(report, target, timeout, gaps, progress).all(sizes, chosen, jobs)
    return report


def _target(found: Plugged, threads: bool | None, launcher: str | None) -> Target:
    start = getattr(found.spec, "launcher", None)
    if launcher is not None:
        words = shlex.split(launcher)
        start = partial(_command, words)
    elif start is None and not getattr(found.spec, "needs_store", True):
        raise ValueError(
            f"the ranks of comm {found.name!r} find each other by their own launcher: say which, "
            f"such as --launcher 'mpiexec -n {{ranks}}'"
        )
    within = getattr(found.spec, "threads", False) if threads is None else threads
    return Target(found.name, within, start, found.paths)


def _options(threads: bool | None, launcher: str | None) -> str:
    """What the command needs besides the comm's name."""
    given = " --threads" if threads else ""
    return given if launcher is None else f"{given} --launcher {shlex.quote(launcher)}"


def _command(words: Sequence[str], ranks: int) -> list[str]:
    return [word.replace("{ranks}", str(ranks)) for word in words]


class _Run:
    """One run: hands cases to sets of ranks."""

    def __init__(
        self, report: CommReport, target: Target, timeout: float, known: list[KnownGap],
        progress: Progress | None,
    ):  # fmt: skip
        self.report, self.target, self.timeout, self._known = report, target, timeout, known
        self._progress = progress
        self._lock = threading.Lock()
        self._hangs: Counter[str] = Counter()
        self._in_a_row = 0
        self._total = 0
        self._error: BaseException | None = None

    def all(self, sizes: Sequence[int], chosen: list[CommCase], jobs: int) -> None:
        """Run the cases on each number of ranks."""
        begin = time.perf_counter()
        together: queue.SimpleQueue[Work] = queue.SimpleQueue()
        alone: queue.SimpleQueue[Work] = queue.SimpleQueue()
        order: dict[str, int] = {}
        for size in sizes:
            mine = [c for c in chosen if c.least <= size]
            self._total += len(mine)
            order.update({c.instance(size): len(order) + i for i, c in enumerate(mine)})
            plain = [c for c in mine if not c.apart]
            share = -(-len(plain) // jobs) if plain else 1
            for start in range(0, len(plain), share):
                together.put((size, plain[start : start + share]))
            for case in mine:
                if case.apart:
                    alone.put((size, [case]))
        server = Server()
        try:
            self._drain(together, jobs, server)
            # Faults take long because ranks wait for them, not because they compute.
            self._drain(alone, max(jobs, WAITING), server)
        finally:
            server.close()
        self.report.results.sort(key=lambda r: order[r.id])
        self.report.seconds = time.perf_counter() - begin

    def _drain(self, work: queue.SimpleQueue[Work], jobs: int, server: Server) -> None:
        threads = [
            threading.Thread(target=self._work, args=(work, server), daemon=True)
            for _ in range(min(jobs, work.qsize()))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt as e:
            self._error = e
            raise
        if self._error is not None:
            raise self._error

    def _work(self, work: queue.SimpleQueue[Work], server: Server) -> None:
        try:
            while self._error is None:
                size, chosen = work.get_nowait()
                if chosen[0].apart:
                    self._alone(chosen[0], size, server)
                else:
                    self._together(chosen, size, server)
        except queue.Empty:
            return
        except BaseException as e:
            self._error = e

    def _together(self, chosen: list[CommCase], size: int, server: Server) -> None:
        ranks: Ranks | None = None
        broken = ""
        for case in chosen:
            if self._error is not None:
                break
            if broken:
                self._add(case, size, FAIL, broken, 0.0)
                continue
            if why := self._given_up(case):
                self._add(case, size, BLOCKED, why, 0.0)
                continue
            try:
                ranks = ranks or self._started(size, server)
            except Broken as e:
                broken = str(e)
                self._add(case, size, FAIL, broken, 0.0)
                continue
            begin = time.perf_counter()
            replies = ranks.run(case)
            outcome, message = judged(case, replies)
            seconds = time.perf_counter() - begin
            self._add(case, size, outcome, message, seconds)
            self._count(case, outcome in (FAIL, CRASH) and seconds > 0.9 * self.timeout)
            if not all(r.in_step for r in replies):
                ranks.kill()
                ranks = None
        if ranks is not None:
            ranks.end()

    def _started(self, size: int, server: Server) -> Ranks:
        ranks = Ranks(self.target, size, self.timeout, server)
        about = {"dtypes": ranks.dtypes, "details": {"memory of": ranks.device}}
        self.report.capabilities = self.report.capabilities or about
        return ranks

    def _count(self, case: CommCase, hung: bool) -> None:
        with self._lock:
            self._hangs[case.op] += hung
            self._in_a_row = self._in_a_row + 1 if hung else 0

    def _given_up(self, case: CommCase) -> str:
        if self._in_a_row >= HANGS_IN_A_ROW:
            return (
                f"{HANGS_IN_A_ROW} cases in a row failed by their time-outs: do the ranks reach "
                f"each other? Where they are threads of one process, say --threads"
            )
        return f"{HANGS} cases of {case.op} hang already" if self._hangs[case.op] >= HANGS else ""

    def _alone(self, case: CommCase, size: int, server: Server) -> None:
        """A case that its ranks do not outlive."""
        if case.processes and self.target.threads:
            self._add(case, size, UNSUPPORTED, "the ranks are threads of one process", 0.0)
            return
        if self._in_a_row >= HANGS_IN_A_ROW:
            self._add(case, size, BLOCKED, self._given_up(case), 0.0)
            return
        begin = time.perf_counter()
        try:
            ranks = self._started(size, server)
        except Broken as e:
            self._add(case, size, FAIL, str(e), 0.0)
            return
        try:
            replies = ranks.run(case)
            if case.fault is not None:
                outcome, message = _judged_fault(case, size, ranks, replies)
            else:
                outcome, message = judged(case, replies)
            if case.ends and outcome == PASS:
                # A launcher may end with an error, too, where a rank has reported one.
                wrong = ranks.end(well=case.judge is None or ranks.target.launcher is None)
                outcome, message = (FAIL, wrong) if wrong else (PASS, "")
        finally:
            ranks.kill()
        self._add(case, size, outcome, message, time.perf_counter() - begin)

    def _add(self, case: CommCase, size: int, outcome: str, message: str, seconds: float) -> None:
        id = case.instance(size)
        reason = next((gap.reason for gap in self._known if gap.covers(id)), None)
        result = Result(id, case.family, outcome, message, seconds=seconds, excepted=reason)
        with self._lock:
            self.report.results.append(result)
            if self._progress is not None:
                self._progress(result, self._total)


def judged(case: CommCase, replies: Sequence[Reply]) -> tuple[str, str]:
    """The outcome of a case from what its ranks replied."""
    silent = [n for n, r in enumerate(replies) if not r.outcome]
    for outcome in (FAIL, BLOCKED, UNSUPPORTED):
        bad = {
            n: r.message
            for n, r in enumerate(replies)
            if r.outcome == outcome and r.message != "another rank had failed"
        }
        if bad:
            late = _names(silent, f"; {{}} {replies[silent[0]].message}") if silent else ""
            # What is declared is so for all: it is reported without their numbers.
            return outcome, _each(bad, 0 if outcome == FAIL else len(replies)) + late
    if any(r.outcome == BLOCKED for r in replies):
        return CRASH, "the ranks were not in step: one was done while others waited for it"
    if silent:
        return CRASH, _each({n: replies[n].message for n in silent})
    try:
        bits = {r.reported.get("bits", "") for r in replies if "bits" in r.reported}
        if len(bits) > 1:
            raise Mismatch("the ranks' results are not the same bits")
        if case.judge is not None:
            case.judge([r.reported for r in replies])
    except Mismatch as e:
        return FAIL, str(e)
    return PASS, ""


def _judged_fault(
    case: CommCase, size: int, ranks: Ranks, replies: Sequence[Reply]
) -> tuple[str, str]:
    victim = case.fault.victim(size) if case.fault is not None else -1
    rest = [n for n in range(size) if n != victim]
    if ranks.target.launcher is not None and any(replies[n].ended for n in rest):
        # Its launcher ends the job when a rank dies: few are left who could report it.
        if not ranks.all_ended(60.0):
            return FAIL, "the job's launcher ended some ranks and not all"
        bad = {n: replies[n].message for n in rest if replies[n].outcome == FAIL}
        return (FAIL, _each(bad)) if bad else (PASS, "")
    survivors = [replies[n] if n != victim else Reply(PASS, "", True) for n in range(size)]
    outcome, message = judged(case, survivors)
    if outcome == PASS and (left := ranks.left_behind()):
        return FAIL, f"files were left behind: {', '.join(left)}"
    return outcome, message


def _each(messages: dict[int, str], everyone: int = 0) -> str:
    """What ranks say, each message once."""
    same: dict[str, list[int]] = {}
    for number, text in messages.items():
        same.setdefault(text, []).append(number)
    if len(same) == 1 and len(messages) == everyone:
        return next(iter(same))
    return "; ".join(_names(numbers, f"{{}}: {text}") for text, numbers in same.items())


def _names(numbers: Sequence[int], text: str) -> str:
    word = "rank" if len(numbers) == 1 else "ranks"
    return text.replace("{}", f"{word} {', '.join(map(str, numbers))}", 1)
