"""The comm suite: the contract of a communication plugin, over real processes.

>>> from tensorbus_conformance.comms import run_comm
>>> run_comm("tcp", 2, pattern="C1/barrier/*").ok
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorbus_conformance.comms.report import CommReport
    from tensorbus_conformance.comms.runner import run_comm

__all__ = ["CommReport", "run_comm"]

_HOMES = {"CommReport": "report", "run_comm": "runner"}


def __getattr__(name: str) -> object:
    # The command declares its options without importing what runs the suite.
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
