"""The conformance suite: the contract of a backend in executable form.

>>> from tensorbus_conformance import run
>>> report = run("cpu", level="L1", pattern="L1/add/float32/*")
>>> report.ok
True
"""

from tensorbus_conformance.case import LEVELS, Case
from tensorbus_conformance.cases import all_cases, select
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.exceptions import ExceptionsError, KnownGap
from tensorbus_conformance.report import OUTCOMES, Report, Result, print_summary
from tensorbus_conformance.runner import find_backend, run, run_case

__all__ = [
    "LEVELS",
    "OUTCOMES",
    "Case",
    "ExceptionsError",
    "KnownGap",
    "Mismatch",
    "Report",
    "Result",
    "all_cases",
    "find_backend",
    "print_summary",
    "run",
    "run_case",
    "select",
]
