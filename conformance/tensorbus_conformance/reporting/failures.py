"""Failures that say the same, so that each is reported once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensorbus_conformance.report import Result

_NUMBER = re.compile(r"[-+]?[0-9][-+.0-9e]*")


def alike(failures: Iterable[Result], numbers: bool = True) -> list[list[Result]]:
    """The failures in groups: one op, and one message but for the name of the dtype.

    Without *numbers* those in the messages may differ as well.
    """
    groups: dict[tuple[str, ...], list[Result]] = {}
    for r in failures:
        dtype = r.id.split("/", 3)[2] if r.id.count("/") > 1 else "\0"
        message = r.message.replace(dtype, "*")
        if not numbers:
            message = _NUMBER.sub("#", message)
        used = ",".join(r.used).replace(dtype, "*")
        groups.setdefault((r.level, r.op, r.outcome, message, used), []).append(r)
    return list(groups.values())
