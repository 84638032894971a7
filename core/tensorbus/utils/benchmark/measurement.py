"""The times that a statement took, and what they say."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Hashable)

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}

_WARNS, _WARNS_MORE = 0.1, 0.25
"""Interquartile ranges, in medians, from which on a measurement is called in doubt."""
_RESOLUTION = 25e-9  # seconds: nothing is known more exactly than this
_MOST_FIGURES = 4


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds has up to three digits before the point, in seconds.

    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    fitting = [unit for unit, seconds in _UNITS.items() if seconds <= t]
    unit = fitting[-1] if fitting else "ns"
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    """The word for a unit.

    >>> unit_to_english("us")
    'microsecond'
    """
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to *n* significant figures.

    >>> trim_sigfig(12345.678, 3)
    12300.0
    """
    if x == 0:
        return 0.0
    return round(x, n - math.ceil(math.log10(abs(x))))


def ordered_unique(elements: Iterable[_T]) -> list[_T]:
    """The elements without repeats, in the order in which each came first."""
    return list(dict.fromkeys(elements))


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """What a timer was made for: all that it was given but the globals."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none, and the sub-label."""
        if self.label is None and "\n" in self.stmt:
            more = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{more}\n{textwrap.indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """What ran before, as it is printed; empty where that was nothing."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and set-up, as measurements print them."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


@dataclass(repr=False)
class Measurement:
    """Repeated runs of a statement: *raw_times* in seconds, each of *number_per_run* executions.

    Attributes of its ``TaskSpec`` are its own too.

    >>> task = TaskSpec("f(x)", "pass", label="f")
    >>> measured = Measurement(10, [1e-5, 2e-5, 3e-5], task)
    >>> round(measured.median * 1e6, 3), measured.label
    (2.0, 'f')
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one execution, for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @cached_property
    def _quartiles(self) -> tuple[float, float, float]:
        times = self.times
        if len(times) == 1:
            return times[0], times[0], times[0]
        first, second, third = statistics.quantiles(times, n=4, method="inclusive")
        return first, second, third

    @property
    def median(self) -> float:
        """The median of the times."""
        return self._quartiles[1]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times."""
        return self._quartiles[2] - self._quartiles[0]

    @property
    def significant_figures(self) -> int:
        """About how many figures of the median are known: 1 to 4.

        From the spread of the middle half of the times, as if of a normal distribution (90 %).
        """
        ordered = sorted(self.times)
        n = len(ordered)
        middle = ordered[n // 4 : math.ceil(3 * n / 4)]
        error = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _RESOLUTION)
        return min(max(math.floor(math.log10(self.median / error)), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _WARNS) -> bool:
        """Whether the interquartile range is below so many medians."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread so much that printing tells of it."""
        return not self.meets_confidence()

    @property
    def title(self) -> str:
        """The title of the task."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What a row of a table is called: the sub-label, or the statement."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        first, median, third = (f"{t / scale:.2f}" for t in self._quartiles)
        n, threads = len(self.raw_times), self.num_threads
        lines = [
            object.__repr__(self).replace(f"{__name__}.", "torch.utils.benchmark.utils.common."),
            self.task_spec.summarize(),
            f"  {'Median: ' if n > 1 else ''}{median} {unit}",
        ]
        if n >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({first} to {third})")
        lines.append(
            f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs "
            f"{'per measurement,' if n > 1 else ','} {threads} thread{'s' * (threads > 1)}"
        )
        if self.has_warnings:
            cause = (
                "could indicate system fluctuation"
                if self.meets_confidence(_WARNS_MORE)
                else "suggests significant environmental influence"
            )
            lines.append(
                f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the "
                f"median measurement.\n           This {cause}."
            )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, of the times of one execution in all of its own."""
        by_task: dict[TaskSpec, list[float]] = {}
        for one in measurements:
            by_task.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, times, task) for task, times in by_task.items()]
