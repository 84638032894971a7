"""The page of the documentation that says what each backend can do, made from reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorbus_conformance.report import Report
from tensorbus_conformance.reporting import matrix
from tensorbus_conformance.reporting.matrix import STATES, Cell, Family
from tensorbus_conformance.reporting.text import error, printable

_INTRODUCTION = """\
# What the backends can do

Made by `tensorbus conformance --matrix` from reports of the suite, not written by hand. A cell is
the worst outcome of an op on a dtype, in all variants; ops that come out alike share a row. The
last column is the largest error in ULP and whose it is.
[How to read a report](conformance-report.md) has more.
"""


def to_markdown(reports: Sequence[Report]) -> str:
    """The page: a summary of all reports, then a matrix for each."""
    parts = [_INTRODUCTION, *_legend(), *_summary(reports)]
    for report in reports:
        parts.extend(_backend(report))
    return "\n".join(parts).rstrip() + "\n"


def _legend() -> Iterator[str]:
    yield "| cell | outcome | meaning |\n|---|---|---|"
    yield from (f"| {s.symbol} | {s.name} | {s.meaning} |" for s in STATES.values())
    yield "| ° | | some variants are declared not supported |"
    yield ""


def _summary(reports: Sequence[Report]) -> Iterator[str]:
    yield "| backend | device | profile | tensorbus | conforms | cases | pass | known gaps |"
    yield "|---|---|---|---|---|---|---|---|"
    for report in reports:
        cells = (
            _link(report),
            _plain(report.device),
            report.profile,
            report.versions.get("tensorbus", ""),
            _conforms(report),
            f"{len(report.results):,}",
            f"{report.counts()['pass']:,}",
            str(len(report.gaps)),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _conforms(report: Report) -> str:
    if not report.ok:
        return f"no: {len(report.failures):,} fail"
    if not report.whole:
        return "a part passes"
    return "with known gaps" if report.gaps else "yes"


def _link(report: Report) -> str:
    return f"[{report.target}](#{report.target.replace(':', '')})"


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _backend(report: Report) -> Iterator[str]:
    yield f"## {report.target}\n"
    # Not the platform: where the report was made matters less than with what.
    versions = (f"{name} {v}" for name, v in report.versions.items() if name != "platform")
    yield f"{_plain(report.device)}; {_plain(', '.join(versions))}; {report.started[:10]}.\n"
    families = matrix.build(report.results)
    for level in dict.fromkeys(family.level for family in families):
        here = [family for family in families if family.level == level]
        columns = matrix.columns(here)
        yield f"### {report.target} {level}: {matrix.LEVELS.get(level, 'cases')}\n"
        yield f"| ops | {' | '.join(columns)} | ULP |"
        yield f"|---|{'---|' * len(columns)}---|"
        for family in here:
            yield from _rows(family, columns)
        yield ""


def _rows(family: Family, columns: list[str]) -> Iterator[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for op, row in family.rows.items():
        shown = tuple(_cell(row[d]) if d in row else "" for d in columns)
        alike.setdefault(shown, []).append(op)
    for cells, ops in alike.items():
        names = ", ".join(f"`{_plain(op)}`" for op in ops)
        yield f"| {names} | {' | '.join(cells)} | {_worst(family, ops)} |"


def _worst(family: Family, ops: list[str]) -> str:
    errors = [
        (cell.ulp, op, dtype)
        for op in ops
        for dtype, cell in family.rows[op].items()
        if cell.ulp is not None
    ]
    if not errors:
        return ""
    ulp, op, dtype = max(errors)
    return f"{error(ulp)} `{_plain(op)}` {dtype}"


def _cell(cell: Cell) -> str:
    shown = cell.state.symbol
    if cell.counts["fallback"] and cell.state.name != "fallback":
        shown += "+CPU"
    if cell.counts["not supported"] and cell.state.name != "not supported":
        shown += "°"
    return shown
