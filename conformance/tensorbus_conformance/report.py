"""What a run found: results and counts, and the JSON file that keeps them."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tensorbus_conformance.profile import PROFILES

PASS, QUALITY, UNSUPPORTED, FALLBACK = "pass", "quality", "not supported", "fallback"
BLOCKED, FAIL, CRASH = "blocked", "fail", "crash"
OUTCOMES = (PASS, QUALITY, UNSUPPORTED, FALLBACK, BLOCKED, FAIL, CRASH)

FORMAT = 2
"""The number of the JSON format; it grows when a reader of the old one would misread the new."""


class ReportError(ValueError):
    """The file isn't a report that can be read."""


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
    def level(self) -> str:
        return self.id.partition("/")[0]

    @property
    def op(self) -> str:
        return self.id.split("/")[1]

    @property
    def bad(self) -> bool:
        """Whether this result keeps the backend from conforming."""
        return self.outcome in (FAIL, CRASH) and self.excepted is None

    @property
    def gap(self) -> bool:
        """Whether it would, but for the exceptions file."""
        return self.outcome in (FAIL, CRASH) and self.excepted is not None

    @property
    def stale(self) -> bool:
        """Whether an exception covers a case that passes."""
        return self.outcome in (PASS, QUALITY) and self.excepted is not None

    def _document(self) -> dict[str, Any]:
        # Nine of ten results are passes: what a field leaves at its default is not written.
        found: dict[str, Any] = {
            "id": self.id,
            "family": self.family,
            "outcome": self.outcome,
            "ulp": _finite(self.ulp),
            "seconds": round(self.seconds, 6),
        }
        if self.message:
            found["message"] = self.message
        if self.excepted is not None:
            found["excepted"] = self.excepted
        if self.used:
            found["used"] = self.used
        if (relative := _finite(self.relative)) is not None:
            found["relative"] = relative
        return found


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass
class Report:
    """All results of one run on one device, and what is needed to repeat it."""

    backend: str
    index: int
    device: str
    levels: tuple[str, ...]
    pattern: str | None
    versions: dict[str, str]
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    profile: str = "full"
    started: str = field(default_factory=_now)
    """When the run began, in UTC: ``2027-01-31T12:00:00+00:00``."""
    seeds: dict[str, int] = field(default_factory=dict)
    """The seed of each part that draws; the samples of the cases depend on their names alone."""
    capabilities: dict[str, Any] = field(default_factory=dict)
    """What the device says of itself: ``dtypes``, ``memory_total``, ``details``."""
    git: dict[str, Any] | None = None
    """``commit``, ``dirty`` and whose checkout it is, where the run has to do with one."""

    @property
    def ok(self) -> bool:
        """Whether something ran and nothing failed that is not excepted."""
        return bool(self.results) and not self.failures

    @property
    def failures(self) -> list[Result]:
        return [r for r in self.results if r.bad]

    @property
    def whole(self) -> bool:
        """Whether all of the profile ran: what is said of a part is not said of the device."""
        profile = PROFILES.get(self.profile)
        return profile is not None and self.pattern is None and self.levels == profile.levels

    @property
    def gaps(self) -> list[Result]:
        """The failures that the exceptions file excuses."""
        return [r for r in self.results if r.gap]

    @property
    def exit_code(self) -> int:
        """0 where nothing fails that is not excepted, 1 where something does, 2 if nothing ran."""
        return 0 if self.ok else 1 if self.results else 2

    @property
    def target(self) -> str:
        """The device as the command takes it: ``cpu:0``."""
        return f"{self.backend}:{self.index}"

    def counts(self) -> Counter[str]:
        """How many results there are of each outcome."""
        return Counter(r.outcome for r in self.results)

    def by_family(self) -> dict[str, list[Result]]:
        """The results of each family, by level and then in the order they were run."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(f"{result.level} {result.family}", []).append(result)
        return dict(sorted(found.items(), key=lambda item: item[0].partition(" ")[0]))

    def repro(self, result: Result) -> str:
        """The command that runs the case of *result* again."""
        return f"tensorbus conformance {self.target} -k '{result.id}'"

    def to_json(self) -> str:
        """The whole report as JSON text, one result a line."""
        head = {
            "format": FORMAT,
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "results"},
            "ok": self.ok,
            "counts": dict(self.counts()),
            "families": {
                family: {"cases": len(found), "seconds": round(sum(r.seconds for r in found), 6)}
                for family, found in self.by_family().items()
            },
        }
        text = json.dumps(head, indent=1, allow_nan=False, default=str)
        lines = ",\n".join(json.dumps(r._document()) for r in self.results)
        return f'{text[:-2]},\n "results": [\n{lines}\n]}}'

    @classmethod
    def from_json(cls, text: str, where: str = "the report") -> Report:
        """The report that ``to_json`` wrote; ``ReportError`` says what is wrong with other text.

        *where* names the text in messages.

        >>> report = Report("cpu", 0, "a CPU", ("L1",), None, {}, [Result("L1/add", "all", "pass")])
        >>> Report.from_json(report.to_json()) == report
        True
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ReportError(f"{where} is not JSON: {error}") from error
        if not isinstance(document, dict) or "format" not in document:
            raise ReportError(f"{where} is not a report of tensorbus conformance --json")
        if document["format"] != FORMAT:
            raise ReportError(
                f"{where} has format {document['format']!r}, this version reads {FORMAT}: "
                "write it again, or read it with the version that wrote it"
            )
        try:
            given = {f.name: document[f.name] for f in fields(cls) if f.name != "results"}
            results = [_result(entry) for entry in document["results"]]
            given["levels"] = tuple(given["levels"])
        except KeyError as error:
            raise ReportError(f"{where} lacks {error.args[0]!r}") from error
        except (TypeError, ValueError) as error:
            raise ReportError(f"{where} has a result that can't be read: {error}") from error
        return cls(**given, results=results)

    def write_json(self, path: str | Path) -> None:
        """Write ``to_json()`` to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def read_json(cls, path: str | Path) -> Report:
        """The report in a file; ``ReportError`` where it can't be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ReportError(f"{path} can't be read: {error}") from error
        return cls.from_json(text, str(path))


def _result(entry: Mapping[str, Any]) -> Result:
    result = Result(**{**entry, "used": tuple(entry.get("used", ()))})
    if result.outcome not in OUTCOMES or result.id.count("/") < 1:
        raise ValueError(f"id {result.id!r} with outcome {result.outcome!r}")
    return result


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
