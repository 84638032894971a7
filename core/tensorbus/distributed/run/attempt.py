"""One attempt: the ranks of this node from their start to their common end."""

from __future__ import annotations

import queue
import signal
import time
from dataclasses import dataclass
from typing import Any

from tensorbus.cli import UsageError
from tensorbus.distributed.run import guard
from tensorbus.distributed.run.console import Console
from tensorbus.distributed.run.filtered import Filtered
from tensorbus.distributed.run.nodes import Failing, Failure, Gone, Nodes
from tensorbus.distributed.run.plan import OUT, Job, Plan, attempt_folder
from tensorbus.distributed.run.process import Ended, Rank, Watchdog

_HAND_ON = {"SIGUSR1", "SIGUSR2", "SIGCONT"}
_LINGER = 6.0
"""Seconds that a rank whose traceback came first may take to end by itself: leaving the job in
order takes it a moment, in which others fail because of it."""
_RECENT = 10.0
_BETTER_NEWS = 1.0
"""Seconds to wait for another failure where all that failed blame another rank."""
_DRAIN = 2.0
_READ = 1.0
"""Seconds to wait for the last words of a rank that has ended: who failed first is read there."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The event that somebody sent this launcher a signal."""

    number: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The event that the launcher's own output can't be written any more."""

    error: OSError


Events = queue.SimpleQueue[Any]


@dataclass(slots=True)
class Outcome:
    """How an attempt ended: well, by a failure here or elsewhere, because another launcher has
    left, by a signal, or without a reader of the output."""

    failed: bool = False
    own: Failure | None = None
    """The first failure here."""
    gone: Gone | None = None
    signal: int | None = None
    closed: OSError | None = None


def _ends(event: object) -> bool:
    return isinstance(event, Signal) and signal.Signals(event.number).name not in _HAND_ON


class Attempt:
    """The ranks of one attempt."""

    def __init__(
        self, plan: Plan, job: Job, console: Console, events: Events, watchdog: Watchdog,
        nodes: Nodes,
    ):  # fmt: skip
        self.plan, self.job, self.console, self.events = plan, job, console, events
        self.watchdog, self.nodes = watchdog, nodes
        self.ranks: list[Rank] = []
        self.signalled: int | None = None
        self._filtered: dict[int, Filtered] = {}

    def run(self) -> Outcome:
        """Start the ranks and wait; nothing of them is left afterwards."""
        outcome = Outcome()
        try:
            self._start()
            outcome = self._watch()
        finally:
            self._end(outcome)
        if outcome.failed:
            outcome.own, outcome.signal = self._first_failure(), self.signalled
        return outcome

    def _start(self) -> None:
        for fd, texts in self.plan.filters.items():
            name = "filtered_stdout.log" if fd == OUT else "filtered_stderr.log"
            self._filtered[fd] = Filtered(attempt_folder(self.plan, self.job) / name, texts)
        for local in range(self.plan.nproc):
            try:
                rank = Rank(
                    self.plan, self.job, local, self.console, self.watchdog, self.events.put,
                    self._filtered,
                )  # fmt: skip
            except (OSError, RuntimeError) as e:
                raise UsageError(f"local rank {local} can't be started: {e}") from e
            self.ranks.append(rank)

    def _watch(self) -> Outcome:
        reported = False
        while True:
            if not reported and all(rank.code == 0 for rank in self.ranks):
                reported = True
                self.nodes.succeeded(self.job)
            if reported and self.nodes.all_succeeded:
                return Outcome()
            event = self._next(None)
            # What is left of an earlier attempt is of no concern.
            if isinstance(event, Ended) and event.rank in self.ranks and event.rank.code:
                self.nodes.failing(self.job)
                return Outcome(failed=True)
            if isinstance(event, Failing) and event.attempt == self.job.attempt:
                return Outcome(failed=True)
            if isinstance(event, Gone):
                return Outcome(gone=event)
            if isinstance(event, Signal):
                if _ends(event):
                    return Outcome(signal=event.number)
                self._hand_on(event.number)
            if isinstance(event, Closed):
                return Outcome(closed=event.error)

    def _next(self, until: float | None) -> Any:
        """The next event; None when the time is over."""
        while True:
            left = self.plan.interval if until is None else until - time.monotonic()
            try:
                # Never for long: on some systems a signal does not wake who waits.
                event = self.events.get(timeout=min(max(left, 0.0), self.plan.interval))
            except queue.Empty:
                if until is not None and time.monotonic() >= until:
                    return None
            else:
                if _ends(event):
                    self.signalled = event.number
                return event

    def _hand_on(self, number: int) -> None:
        for rank in self.ranks:
            rank.tell(number)

    # -- the end -----------------------------------------------------------------------------
    def _end(self, outcome: Outcome) -> None:
        """Ask the ranks to end, then end what is left of them and of what they started."""
        if outcome.failed:
            self._let_the_first_finish()
        number = outcome.signal or signal.SIGTERM
        for rank in self.ranks:
            rank.ask_to_end(number)
        self._await_all(time.monotonic() + self.plan.grace, self.ranks)
        if number != signal.SIGTERM and any(rank.alive for rank in self.ranks):
            for rank in self.ranks:
                rank.ask_to_end(signal.SIGTERM)
            self._await_all(time.monotonic() + 1.0, self.ranks)
        for rank in self.ranks:
            if rank.alive:
                rank.kill()
        self._await_all(time.monotonic() + 30.0, self.ranks)
        self._sweep()
        for rank in self.ranks:
            rank.drained(_DRAIN)
            rank.forget()
        for filtered in self._filtered.values():
            filtered.close()
        self.console.close()

    def _let_the_first_finish(self) -> None:
        """End all but those that began to fail before the first one that ended."""
        for rank in self.ranks:
            if rank.code:
                rank.drained(_READ)
        here = any(rank.code for rank in self.ranks)
        stop = time.monotonic() + _BETTER_NEWS
        while here and self._guilt()[0] and not self._suspects(self._guilt()):
            if time.monotonic() >= stop or not any(rank.alive for rank in self.ranks):
                break
            self._next(time.monotonic() + 0.05)
        suspects = self._suspects(self._guilt())
        for rank in self.ranks:
            if rank not in suspects:
                rank.ask_to_end(signal.SIGTERM)
        self._await_all(time.monotonic() + _LINGER, suspects)

    def _guilt(self) -> tuple[bool, float]:
        return min((r.guilt for r in self.ranks if r.code), default=(True, time.monotonic()))

    def _suspects(self, first: tuple[bool, float]) -> list[Rank]:
        """Ranks that are about to end, and began to fail before *first* did."""
        now = time.monotonic()
        return [
            rank
            for rank in self.ranks
            if rank.alive and now - _RECENT < rank.failed_at <= now and rank.guilt < first
        ]

    def _await_all(self, until: float, ranks: list[Rank]) -> None:
        """Wait for their ends; a second signal ends them at once."""
        while any(rank.alive for rank in ranks):
            event = self._next(until)
            if event is None:
                return
            if _ends(event):
                for rank in self.ranks:
                    rank.kill()

    def _sweep(self) -> None:
        """End what ended ranks left running. Helpers that clean up after them ignore SIGTERM."""
        left = self.ranks
        for number, patience in ((signal.SIGTERM, 1.0), (guard.KILL, 0.2)):
            left = [rank for rank in left if rank.tell_group(number)]
            stop = time.monotonic() + patience
            while left and time.monotonic() < stop:
                time.sleep(0.01)
                left = [rank for rank in left if rank.tell_group(0)]

    def _first_failure(self) -> Failure | None:
        """Whose end began first, of those that were not asked to end."""
        failed = [rank for rank in self.ranks if rank.code and not rank.asked_to_end]
        if not failed:
            return None
        first = min(failed, key=lambda rank: rank.guilt)
        also = [rank.number for rank in failed if rank is not first]
        return Failure.of(first, self.plan.node_rank or 0, also)
