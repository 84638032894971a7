"""The report as one HTML page that needs no network, and no script to be read."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
from collections import Counter
from collections.abc import Callable, Iterator
from string import Template

from tensorbus_conformance.report import Report, Result
from tensorbus_conformance.reporting import advice, matrix
from tensorbus_conformance.reporting.failures import alike
from tensorbus_conformance.reporting.matrix import STATES, Cell, Family, state
from tensorbus_conformance.reporting.summary import verdict
from tensorbus_conformance.reporting.text import error, factor, plural, printable, shortened

MOST_FAILURES = 1000
"""How many failures the page shows in full; a backend that fails everywhere has more."""

MOST_ALIKE = 40

MOST_GROUPS = 300

_LONGEST = 3000

_CLASS = {"not supported": "none", "known gap": "gap"}


def to_html(report: Report) -> str:
    """The whole page: the run, the matrix, the failures, and what else did not just pass."""
    script = _part("page.js")
    digest = hashlib.sha256(script.encode()).digest()
    families = matrix.build(report.results)
    failures = alike(report.failures)
    sections = dict(_sections(report, failures))
    counts = Counter(state(r) for r in report.results)
    return Template(_part("page.html")).substitute(
        # The page's own script runs and no other: not even one that escaping had let through.
        script_hash=base64.b64encode(digest).decode(),
        script=script,
        style=_part("page.css"),
        title=_text(f"Conformance of {report.target}"),
        target=_text(report.target),
        device=_text(report.device),
        verdict=_text(verdict(report)),
        verdict_class="good" if report.ok else "bad",
        counts="\n".join(
            f"<li>{_symbol(name)} {_text(name)} {counts[name]:,}</li>"
            for name in STATES
            if counts[name]
        ),
        navigation=_navigation(sections),
        facts="\n".join(
            f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in _facts(report)
        ),
        advice=_advice(report),
        families=_families(report),
        legend="\n".join(
            f"<li>{_symbol(s.name)} {_text(s.name)}: {_text(s.meaning)}</li>"
            for s in STATES.values()
        ),
        options="".join(
            f'<option value="{_class(name)}">{_text(name)}</option>'
            for name in STATES
            if counts[name]
        ),
        matrix="\n".join(_matrix(families, _anchors(failures))),
        details="\n".join(sections.values()),
    )


def _part(name: str) -> str:
    file = importlib.resources.files("tensorbus_conformance.reporting") / name
    return file.read_text(encoding="utf-8")


def _text(value: object) -> str:
    return html.escape(printable(str(value)))


def _class(name: str) -> str:
    return _CLASS.get(name, name)


def _symbol(name: str) -> str:
    return f'<b class="{_class(name)}">{STATES[name].symbol}</b>'


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield "profile", report.profile
    yield "levels", ", ".join(report.levels)
    if report.pattern is not None:
        yield "pattern", report.pattern
    yield "started", report.started
    yield "versions", ", ".join(f"{name} {version}" for name, version in report.versions.items())
    if report.git is not None:
        dirty = ", with uncommitted changes" if report.git["dirty"] else ""
        yield f"commit ({report.git['of']})", f"{report.git['commit']}{dirty}"
    seeds = ", ".join(f"{name} {seed}" for name, seed in report.seeds.items())
    yield "seeds", seeds or "none: samples depend on the names of their cases"
    if dtypes := report.capabilities.get("dtypes"):
        yield "dtypes", ", ".join(dtypes)
    if memory := report.capabilities.get("memory_total"):
        yield "memory", f"{memory / 2**30:.1f} GiB"
    yield from report.capabilities.get("details", {}).items()


def _navigation(sections: dict[str, str]) -> str:
    links = {"run": "The run", "families": "Families", "matrix": "Matrix"}
    links |= {name: name.capitalize() for name in sections}
    return "\n".join(f'<a href="#{_id(name)}">{_text(title)}</a>' for name, title in links.items())


def _id(name: str) -> str:
    return name.replace(" ", "-")


def _advice(report: Report) -> str:
    missing = advice.missing_ops(report)
    if not missing:
        return ""
    items = "\n".join(f"<li>{_text(entry)}</li>" for entry in missing[:10])
    more = f"<p>and {len(missing) - 10} more</p>" if len(missing) > 10 else ""
    return f'<section id="next"><h2>Write next</h2>\n<ol>\n{items}\n</ol>{more}</section>'


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def _families(report: Report) -> str:
    counts = Counter(state(r) for r in report.results)
    states = [name for name in STATES if counts[name]]
    heads = "".join(f'<th scope="col">{_text(name)}</th>' for name in (*states, "seconds"))
    rows = []
    for family, results in [*report.by_family().items(), ("all", report.results)]:
        here = Counter(state(r) for r in results)
        cells = "".join(f'<td class="number">{_count(here[name])}</td>' for name in states)
        seconds = f'<td class="number">{sum(r.seconds for r in results):.1f}</td>'
        rows.append(f'<tr><th scope="row">{_text(family)}</th>{cells}{seconds}</tr>')
    body = "\n".join(rows)
    head = f'<thead><tr><th scope="col">family</th>{heads}</tr></thead>'
    return f"{head}\n<tbody>\n{body}\n</tbody>"


# -- matrix --------------------------------------------------------------------------------------
def _matrix(families: list[Family], anchors: dict[str, str]) -> Iterator[str]:
    for level in dict.fromkeys(family.level for family in families):
        here = [family for family in families if family.level == level]
        columns = matrix.columns(here)
        title = _text(f"{level} {matrix.LEVELS.get(level, '')}")
        yield f'<div class="wide"><table class="matrix">\n<caption>{title}</caption>'
        heads = "".join(f'<th scope="col">{_text(dtype)}</th>' for dtype in columns)
        yield f'<thead><tr><th scope="col">op</th>{heads}</tr></thead>'
        for family in here:
            yield from _rows(family, columns, anchors)
        yield "</table></div>"


def _rows(family: Family, columns: list[str], anchors: dict[str, str]) -> Iterator[str]:
    name = _text(family.name)
    span = len(columns) + 1
    yield f'<tbody><tr><th class="family" colspan="{span}" scope="rowgroup">{name}</th></tr>'
    for op, row in family.rows.items():
        states = " ".join(dict.fromkeys(_class(s) for cell in row.values() for s in cell.counts))
        cells = "".join(_cell(row[d], anchors) if d in row else "<td></td>" for d in columns)
        text = _text(f"{family.level} {family.name} {op}")
        yield (
            f'<tr data-text="{text}" data-states="{states}">'
            f'<th scope="row">{_text(op)}</th>{cells}</tr>'
        )
    yield "</tbody>"


def _cell(cell: Cell, anchors: dict[str, str]) -> str:
    worst = cell.state
    shown = worst.symbol
    anchor = anchors.get(cell.worst.id) if cell.worst is not None else None
    if anchor is not None:
        shown = f'<a href="#{anchor}">{shown}</a>'
    if cell.counts["fallback"] and worst.name != "fallback":
        shown += "+CPU"
    if cell.counts["not supported"] and worst.name != "not supported":
        shown += "&deg;"
    if cell.ulp is not None:
        shown += f" <i>{error(cell.ulp)}</i>"
    if cell.relative is not None:
        shown += f" <i>&times;{factor(cell.relative)}</i>"
    title = ", ".join(f"{count} {name}" for name, count in cell.counts.items())
    return f'<td class="{_class(worst.name)}" title="{title}">{shown}</td>'


# -- what did not just pass ----------------------------------------------------------------------
def _sections(report: Report, failures: list[list[Result]]) -> Iterator[tuple[str, str]]:
    """The name and the HTML of each section of details that has something to say."""
    if failures:
        yield "failures", "\n".join(_failures(report, failures))
    groupings: dict[str, tuple[str, Callable[[Result], str]]] = {
        "known gap": ("reason", lambda r: r.excepted or ""),
        "blocked": ("why", lambda r: r.message or f"uses {', '.join(r.used)}"),
        "fallback": ("ops that ran on the CPU", lambda r: ", ".join(r.used) or r.op),
        "quality": ("op and dtype", lambda r: "/".join(r.id.split("/")[:3])),
        "not supported": ("what was declared", lambda r: r.message),
    }
    for name, (heading, key) in groupings.items():
        if found := [r for r in report.results if state(r) == name]:
            yield name, _grouped(name, heading, found, key)
    if stale := [r for r in report.results if r.stale]:
        table = _grouped(
            "stale exceptions", "reason in the exceptions file", stale, lambda r: r.excepted or ""
        )
        yield "stale exceptions", table


def _anchors(groups: list[list[Result]]) -> dict[str, str]:
    listed = enumerate(groups[:MOST_FAILURES], 1)
    return {result.id: f"f{number}" for number, group in listed for result in group}


def _failures(report: Report, groups: list[list[Result]]) -> Iterator[str]:
    total = sum(len(group) for group in groups)
    yield f'<section id="failures"><h2>Failures ({total:,})</h2>'
    for number, group in enumerate(groups[:MOST_FAILURES], 1):
        yield _failure(report, number, group)
    if rest := [result for group in groups[MOST_FAILURES:] for result in group]:
        counts = Counter(f"{r.level}/{r.op}" for r in rest)
        listed = ", ".join(f"{op} {count:,}" for op, count in counts.most_common(MOST_GROUPS))
        yield f"<p>{plural(len(rest), 'more failure')} in the JSON file: {_text(listed)}.</p>"
    yield "</section>"


def _failure(report: Report, number: int, group: list[Result]) -> str:
    result, *others = group
    text = _text(f"{result.family} {result.id}")
    css = _class(result.outcome)
    uses = f"<p>Uses {_text(', '.join(result.used))}.</p>\n" if result.used else ""
    same = ""
    if others:
        ids = ", ".join(f"<code>{_text(r.id)}</code>" for r in others[:MOST_ALIKE])
        rest = f" and {len(others) - MOST_ALIKE:,} more" if len(others) > MOST_ALIKE else ""
        same = f"<p>The same in {ids}{rest}.</p>\n"
    return (
        f'<article id="f{number}" data-text="{text}" data-states="{css}">\n'
        f'<h3>{_text(result.id)} <span class="{css}">{_text(result.outcome)}</span></h3>\n'
        f"<pre>{html.escape(shortened(result.message, _LONGEST))}</pre>\n{uses}{same}"
        f'<pre class="repro">{_text(report.repro(result))}</pre>\n</article>'
    )


def _grouped(name: str, heading: str, results: list[Result], key: Callable[[Result], str]) -> str:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    rows = "\n".join(_group(label, found) for label, found in ranked[:MOST_GROUPS])
    left = len(ranked) - MOST_GROUPS
    more = f"<p>and {left:,} more rows, which the JSON file has</p>" if left > 0 else ""
    heads = "".join(f'<th scope="col">{_text(h)}</th>' for h in (heading, "cases", "worst ULP"))
    return (
        f'<section id="{_id(name)}"><h2>{_text(name.capitalize())} ({len(results):,})</h2>\n'
        f'<div class="wide"><table>\n<thead><tr>{heads}<th scope="col">for example</th></tr>'
        f"</thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>{more}</section>"
    )


def _group(label: str, results: list[Result]) -> str:
    worst = max(results, key=lambda r: r.ulp or 0)
    ulp = "" if worst.ulp is None else error(worst.ulp)
    example = worst.id if worst.message in ("", label) else f"{worst.id}: {worst.message}"
    return (
        f'<tr><td class="message">{html.escape(shortened(label, _LONGEST))}</td>'
        f'<td class="number">{len(results):,}</td><td class="number">{ulp}</td>'
        f'<td class="message">{html.escape(shortened(example, _LONGEST))}</td></tr>'
    )
