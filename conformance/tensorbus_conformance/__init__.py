"""The conformance suite: the contract of a backend in executable form.

>>> from tensorbus_conformance import run
>>> report = run("cpu", level="L1", pattern="L1/add/float32/*")
>>> report.ok
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorbus_conformance.case import LEVELS, Case
    from tensorbus_conformance.cases import all_cases, select
    from tensorbus_conformance.compare import Mismatch
    from tensorbus_conformance.exceptions import ExceptionsError, KnownGap
    from tensorbus_conformance.report import OUTCOMES, Report, ReportError, Result
    from tensorbus_conformance.reporting.capabilities import to_markdown
    from tensorbus_conformance.reporting.comparison import Comparison, compare_reports
    from tensorbus_conformance.reporting.html import to_html
    from tensorbus_conformance.reporting.junit import to_junit
    from tensorbus_conformance.reporting.summary import print_summary
    from tensorbus_conformance.runner import find_backend, run, run_case
    from tensorbus_conformance.trial import Device

__all__ = [
    "LEVELS",
    "OUTCOMES",
    "Case",
    "Comparison",
    "Device",
    "ExceptionsError",
    "KnownGap",
    "Mismatch",
    "Report",
    "ReportError",
    "Result",
    "all_cases",
    "compare_reports",
    "find_backend",
    "print_summary",
    "run",
    "run_case",
    "select",
    "to_html",
    "to_junit",
    "to_markdown",
]

_HOMES = {
    "case": ("LEVELS", "Case"),
    "cases": ("all_cases", "select"),
    "compare": ("Mismatch",),
    "exceptions": ("ExceptionsError", "KnownGap"),
    "report": ("OUTCOMES", "Report", "ReportError", "Result"),
    "reporting.capabilities": ("to_markdown",),
    "reporting.comparison": ("Comparison", "compare_reports"),
    "reporting.html": ("to_html",),
    "reporting.junit": ("to_junit",),
    "reporting.summary": ("print_summary",),
    "runner": ("find_backend", "run", "run_case"),
    "trial": ("Device",),
}


def __getattr__(name: str) -> object:
    # The suite is imported when it is used: every run of pytest in an environment that has it
    # imports this package for the sake of one option.
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
