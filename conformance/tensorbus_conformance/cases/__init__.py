"""The cases, one module for each family of primitives; each module has ``cases()``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tensorbus_conformance.case import LEVELS, Case
from tensorbus_conformance.cases import (
    copying,
    creation,
    host,
    matmul,
    movement,
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
)  # fmt: skip


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the suite, in the order it is run; ids are unique."""
    found = [case for module in MODULES for case in module.cases()]
    ids = {case.id for case in found}
    if len(ids) != len(found):
        seen: set[str] = set()
        twice = [c.id for c in found if c.id in seen or seen.add(c.id)]
        raise ValueError(f"case ids must be unique; twice: {', '.join(twice[:5])}")
    return tuple(found)


def select(levels: Sequence[str] = LEVELS, pattern: str | None = None) -> list[Case]:
    """The cases of some levels whose id matches a glob, or contains a text without wildcards."""
    unknown = sorted(set(levels) - set(LEVELS))
    if unknown:
        raise ValueError(f"unknown level {', '.join(unknown)}; there are {', '.join(LEVELS)}")
    return [c for c in all_cases() if c.level in levels and matches(c.id, pattern)]


def matches(id: str, pattern: str | None) -> bool:
    """Whether an id matches a glob, or contains a text that has no wildcard."""
    if not pattern:
        return True
    if any(mark in pattern for mark in "*?["):
        return fnmatchcase(id, pattern)
    return pattern in id
