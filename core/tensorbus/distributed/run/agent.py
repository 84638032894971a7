"""The launcher's life: signals, attempts, and the words at the end."""

from __future__ import annotations

import errno
import os
import queue
import signal
import threading
from collections.abc import Generator
from types import FrameType
from typing import Any

from tensorbus._base.leaving import block
from tensorbus.distributed.run.attempt import Attempt, Closed, Events, Outcome, Signal
from tensorbus.distributed.run.console import Console
from tensorbus.distributed.run.nodes import Alone, Gone, Nodes
from tensorbus.distributed.run.plan import Plan
from tensorbus.distributed.run.process import Watchdog

_SPEAKER = "tensorbus run: "


def _take_standard_streams() -> None:
    """Open what was closed (``>&-``), so that no pipe gets the number of a standard stream."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class Agent:
    """Runs a plan.

    >>> import sys
    >>> from tensorbus.distributed.run import Agent, Plan
    >>> Agent(Plan((sys.executable, "-c", "pass"), nproc=2)).run()
    0
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self._events: Events = queue.SimpleQueue()

    def run(self) -> int:
        """Run the job to its end; the exit status."""
        _take_standard_streams()
        console = Console(lambda error: self._events.put(Closed(error)))
        nodes = self._join(console)
        try:
            watchdog = Watchdog()
            try:
                with self._signals():
                    return self._attempts(console, nodes, watchdog)
            finally:
                watchdog.close()
        finally:
            nodes.close()

    def _join(self, console: Console) -> Nodes:
        if self.plan.nnodes == 1:
            return Alone(self.plan)
        from tensorbus.distributed.run.cluster import Cluster

        def say(text: str) -> None:
            console.say(f"{_SPEAKER}{text}")

        cluster = Cluster(self.plan, self._events.put, say)
        self.plan = cluster.plan
        return cluster

    def _attempts(self, console: Console, nodes: Nodes, watchdog: Watchdog) -> int:
        plan = self.plan
        status = 0
        for attempt in range(plan.max_restarts + 1):
            job = nodes.begin(attempt)
            outcome = Attempt(plan, job, console, self._events, watchdog, nodes).run()
            if not outcome.failed:
                return self._status(outcome, console, nodes)
            found = nodes.agreed(job, outcome.own)
            if isinstance(found, Gone):
                return self._abandoned(found, console)
            status = found.status
            line, words = found.text(plan.nnodes, job.world_size)
            # Whoever interrupts the end of one attempt wants no other.
            last = attempt == plan.max_restarts or outcome.signal is not None
            more = "" if last else f" Restart {attempt + 1} of {plan.max_restarts}."
            console.say(f"{_SPEAKER}{line}{more}{words}")
            if last:
                if attempt < plan.max_restarts:
                    nodes.leaving("it was interrupted", status)
                break
        return status

    def _status(self, outcome: Outcome, console: Console, nodes: Nodes) -> int:
        if outcome.gone is not None:
            return self._abandoned(outcome.gone, console)
        if outcome.signal is not None:
            name = signal.Signals(outcome.signal).name
            nodes.leaving(f"it received {name}", 128 + outcome.signal)
            console.say(f"{_SPEAKER}{name} received; all ranks were ended.")
            return 128 + outcome.signal
        if outcome.closed is not None:
            nodes.leaving("its output was closed", 1)
            if outcome.closed.errno == errno.EPIPE:
                return 141
            console.say(
                f"{_SPEAKER}the output can't be written ({outcome.closed.strerror}); "
                "all ranks were ended."
            )
            return 1
        return 0

    @staticmethod
    def _abandoned(gone: Gone, console: Console) -> int:
        console.say(f"{_SPEAKER}node {gone.node} has left ({gone.reason}); all ranks were ended.")
        return gone.status

    @block
    def _signals(self) -> Generator[None, None, None]:
        """Turn signals into events. One that was ignored (nohup, a background job) stays so."""

        def note(number: int, frame: FrameType | None) -> None:
            self._events.put(Signal(number))

        before = {}
        if threading.current_thread() is threading.main_thread():
            for name in self.plan.signals:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.getsignal(number)
        try:
            for number in before:
                signal.signal(number, note)
            yield
        finally:
            try:
                _handle(before)
            except BaseException:
                _handle(before)
                raise


def _handle(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
