"""The launcher's life: signals, attempts, and the words at the end."""

from __future__ import annotations

import contextlib
import errno
import queue
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from tensorbus.distributed.run.attempt import Attempt, Closed, Events, Outcome, Signal
from tensorbus.distributed.run.console import Console
from tensorbus.distributed.run.nodes import Alone, Nodes
from tensorbus.distributed.run.plan import Plan
from tensorbus.distributed.run.process import Watchdog

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")


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
        return Alone(self.plan)

    def _attempts(self, console: Console, nodes: Nodes, watchdog: Watchdog) -> int:
        plan = self.plan
        for attempt in range(plan.max_restarts + 1):
            job = nodes.begin(attempt)
            outcome = Attempt(plan, job, console, self._events, watchdog, nodes).run()
            if outcome.failure is None:
                return self._status(outcome, console)
            failure = nodes.failed(job, outcome.failure)
            left = plan.max_restarts - attempt
            more = f" Starting all again, {left} more time{'s' * (left > 1)}." if left else ""
            text = failure.text(plan.nnodes, job.world_size)
            first, newline, rest = text.partition("\n")
            console.say(f"{first}{more}{newline}{rest}")
        return failure.status

    @staticmethod
    def _status(outcome: Outcome, console: Console) -> int:
        if outcome.signal is not None:
            name = signal.Signals(outcome.signal).name
            console.say(f"tensorbus run: {name} received; all ranks were ended.")
            return 128 + outcome.signal
        if outcome.closed is not None:
            if outcome.closed.errno == errno.EPIPE:
                return 141
            console.say(
                f"tensorbus run: the output can't be written: {outcome.closed.strerror}; "
                "all ranks were ended."
            )
            return 1
        return 0

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Turn signals into events. One that was ignored (nohup, a background job) stays so."""

        def note(number: int, frame: FrameType | None) -> None:
            self._events.put(Signal(number))

        before = {}
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
