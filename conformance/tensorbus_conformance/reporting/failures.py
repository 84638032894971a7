"""Failures that say the same, so that each is told once."""

from __future__ import annotations

from collections.abc import Iterable

from tensorbus_conformance.report import Result


def alike(failures: Iterable[Result]) -> list[list[Result]]:
    """The failures in groups of one op and one message, such as that it isn't offered."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for r in failures:
        groups.setdefault((r.level, r.op, r.outcome, r.message, r.used), []).append(r)
    return list(groups.values())
