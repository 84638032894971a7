"""What a run on a comm depends on: versions, the state of a checkout, the exceptions file."""

from __future__ import annotations

import datetime
import importlib.resources
import platform
import tomllib
from pathlib import Path

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus_conformance import exceptions
from tensorbus_conformance.comms import cases
from tensorbus_conformance.comms.report import CommReport
from tensorbus_conformance.exceptions import ExceptionsError, KnownGap
from tensorbus_conformance.reporting import environment


def complete(report: CommReport, package: str) -> None:
    """Fill in the fields ``versions`` and ``git`` of a report."""
    found = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorbus": tensorbus.__version__,
    }
    for record in discovery.records("tensorbus.comms"):
        entry = record.entry_point
        if entry is not None and entry.module.partition(".")[0] == package:
            found[record.distribution] = record.version
    report.versions = found | {"platform": platform.platform()}
    report.git = environment.git_state(package, Path.cwd())


def known_gaps(package: str) -> list[KnownGap]:
    """The entries of ``conformance.toml`` in a comm's package whose ids are of C0 to C2.

    The ids are those of reports, or globs. ``ExceptionsError`` for one that matches no case.
    """
    try:
        file = importlib.resources.files(package) / exceptions.FILE
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
    except (ModuleNotFoundError, TypeError):
        return []
    where = f"{package}/{exceptions.FILE}"
    try:
        listed = tomllib.loads(text).get("exception", [])
        found = [KnownGap(e["id"], e["reason"], e["expires"]) for e in listed]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        text = "an exception needs id, reason and expires"
        raise ExceptionsError(f"{where} can't be used: {text} ({error})") from error
    for gap in found:
        if not isinstance(gap.expires, datetime.date) or gap.expires < datetime.date.today():
            raise ExceptionsError(
                f"{where}: the exception {gap.id!r} expires on {gap.expires}: mend what it "
                f"excuses, or renew it with a reason and a date such as 2027-06-30"
            )
        if not any(gap.covers(case.instance(n)) for case in cases.all_cases() for n in (2, 3, 4)):
            raise ExceptionsError(f"{where}: {gap.id!r} matches no case; remove or correct it")
    return found
