"""The exceptions file: what a backend's authors know to be wrong, why, and until when.

``conformance.toml`` in the backend's package holds entries such as::

    [[exception]]
    id = "L1/pow/float16/*"
    reason = "the vendor's pow flushes subnormal results; reported upstream"
    expires = 2027-06-30
"""

from __future__ import annotations

import datetime
import importlib.resources
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensorbus.plugin import Backend
from tensorbus_conformance.cases import all_cases, matches

FILE = "conformance.toml"


@dataclass(frozen=True)
class KnownGap:
    """One entry: the ids it excuses, and its reason and last day."""

    id: str
    reason: str
    expires: datetime.date

    def covers(self, id: str) -> bool:
        return self.id == id or (any(m in self.id for m in "*?[") and matches(id, self.id))


def excuse(gaps: Iterable[KnownGap], id: str) -> str | None:
    """The reason of the first gap that covers a case, None where none does."""
    return next((gap.reason for gap in gaps if gap.covers(id)), None)


class ExceptionsError(ValueError):
    """The exceptions file cannot be used as it stands."""


def load(backend: Backend) -> list[KnownGap]:
    """The entries of the file in the package of *backend*; none where there is no file."""
    package = type(backend).__module__.partition(".")[0]
    try:
        file = importlib.resources.files(package) / FILE
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
    except (ModuleNotFoundError, TypeError):
        return []
    return parse(text, where=f"{package}/{FILE}")


def parse(text: str, where: str = FILE, today: datetime.date | None = None) -> list[KnownGap]:
    """The entries of a file's text; ``ExceptionsError`` names what is wrong with one."""
    try:
        entries = tomllib.loads(text).get("exception", [])
    except tomllib.TOMLDecodeError as error:
        raise ExceptionsError(f"{where} is not valid TOML: {error}") from error
    found = [_entry(entry, where) for entry in entries]
    _check(found, where, today or datetime.date.today())
    return found


def _entry(entry: dict[str, Any], where: str) -> KnownGap:
    missing = [key for key in ("id", "reason", "expires") if not entry.get(key)]
    if missing:
        raise ExceptionsError(f"{where}: an exception lacks {', '.join(missing)}: {entry}")
    expires = entry["expires"]
    if not isinstance(expires, datetime.date):
        raise ExceptionsError(f"{where}: expires must be a date such as 2027-06-30, got {expires}")
    return KnownGap(str(entry["id"]), str(entry["reason"]), expires)


def _check(gaps: Iterable[KnownGap], where: str, today: datetime.date) -> None:
    for gap in gaps:
        if not any(gap.covers(case.id) for case in all_cases()):
            raise ExceptionsError(f"{where}: {gap.id!r} matches no case; remove or correct it")
        if gap.expires < today:
            raise ExceptionsError(
                f"{where}: the exception {gap.id!r} expired on {gap.expires}: "
                "mend what it excuses, or renew it with a reason"
            )
