"""Timers of statements, which wait for what devices still compute."""

from __future__ import annotations

import enum
import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorbus
from tensorbus._dispatch.kinds import used_devices
from tensorbus.utils.benchmark.measurement import Measurement, TaskSpec

Callback = Callable[[int, float], Any]


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The time in seconds, after the devices in use have done all work that they were given."""
    for backend, index in used_devices():
        backend.synchronize(index)
    return timeit.default_timer()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """So many threads for the ops inside."""
    before = tensorbus.get_num_threads()
    try:
        tensorbus.set_num_threads(n)
        yield
    finally:
        tensorbus.set_num_threads(before)


class Timer:
    """Measures how long a statement takes, with *num_threads* threads, after warming up.

    Args:
        stmt: the statement, as text.
        setup: runs before each measurement, and makes what the statement uses.
        global_setup: for C++ alone: must be empty.
        timer: gives the time in seconds.
        globals: names that the statement and *setup* find.
        label, sub_label, description, env: what tables call it: the table, the row, the column,
            and what distinguishes environments.
        num_threads: how many threads ops use meanwhile.
        language: Python is the only one.

    Raises:
        ValueError: *stmt* is no text, or the language is unknown.
        NotImplementedError: the language is C++.

    >>> measured = Timer("sum(range(9))", label="sums").timeit(10)
    >>> measured.title, len(measured.raw_times)
    ('sums', 1)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError(
                "statements in C++ are not timed: there is no C++ interface; give one in Python"
            )
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                "simply be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )
        own = {"torch": tensorbus, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, own)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of *number* executions; a hundredth as many run before it."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not offered: ``blocked_autorange`` measures repeatedly."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callback | None = None) -> None:
        """Not offered: ``blocked_autorange`` finds how often to execute."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callback | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements for *min_run_time* seconds, each of as many executions as hide the timer.

        *callback* is called with that number and the seconds of each measurement.
        """
        return self._measured(min_run_time, min_run_time, None, callback, lambda times: True)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback | None = None,
    ) -> Measurement:
        """Measurements until their interquartile range is below *threshold* medians.

        At least four, for *min_run_time* seconds or more, and about *max_run_time* at most.
        """

        def enough(measured: Measurement) -> bool:
            return len(measured.raw_times) > 3 and measured.meets_confidence(threshold)

        return self._measured(0.05, min_run_time, max_run_time, callback, enough)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        """Not offered: instructions are not counted."""
        raise NotImplementedError(
            "instructions are not counted here: run the program itself under `valgrind "
            "--tool=callgrind`"
        )

    def _measured(
        self, to_find: float, least: float, most: float | None, callback: Callback | None,
        enough: Callable[[Measurement], bool],
    ) -> Measurement:  # fmt: skip
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(to_find)
            times: list[float] = []
            total = 0.0
            while True:
                spent = self._timer.timeit(number)
                total += spent
                times.append(spent)
                if callback is not None:
                    callback(number, spent)
                measured = Measurement(number, times, self._task_spec)
                if (total >= least and enough(measured)) or (most is not None and total > most):
                    return measured

    def _block(self, seconds: float) -> int:
        """How many executions in turn take so long that reading the time does not count."""
        overhead = statistics.median(self._timer.timeit(0) for _ in range(5))
        number = 1
        while True:
            spent = self._timer.timeit(number)
            if spent > seconds or (spent >= seconds / 1000 and overhead <= spent / 10_000):
                return number
            number *= 10
