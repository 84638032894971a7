"""What a run on a comm depends on: versions, the state of a checkout, the exceptions file."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus_conformance import exceptions
from tensorbus_conformance.comms import cases
from tensorbus_conformance.comms.report import CommReport
from tensorbus_conformance.exceptions import KnownGap
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
    return exceptions.read(
        package, "C", lambda: (c.instance(n) for c in cases.all_cases() for n in (2, 3, 4))
    )
