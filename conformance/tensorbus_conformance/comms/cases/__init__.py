"""The cases of the comm suite, one module for each family; each module has ``cases()``."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tensorbus_conformance.comms.case import LEVELS, CommCase
from tensorbus_conformance.comms.cases import (
    collectives,
    disagreements,
    faults,
    groups,
    layouts,
    life_cycle,
    messages,
    objects,
    orders,
    reductions,
    rooted,
    soak,
)

MODULES = (
    life_cycle, messages, groups, reductions, collectives, rooted, layouts, orders, objects,
    disagreements, faults,
)  # fmt: skip
PROFILES = ("core", "full")
_ROUND = re.compile(r"C1/soak/any/seed-(\d+)-round-(\d+)")


@functools.cache
def all_cases() -> tuple[CommCase, ...]:
    """Every case of the suite, by level and in the order it is run; ids are unique."""
    found = [case for module in MODULES for case in module.cases()]
    return tuple(sorted(found, key=lambda case: case.level))


@functools.cache
def _by_id() -> dict[str, CommCase]:
    return {case.id: case for case in all_cases()}


def find(id: str) -> CommCase:
    """The case of that id, a round of the soak among them."""
    if round := _ROUND.fullmatch(id):
        return soak.case(int(round[1]), int(round[2]))
    return _by_id()[id]


def select(
    levels: Sequence[str] = LEVELS, pattern: str | None = None, profile: str = "full"
) -> list[CommCase]:
    """The cases of a profile and of some levels whose id is *pattern*, matches or contains it.

    A pattern may be several, with commas between.
    """
    unknown = sorted(set(levels) - set(LEVELS))
    if unknown:
        raise ValueError(f"unknown level {', '.join(unknown)}; there are {', '.join(LEVELS)}")
    if profile not in PROFILES:
        raise ValueError(f"profile {profile} is for devices; comms have {', '.join(PROFILES)}")
    if pattern is not None and _ROUND.fullmatch(pattern):
        return [find(pattern)]
    found = [c for c in all_cases() if c.level in levels and (c.chief or profile == "full")]
    if pattern is None:
        return found
    patterns, ids = pattern.split(","), {c.id for c in found}
    return [c for c in found if any(_matches(c.id, p, p in ids) for p in patterns)]


def _matches(id: str, pattern: str, exact: bool) -> bool:
    if exact:
        return id == pattern
    return fnmatchcase(id, pattern) if any(m in pattern for m in "*?[") else pattern in id


def soak_cases(seed: int, rounds: int) -> list[CommCase]:
    """So many randomised rounds."""
    return [soak.case(seed, number) for number in range(rounds)]
