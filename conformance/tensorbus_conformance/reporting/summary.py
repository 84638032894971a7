"""The summary on the terminal: counts by family, failures, known gaps, what to write next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensorbus_conformance.report import OUTCOMES, PASS, Report, Result
from tensorbus_conformance.reporting import advice
from tensorbus_conformance.reporting.text import plural, shortened

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
        _say(console, f"no case matches {report.pattern!r} in {', '.join(report.levels)}")
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
    cases = f"{plural(len(report.results), 'case')} in {report.seconds:.1f} s"
    if not report.ok:
        return f"{report.target} does not conform: {len(report.failures):,} of {cases} fail"
    part = "" if report.pattern is None else f" that match {report.pattern!r}"
    return f"{report.target} conforms to profile {report.profile}: {cases}{part}"


def _say(console: Console, text: str, indent: str = "") -> None:
    # Not wrapped: a command must survive being copied.
    text = shortened(text, _LONGEST).replace("\n", f"\n{indent}")
    console.print(f"{indent}{text}", markup=False, soft_wrap=True)


def _table(report: Report) -> Table:
    from rich.table import Table

    counts = report.counts()
    outcomes = [o for o in OUTCOMES if counts[o] or o == PASS]
    table = Table(title=shortened(f"{report.target}  {report.device}", 200))
    table.add_column("family", no_wrap=True)
    for heading in (*outcomes, "worst ULP", "seconds"):
        table.add_column(heading, justify="right")
    for family, results in report.by_family().items():
        table.add_row(family, *_row(results, outcomes))
    table.add_section()
    table.add_row("all", *_row(report.results, outcomes))
    return table


def _row(results: Iterable[Result], outcomes: Iterable[str]) -> list[str]:
    results = list(results)
    counts = Counter(r.outcome for r in results)
    worst = max((r.ulp for r in results if r.ulp is not None), default=None)
    return [
        *(str(counts[outcome] or "") for outcome in outcomes),
        "" if worst is None else f"{worst:.2f}",
        f"{sum(r.seconds for r in results):.1f}",
    ]


def _failures(console: Console, report: Report, shown: int) -> None:
    failures = report.failures
    for result in failures[:shown]:
        _say(console, f"{result.outcome}  {result.id}")
        _say(console, result.message, "    ")
        if result.used:
            _say(console, f"needs {', '.join(result.used)}", "    ")
        _say(console, report.repro(result), "    ")
    if len(failures) > shown:
        more = len(failures) - shown
        _say(console, f"... and {more:,} more: --html FILE or --json FILE has them all")


def _known_gaps(console: Console, report: Report, shown: int) -> None:
    reasons = Counter(r.excepted or "" for r in report.results if r.gap)
    for reason, count in reasons.most_common(shown):
        _say(console, f"known gap, {plural(count, 'case')}: {reason}")


def _stale(console: Console, report: Report, shown: int) -> None:
    stale = [r.id for r in report.results if r.stale]
    for id in stale[:shown]:
        _say(console, f"an exception covers {id}, which passes: remove it from the file")
    if len(stale) > shown:
        _say(console, f"... and {len(stale) - shown:,} more that pass though excepted")
