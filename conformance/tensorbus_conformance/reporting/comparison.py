"""What changed between two reports, and whether it is for the worse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from tensorbus_conformance.report import (
    BLOCKED,
    CRASH,
    FAIL,
    FALLBACK,
    PASS,
    QUALITY,
    UNSUPPORTED,
    Report,
    Result,
)
from tensorbus_conformance.reporting.matrix import GAP, state
from tensorbus_conformance.reporting.text import error, factor, plural, shortened

GRADES = (PASS, QUALITY, FALLBACK, UNSUPPORTED, BLOCKED, GAP, FAIL, CRASH)
"""From best to worst for who uses the device: a step to the right is a change for the worse."""

_GRADE = {name: grade for grade, name in enumerate(GRADES)}

ULP_FACTOR, ULP_STEP = 1.5, 0.25
"""An error has grown when it is that many times, and that many ULP, larger."""

TIME_FACTOR, TIME_STEP = 1.5, 1.0
"""A family's time has changed when it did by that factor and by that many seconds."""

SHOWN = 20


@dataclass
class Comparison:
    """The changes from *before* to *after*."""

    before: Report
    after: Report
    failing: list[tuple[Result | None, Result]] = field(default_factory=list)
    """Fails now and did not before; the first is None for a case that is new."""
    passing: list[tuple[Result, Result]] = field(default_factory=list)
    """Passes now, did not before."""
    worse: list[tuple[Result, Result]] = field(default_factory=list)
    """Other steps down, such as from pass to fallback."""
    better: list[tuple[Result, Result]] = field(default_factory=list)
    """Other steps up."""
    less_accurate: list[tuple[Result, Result]] = field(default_factory=list)
    new: list[Result] = field(default_factory=list)
    removed: list[Result] = field(default_factory=list)
    times: list[tuple[str, float, float]] = field(default_factory=list)
    """Family, seconds before and after, over the cases that both reports have."""

    @property
    def regressed(self) -> bool:
        """Whether an outcome or an accuracy got worse; times are too noisy to judge by."""
        return bool(self.failing or self.worse or self.less_accurate)


def compare_reports(before: Report, after: Report) -> Comparison:
    """Compare two reports case by case."""
    found = Comparison(before, after)
    old = {r.id: r for r in before.results}
    for now in after.results:
        was = old.pop(now.id, None)
        if was is None:
            found.new.append(now)
            if now.bad:
                found.failing.append((None, now))
        else:
            _sort(found, was, now)
    found.removed.extend(old.values())
    found.times.extend(_times(before, after))
    return found


def _sort(found: Comparison, was: Result, now: Result) -> None:
    step = _GRADE[state(now)] - _GRADE[state(was)]
    if now.bad and not was.bad:
        found.failing.append((was, now))
    elif step > 0:
        found.worse.append((was, now))
    elif step < 0:
        passes = now.outcome in (PASS, QUALITY) and was.outcome not in (PASS, QUALITY)
        (found.passing if passes else found.better).append((was, now))
    elif _grew(was.ulp, now.ulp):
        found.less_accurate.append((was, now))


def _grew(was: float | None, now: float | None) -> bool:
    if was is None or now is None:
        return False
    return now > was * ULP_FACTOR and now - was > ULP_STEP


def _times(before: Report, after: Report) -> Iterator[tuple[str, float, float]]:
    old = {r.id: r.seconds for r in before.results}
    for family, results in after.by_family().items():
        shared = [r for r in results if r.id in old]
        was, now = sum(old[r.id] for r in shared), sum(r.seconds for r in shared)
        low, high = sorted((was, now))
        if high > low * TIME_FACTOR and high - low > TIME_STEP:
            yield family, was, now


def print_comparison(found: Comparison, shown: int = SHOWN) -> None:
    """Print what differs; sections without an entry are left out."""
    for line in lines(found, shown):
        print(shortened(line, 1000))


def lines(found: Comparison, shown: int = SHOWN) -> Iterator[str]:
    """The lines of ``print_comparison``."""
    for report, word in ((found.before, "before"), (found.after, "after")):
        what = f"{report.target} {report.device}, profile {report.profile}, {report.started}"
        yield f"{word:7} {what}: {plural(len(report.results), 'case')}"
    yield from (f"  {line}" for line in _conditions(found.before, found.after))
    sections = {
        "newly failing": [_step(was, now, message=True) for was, now in found.failing],
        "worse": [_step(was, now, message=True) for was, now in found.worse],
        "less accurate": [
            f"{now.id}: {_error(was)} -> {_error(now)} ULP" for was, now in found.less_accurate
        ],
        "newly passing": [_step(was, now) for was, now in found.passing],
        "better": [_step(was, now) for was, now in found.better],
        "new cases": [f"{r.id}: {state(r)}" for r in found.new],
        "removed cases": [f"{r.id}: {state(r)}" for r in found.removed],
        "time": [
            f"{name}: {was:.1f} s -> {now:.1f} s{_ratio(was, now)}"
            for name, was, now in found.times
        ],
    }
    for title, entries in sections.items():
        yield from _section(title, entries, shown)
    bad = len(found.failing) + len(found.worse) + len(found.less_accurate)
    good = len(found.passing) + len(found.better)
    rest = f"{len(found.new):,} new, {len(found.removed):,} removed"
    yield f"{plural(bad, 'case')} worse, {good:,} better, {rest}"


def _conditions(before: Report, after: Report) -> Iterator[str]:
    pairs: dict[str, tuple[object, object]] = {
        "device": (f"{before.target} {before.device}", f"{after.target} {after.device}"),
        "profile": (before.profile, after.profile),
        "levels": (",".join(before.levels), ",".join(after.levels)),
        "pattern": (before.pattern, after.pattern),
        "commit": (_commit(before), _commit(after)),
    }
    for name in before.versions | after.versions:
        pairs[name] = before.versions.get(name), after.versions.get(name)
    for name in before.seeds | after.seeds:
        pairs[f"seed {name}"] = before.seeds.get(name), after.seeds.get(name)
    details = [report.capabilities.get("details", {}) for report in (before, after)]
    for name in details[0] | details[1]:
        pairs[f"device {name}"] = details[0].get(name), details[1].get(name)
    for name, (was, now) in pairs.items():
        if was != now:
            yield f"{name}: {_shown(was)} -> {_shown(now)}"


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _commit(report: Report) -> str | None:
    if report.git is None:
        return None
    return f"{report.git['commit'][:12]}{' with changes' if report.git['dirty'] else ''}"


def _section(title: str, entries: list[str], shown: int) -> Iterator[str]:
    if not entries:
        return
    yield f"{title} ({len(entries):,}):"
    yield from (f"  {entry}" for entry in islice(entries, shown))
    if len(entries) > shown:
        yield f"  ... and {len(entries) - shown:,} more"


def _step(was: Result | None, now: Result, message: bool = False) -> str:
    text = f"{now.id}: {'new' if was is None else state(was)} -> {state(now)}"
    return f"{text}: {now.message}" if message and now.message else text


def _error(result: Result) -> str:
    return "none" if result.ulp is None else error(result.ulp)


def _ratio(was: float, now: float) -> str:
    return f", {factor(now / was)} times as long" if was else ""
