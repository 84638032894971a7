"""The exceptions file: what a backend's authors know to be wrong, why, and until when.

``conformance.toml`` in the backend's package holds entries such as::

    [[exception]]
    id = "L1/pow/float16/*"
    reason = "the vendor's pow flushes subnormal results; reported upstream"
    expires = 2027-06-30

An id is that of one case, or a glob over the cases of one op: its level and op stand in full.
"""

from __future__ import annotations

import datetime
import importlib.resources
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tensorbus.plugin import Backend
from tensorbus_conformance.cases import all_cases, matches

FILE = "conformance.toml"

_ABOUT_ONE_OP = re.compile(r"[LC]\d/[^/*?[]+(/.+)?")


class ExceptionsError(ValueError):
    """The exceptions file cannot be used as it stands."""


@dataclass(frozen=True)
class KnownGap:
    """One entry: the ids it excuses, and its reason and last day."""

    id: str
    reason: str
    expires: datetime.date

    def __post_init__(self) -> None:
        if not _ABOUT_ONE_OP.fullmatch(self.id):
            raise ExceptionsError(
                f"the exception {self.id!r} is not about one op: write the level and the op in "
                "full, with wildcards after them alone, such as 'L1/pow/float16/*'"
            )

    def covers(self, id: str) -> bool:
        return self.id == id or (any(m in self.id for m in "*?[") and matches(id, self.id))


def excuse(gaps: Iterable[KnownGap], id: str) -> str | None:
    """The reason of the first gap that covers a case, None where none does."""
    return next((gap.reason for gap in gaps if gap.covers(id)), None)


def load(backend: Backend) -> list[KnownGap]:
    """The entries about devices in the file of the package of *backend*; none without a file."""
    package = type(backend).__module__.partition(".")[0]
    return read(package, "L", lambda: [case.id for case in all_cases()])


def read(package: str, kind: str, ids: Callable[[], Iterable[str]]) -> list[KnownGap]:
    """The entries in the file of *package* whose level begins with *kind*, L or C.

    ``ExceptionsError`` for one that matches none of *ids*.
    """
    if package == "__main__":
        return []  # a class in a script or a notebook has no package
    try:
        file = importlib.resources.files(package) / FILE
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
    except (ModuleNotFoundError, TypeError):
        return []
    where = f"{package}/{FILE}"
    found = [gap for gap in parse(text, where) if gap.id.startswith(kind)]
    known = list(ids()) if found else []
    for gap in found:
        if not any(gap.covers(id) for id in known):
            raise ExceptionsError(f"{where}: {gap.id!r} matches no case; remove or correct it")
    return found


def parse(text: str, where: str = FILE, today: datetime.date | None = None) -> list[KnownGap]:
    """The entries of a file's text; ``ExceptionsError`` names what is wrong with one."""
    try:
        entries = tomllib.loads(text).get("exception", [])
    except tomllib.TOMLDecodeError as error:
        raise ExceptionsError(f"{where} is not valid TOML: {error}") from error
    found = [_entry(entry, where) for entry in entries]
    for gap in found:
        if gap.expires < (today or datetime.date.today()):
            raise ExceptionsError(
                f"{where}: the exception {gap.id!r} expired on {gap.expires}: "
                "mend what it excuses, or renew it with a reason"
            )
    return found


def _entry(entry: dict[str, Any], where: str) -> KnownGap:
    missing = [key for key in ("id", "reason", "expires") if not entry.get(key)]
    if missing:
        raise ExceptionsError(f"{where}: an exception lacks {', '.join(missing)}: {entry}")
    expires = entry["expires"]
    if not isinstance(expires, datetime.date):
        raise ExceptionsError(f"{where}: expires must be a date such as 2027-06-30, got {expires}")
    return KnownGap(str(entry["id"]), str(entry["reason"]), expires)
