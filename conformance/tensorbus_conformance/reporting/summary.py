"""The summary on the terminal: counts by family, failures, known gaps, what to write next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensorbus_conformance.report import PASS, Report, Result
from tensorbus_conformance.reporting import advice
from tensorbus_conformance.reporting.failures import alike
from tensorbus_conformance.reporting.matrix import STATES, state
from tensorbus_conformance.reporting.text import error, plural, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN = 20

_LONGEST = 1500


def print_summary(report: Report, shown: int = SHOWN) -> None:
    """Print the table by family, the first failures with their commands, and what to do next."""
    from rich.console import Console

    console = Console(highlight=False)
    if not report.results:
        _say(console, verdict(report))
        return
    console.print(_table(report))
    _failures(console, report, shown)
    _known_gaps(console, report, shown)
    _stale(console, report, shown)
    if line := advice.next_op(report):
        _say(console, line)
    _say(console, verdict(report))


def verdict(report: Report) -> str:
    """One sentence: whether the device conforms, and to how much of the suite."""
    if not report.results:
        return f"no case of {', '.join(report.levels)} matches {report.pattern!r}"
    cases = plural(len(report.results), "case")
    time = f"{report.seconds:.1f} s"
    if not report.ok:
        return (
            f"{report.target} does not conform: {len(report.failures):,} of {cases} fail ({time})"
        )
    levels = ", ".join(report.levels)
    gaps = plural(len(report.gaps), "known gap") if report.gaps else ""
    if report.whole:
        but = f" except for {gaps}" if gaps else ""
        return (
            f"{report.target} conforms to profile {report.profile} ({levels}){but}: "
            f"{cases} in {time}"
        )
    # A part of the suite is no ground for the word.
    match = "matches" if len(report.results) == 1 else "match"
    part = "" if report.pattern is None else f" that {match} {report.pattern!r}"
    but = f" but {gaps}" if gaps else ""
    return (
        f"{report.target} passes a part of profile {report.profile} ({levels}): "
        f"{cases}{part}{but} in {time}"
    )


def _say(console: Console, text: str, indent: str = "") -> None:
    # Not wrapped: a command must survive being copied.
    text = shortened(text, _LONGEST).replace("\n", f"\n{indent}")
    console.print(f"{indent}{text}", markup=False, soft_wrap=True)


def _table(report: Report) -> Table:
    from rich.table import Table

    counts = Counter(state(r) for r in report.results)
    states = [name for name in STATES if counts[name] or name == PASS]
    title = shortened(f"{report.target}  {report.device}", 200)
    # No lines: what a heading has room for in 80 columns, it should show.
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("family", no_wrap=True)
    for heading in (*states, "ULP", "s"):
        table.add_column(heading, justify="right")
    for family, results in report.by_family().items():
        table.add_row(printable(family), *_row(results, states))
    table.add_row("all", *_row(report.results, states), style="bold")
    return table


def _row(results: Iterable[Result], states: Iterable[str]) -> list[str]:
    results = list(results)
    counts = Counter(state(r) for r in results)
    worst = max((r.ulp for r in results if r.ulp is not None), default=None)
    return [
        *(str(counts[name] or "") for name in states),
        "" if worst is None else error(worst),
        f"{sum(r.seconds for r in results):.1f}",
    ]


def _failures(console: Console, report: Report, shown: int) -> None:
    groups = alike(report.failures, numbers=False)
    for result, *others in groups[:shown]:
        more = f" and {len(others):,} more like it" if others else ""
        _say(console, f"{result.outcome}  {result.id}{more}")
        _say(console, result.message, "    ")
        if result.used:
            _say(console, f"uses {', '.join(result.used)}", "    ")
        _say(console, report.repro(result), "    ")
    if rest := sum(len(group) for group in groups[shown:]):
        _say(
            console, f"... and {plural(rest, 'more failure')}: --html FILE or --json FILE has them"
        )


def _known_gaps(console: Console, report: Report, shown: int) -> None:
    reasons = Counter(r.excepted or "" for r in report.results if r.gap)
    for reason, count in reasons.most_common(shown):
        _say(console, f"known gap, {plural(count, 'case')}: {reason}")


def _stale(console: Console, report: Report, shown: int) -> None:
    stale = [r for r in report.results if r.stale]
    reasons = Counter(r.excepted or "" for r in stale)
    for reason, count in reasons.most_common(shown):
        first = next(r.id for r in stale if r.excepted == reason)
        _say(console, f"excepted, yet passes, {plural(count, 'case')} such as {first}: {reason}")
        _say(console, "take the entry out of the exceptions file, or narrow its id", "    ")
