"""The capability matrix: for each op and dtype, and fused, the worst outcome, error and time."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tensorbus_conformance import formats
from tensorbus_conformance.report import (
    BLOCKED,
    CRASH,
    FAIL,
    FALLBACK,
    PASS,
    QUALITY,
    UNSUPPORTED,
    Result,
)

GAP = "known gap"
"""A failure that the exceptions file excuses, as a state of its own."""

NO_DTYPE = "any"
"""The column of cases whose id names no dtype."""

FUSED = "fused"
"""The column of cases that run an op as one kernel: the device's own, or what was compiled."""

_FUSED = ("compiled", "fused-")
"""What their variants begin with."""

LEVELS = {
    "L0": "runtime",
    "L1": "primitives",
    "L2": "dtypes, promotion, errors, layouts",
    "L3": "gradients",
    "L4": "composites and fused ops",
    "L5": "layers, optimisers, random streams, serialisation",
    "C0": "communication: life cycle, messages, groups",
    "C1": "communication: collectives",
    "C2": "communication: faults",
}


@dataclass(frozen=True)
class State:
    """What a cell of the matrix can say, with a symbol, so that colour is never all there is."""

    name: str
    symbol: str
    meaning: str


STATES = {
    state.name: state
    for state in (
        State(PASS, "✓", "as the contract says"),
        State(QUALITY, "Q", "wrong by one to four times the allowed error"),
        State(UNSUPPORTED, "-", "declared: a dtype or a trait that the device does not have"),
        State(FALLBACK, "CPU", "right, but some of it ran on the CPU"),
        State(BLOCKED, "B", "wrong, and a primitive that it needs fails"),
        State(GAP, "G", "fails, and the exceptions file says why"),
        State(FAIL, "F", "wrong result, exception, or not offered"),
        State(CRASH, "X", "the process died or hung"),
    )
}

# What a cell shows is the last of these that it has: where some variants of an op pass and some are
# declared not supported, the op is there.
_RANK = {
    name: rank
    for rank, name in enumerate((UNSUPPORTED, PASS, QUALITY, FALLBACK, BLOCKED, GAP, FAIL, CRASH))
}

_DTYPES = tuple(d.name for d in formats.ALL)


def state(result: Result) -> str:
    """The state a result counts under: its outcome, or ``GAP`` where it is excused."""
    return GAP if result.gap else result.outcome


@dataclass
class Cell:
    """All cases of one op and column."""

    counts: Counter[str] = field(default_factory=Counter)
    ulp: float | None = None
    relatives: list[float] = field(default_factory=list)
    worst: Result | None = None

    def add(self, result: Result) -> None:
        """Count one more result."""
        found = state(result)
        self.counts[found] += 1
        if self.worst is None or _RANK[found] > _RANK[state(self.worst)]:
            self.worst = result
        if result.ulp is not None and result.ulp > (self.ulp or 0):
            self.ulp = result.ulp
        if result.relative is not None:
            self.relatives.append(result.relative)

    @property
    def state(self) -> State:
        """The worst that was met; not supported only where nothing else was."""
        return max((STATES[name] for name in self.counts), key=lambda s: _RANK[s.name])

    @property
    def relative(self) -> float | None:
        """The time beside the CPU's, the median where several cases were timed."""
        return statistics.median(self.relatives) if self.relatives else None


@dataclass
class Family:
    """The rows of one family at one level: ``rows[op][column]`` is a cell."""

    level: str
    name: str
    rows: dict[str, dict[str, Cell]] = field(default_factory=dict)


def columns_of(id: str) -> list[str]:
    """The columns a case counts in: the dtypes its id names, two for ``float32-int8``, or
    ``FUSED``.
    """
    level, _, *rest = id.split("/", 3)
    if level.startswith("L") and id.rpartition("/")[2].startswith(_FUSED):
        return [FUSED]
    found = [d for d in rest[0].split("-") if d in _DTYPES] if rest else []
    return list(dict.fromkeys(found)) or [NO_DTYPE]


def build(results: Iterable[Result]) -> list[Family]:
    """The matrix, one entry for each level and family."""
    families: dict[tuple[str, str], Family] = {}
    for result in results:
        level, op, *_ = result.id.split("/", 2)
        key = level, result.family
        if key not in families:
            families[key] = Family(level, result.family)
        row = families[key].rows.setdefault(op, {})
        for column in columns_of(result.id):
            if column not in row:
                row[column] = Cell()
            row[column].add(result)
    return sorted(families.values(), key=lambda family: family.level)


def columns(families: Iterable[Family]) -> list[str]:
    """The columns that occur: dtypes in the order of their own table, then the others."""
    found = {column for family in families for row in family.rows.values() for column in row}
    return [c for c in (*_DTYPES, NO_DTYPE, FUSED) if c in found]
