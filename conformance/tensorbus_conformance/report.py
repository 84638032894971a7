"""What a run found: results, counts, JSON, and a summary table for the terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PASS, QUALITY, UNSUPPORTED, FALLBACK = "pass", "quality", "not supported", "fallback"
BLOCKED, FAIL, CRASH = "blocked", "fail", "crash"
OUTCOMES = (PASS, QUALITY, UNSUPPORTED, FALLBACK, BLOCKED, FAIL, CRASH)


@dataclass(frozen=True)
class Result:
    """The outcome of one case."""

    id: str
    family: str
    outcome: str
    """One of ``OUTCOMES``."""
    message: str = ""
    ulp: float | None = None
    """The worst error met, where the case measures one."""
    seconds: float = 0.0
    excepted: str | None = None
    """The reason given in the exceptions file, where it covers this case."""
    used: tuple[str, ...] = ()
    """What a failing or falling back case needed: kernels as ``op/dtype``, or the missing ops."""
    relative: float | None = None
    """The time of one call of the op over the CPU's, where both were timed."""

    @property
    def bad(self) -> bool:
        """Whether this result keeps the backend from conforming."""
        return self.outcome in (FAIL, CRASH) and self.excepted is None

    @property
    def stale(self) -> bool:
        """Whether an exception covers a case that passes."""
        return self.outcome in (PASS, QUALITY) and self.excepted is not None


@dataclass
class Report:
    """All results of one run on one device."""

    backend: str
    index: int
    device: str
    levels: tuple[str, ...]
    pattern: str | None
    versions: dict[str, str]
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether something ran and nothing failed that is not excepted."""
        return bool(self.results) and not self.failures

    @property
    def failures(self) -> list[Result]:
        return [r for r in self.results if r.bad]

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def counts(self) -> Counter[str]:
        """How many results there are of each outcome."""
        return Counter(r.outcome for r in self.results)

    def by_family(self) -> dict[str, list[Result]]:
        """The results of each family, in the order they were run."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(f"{result.id.partition('/')[0]} {result.family}", []).append(result)
        return found

    def to_json(self) -> str:
        """The whole report as JSON text."""
        document = {
            "format": 1,
            **{k: v for k, v in asdict(self).items() if k != "results"},
            "ok": self.ok,
            "counts": dict(self.counts()),
            "results": [asdict(r) for r in self.results],
        }
        return json.dumps(document, indent=1, allow_nan=False, default=str)

    def write_json(self, path: str | Path) -> None:
        """Write ``to_json()`` to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")


def print_summary(report: Report, shown: int = 20) -> None:
    """Print the table by family, the first failures, and what to do about each."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title=f"{report.backend}:{report.index}  {report.device}")
    table.add_column("family", no_wrap=True)
    for outcome in OUTCOMES:
        table.add_column(outcome, justify="right")
    table.add_column("worst ULP", justify="right")
    table.add_column("seconds", justify="right")
    for family, results in report.by_family().items():
        _row(table, family, results)
    table.add_section()
    _row(table, "all", report.results)
    console.print(table)
    for result in report.failures[:shown]:
        console.print(f"{result.outcome}  {result.id}", markup=False)
        console.print(f"    {result.message}", markup=False)
        console.print(f"    {repro(report, result)}", markup=False)
    if len(report.failures) > shown:
        console.print(f"... and {len(report.failures) - shown} more: --json FILE has them all")
    for result in report.results:
        if result.stale:
            text = f"an exception covers {result.id}, which passes: remove it from the file"
            console.print(text, markup=False)
    if not report.results:
        console.print(f"no case matches {report.pattern!r}", markup=False)


def repro(report: Report, result: Result) -> str:
    """The command that runs this case again."""
    return f"tensorbus conformance {report.backend}:{report.index} -k '{result.id}'"


def _row(table: Any, label: str, results: Iterable[Result]) -> None:
    results = list(results)
    counts = Counter(r.outcome for r in results)
    worst = max((r.ulp for r in results if r.ulp is not None), default=None)
    table.add_row(
        label,
        *(str(counts[outcome] or "") for outcome in OUTCOMES),
        "" if worst is None else f"{worst:.2f}",
        f"{sum(r.seconds for r in results):.1f}",
    )
