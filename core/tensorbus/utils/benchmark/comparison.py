"""Tables that compare measurements."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

from tensorbus.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BEST, _GOOD, _BAD, _WORST = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_BOLD, _END = "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """What the colours of a table compare."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


Cells = list[Measurement | None]


class Compare:
    """Tables of measurements: one for each label, with a row for each sub-label and number of
    threads, and a column for each description.

    >>> from tensorbus.utils.benchmark import Measurement, TaskSpec
    >>> def took(seconds, how):
    ...     task = TaskSpec("f(x)", "pass", label="f", sub_label="small", description=how)
    ...     return Measurement(1, [seconds] * 4, task)
    >>> Compare([took(2e-6, "old"), took(1e-6, "new")]).print()
    [----------- f -----------]
                 |  old  |  new
    1 threads: ----------------
          small  |  2.0  |  1.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trims = self._highlights = False
        self._colors = Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements; ValueError for anything else."""
        results = list(results)
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Print no more figures than are known."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark the quickest, and what is much slower, in each column or in each row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show how far the times are spread, where that is wide."""
        self._highlights = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        by_label: dict[str | None, list[Measurement]] = {}
        for one in Measurement.merge(self._results):
            by_label.setdefault(one.label, []).append(one)
        return "\n".join(
            _Table(some, self._colors, self._trims, self._highlights).text()
            for some in by_label.values()
        )


class _Table:
    """The measurements of one label."""

    def __init__(
        self, results: list[Measurement], colors: Colorize, trims: bool, highlights: bool
    ) -> None:
        self.results, self.colors, self.trims = results, colors, trims
        self.warns = highlights and any(one.has_warnings for one in results)
        self.unit, self.scale = select_unit(min(one.median for one in results))
        keys = ordered_unique((one.num_threads, one.env or "", one.as_row_name) for one in results)
        self.keys = sorted(keys, key=lambda key: key[:2])
        self.columns = ordered_unique(one.description for one in results)
        found = {
            (one.num_threads, one.env or "", one.as_row_name, one.description): one
            for one in results
        }
        self.cells: list[Cells] = [
            [found.get((*key, column)) for column in self.columns] for key in self.keys
        ]

    def text(self) -> str:
        """The whole table, with a line about units behind."""
        names = self._row_names()
        columns = [self._column(j) for j in range(len(self.columns))]
        heads = ["", *(column or "" for column in self.columns)]
        texts = [names, *columns]
        widths = [max(map(len, [head, *column])) for head, column in zip(heads, texts, strict=True)]
        lines = ["  |  ".join(h.center(w) for h, w in zip(heads, widths, strict=True))]
        total = len(lines[0])
        for i, key in enumerate(self.keys):
            if i == 0 or key[0] != self.keys[i - 1][0]:
                lines.append(f"{key[0]} threads: ".ljust(total, "-"))
            row = [names[i].ljust(widths[0])]
            for j, column in enumerate(columns):
                row.append(self._colored(i, j, column[i].center(widths[j + 1])))
            lines.append("  |  ".join(row))
        title = f" {self.results[0].label or ''} ".center(total - 2, "-")
        lines = [f"[{title}]", *lines, ""]
        lines.append(f"Times are in {unit_to_english(self.unit)}s ({self.unit}).")
        if self.warns:
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join([*lines, ""])

    def _row_names(self) -> list[str]:
        """What stands before each row; the environment where there are several, once for each."""
        environments = {env for _, env, _ in self.keys}
        width = max(map(len, environments)) if len(environments) > 1 else 0
        names, before = [], None
        for threads, env, name in self.keys:
            told = f"({env})" if width and env and (threads, env) != before else ""
            names.append(f"  {told.ljust(width + 4)}{name}")
            before = threads, env
        return names

    def _column(self, j: int) -> list[str]:
        """The times of a column, with their points below one another."""
        cells = [row[j] for row in self.cells]
        some = [one for one in cells if one is not None]
        digits = [math.ceil(math.log10(one.median / self.scale)) for one in some]
        decimals = 1
        if self.trims:
            left = (one.significant_figures - n for one, n in zip(some, digits, strict=True))
            decimals = min(max(n, 0) for n in left)
        width = max(digits) + decimals + bool(decimals)
        warns = self.warns and any(one.has_warnings for one in some)
        empty = f"{' ' * max(width, decimals + 1 + bool(decimals))}{' ' * 7 * warns}"
        texts = []
        for one in cells:
            if one is None:
                texts.append(empty)
                continue
            value = one.median / self.scale
            value = trim_sigfig(value, one.significant_figures) if self.trims else value
            spread = f" (! {one.iqr / one.median:.0%})" if warns and one.has_warnings else ""
            texts.append(f"{value:>{width}.{decimals}f}{spread:>{7 * warns}}")
        return texts

    def _colored(self, i: int, j: int, text: str) -> str:
        """A cell in the colour of its distance from the best of its row, or of its column."""
        one = self.cells[i][j]
        if one is None or self.colors is Colorize.NONE:
            return text
        if self.colors is Colorize.ROWWISE:
            peers = self.cells[i]
        else:
            threads = self.keys[i][0]
            peers = [
                row[j] for row, key in zip(self.cells, self.keys, strict=True) if key[0] == threads
            ]
        best = min(peer.median for peer in peers if peer is not None)
        value = one.median
        if value <= max(best * 1.01, best + 100e-9):
            return f"{_BEST}{_BOLD}{text}{_END}{_END}"
        if value <= best * 1.1:
            return f"{_GOOD}{_BOLD}{text}{_END}{_END}"
        if value >= best * 5:
            return f"{_WORST}{_BOLD}{text}{_END}{_END}"
        return f"{_BAD}{text}{_END}" if value >= best * 2 else text
