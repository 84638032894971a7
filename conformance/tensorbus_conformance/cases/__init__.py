"""The cases, one module for each family of primitives; each module has ``cases()``."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tensorbus_conformance import formats
from tensorbus_conformance.case import LEVELS, Case
from tensorbus_conformance.cases import (
    copying,
    creation,
    extents,
    host,
    matmul,
    movement,
    op_gradients,
    op_values,
    ordering,
    pointwise,
    reductions,
    scans,
    scattering,
    storage,
    views,
)

MODULES = (
    host, storage, copying, views,
    pointwise, reductions, scans, matmul, movement, scattering, ordering, creation,
    extents,
    op_values, op_gradients,
)  # fmt: skip


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the suite, in the order it is run; ids are unique."""
    found = [case for module in MODULES for case in module.cases()]
    twice = [id for id, n in Counter(case.id for case in found).items() if n > 1]
    if twice:
        raise ValueError(f"case ids must be unique; twice: {', '.join(twice[:5])}")
    return tuple(found)


# A device that compiles spends a tenth of a second or two on each new kernel, and every dtype and
# rank is one: the quick choice has all variants of float32, and these of the other dtypes.
_CHIEF = {
    "reductions": frozenset(["0-dim-result", "edges"]),
    "scans": frozenset(["edges"]),
}
_CHIEF_ELSEWHERE = frozenset(
    "contiguous edges round-trip set-strided add-strided add-repeats exact".split()
)


def select(
    levels: Sequence[str] = LEVELS, pattern: str | None = None, quick: bool = False
) -> list[Case]:
    """The cases of some levels whose id matches a glob, or contains a text without wildcards.

    With *quick*, every variant for float32, and the chief variants for the other dtypes.
    """
    unknown = sorted(set(levels) - set(LEVELS))
    if unknown:
        raise ValueError(f"unknown level {', '.join(unknown)}; there are {', '.join(LEVELS)}")
    found = [c for c in all_cases() if c.level in levels and matches(c.id, pattern)]
    return [c for c in found if _is_chief(c)] if quick else found


def _is_chief(case: Case) -> bool:
    chief = _CHIEF.get(case.family, _CHIEF_ELSEWHERE)
    return case.variant in chief or all(d is formats.FLOAT32 for d in case.dtypes)


def matches(id: str, pattern: str | None) -> bool:
    """Whether an id matches a glob, or contains a text that has no wildcard."""
    if not pattern:
        return True
    if any(mark in pattern for mark in "*?["):
        return fnmatchcase(id, pattern)
    return pattern in id
