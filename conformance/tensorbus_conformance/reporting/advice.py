"""Which op to write next: the one whose absence most cases meet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tensorbus_conformance.report import FAIL, FALLBACK, Report
from tensorbus_conformance.reporting.text import plural

NOT_OFFERED = "not offered"
"""What the message of a failed case says where the backend has no kernel."""


@dataclass(frozen=True)
class Missing:
    """An op without a kernel, and how many cases ran into that."""

    op: str
    fell_back: int
    not_offered: int

    def __str__(self) -> str:
        parts = []
        if self.fell_back:
            parts.append(f"{plural(self.fell_back, 'case')} fell back to the CPU for it")
        if self.not_offered:
            parts.append(f"{plural(self.not_offered, 'case')} failed because it is not offered")
        return f"{self.op} ({', '.join(parts)})"


def missing_ops(report: Report) -> list[Missing]:
    """The ops that cases fell back for or found not offered, the one met most often first."""
    fell_back: Counter[str] = Counter()
    not_offered: Counter[str] = Counter()
    for result in report.results:
        if result.outcome == FALLBACK:
            fell_back.update({used.partition("/")[0] for used in result.used} or {result.op})
        elif result.outcome == FAIL and NOT_OFFERED in result.message:
            not_offered[result.op] += 1
    found = [Missing(op, fell_back[op], not_offered[op]) for op in fell_back | not_offered]
    return sorted(found, key=lambda m: (-m.fell_back - m.not_offered, m.op))


def next_op(report: Report) -> str:
    """One line that names the op to write next, or nothing where none is missing."""
    missing = missing_ops(report)
    return f"next op to write: {missing[0]}" if missing else ""
