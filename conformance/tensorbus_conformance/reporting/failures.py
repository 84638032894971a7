"""Failures that say the same, so that each is told once."""

from __future__ import annotations

from collections.abc import Iterable

from tensorbus_conformance.report import Result


def alike(failures: Iterable[Result]) -> list[list[Result]]:
    """The failures in groups: one op, and one message but for the name of the dtype."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for r in failures:
        dtype = r.id.split("/", 3)[2] if r.id.count("/") > 1 else "\0"
        said = (r.message.replace(dtype, "*"), ",".join(r.used).replace(dtype, "*"))
        groups.setdefault((r.level, r.op, r.outcome, *said), []).append(r)
    return list(groups.values())
