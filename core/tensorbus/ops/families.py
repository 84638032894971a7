"""The modules of the families: which are imported at once, and what the others will declare."""

from __future__ import annotations

import gc
import importlib

from tensorbus.op_engine import in_place_functions
from tensorbus.op_engine.names import FUNCTIONS, METHODS, SPECIAL, await_methods, show
from tensorbus.ops.later import LATER
from tensorbus.rows.registry import ROWS

AT_ONCE = (
    # These put other methods in the place of those that rows gave.
    "pointwise.arithmetic",
    "pointwise.operators",
    "pointwise.numeric",
    "pointwise.complex_numbers",
    # These have properties, which are written to as well.
    "tensor.attributes",
    "tensor.gradients",
    "tensor.copies",
    "tensor.host_memory",
    "views.dimension_order",
    # The kinds give each view two entries.
    "views.rows",
    "indexing.getitem",
)
"""What cannot wait until it is touched, with all that it imports; ``later.py`` has the others."""


def load() -> None:
    """Import these modules, show what they declare, and say where the other names are."""
    # What is made here stays: a collector that goes through it again and again frees nothing.
    collects = gc.isenabled()
    gc.disable()
    try:
        for name in AT_ONCE:
            importlib.import_module(f"tensorbus.ops.{name}")
        in_place_functions.publish()
        show()
        _await()
    finally:
        if collects:
            gc.enable()


def _await() -> None:
    for line in LATER.splitlines():
        sort, home, *names = line.split()
        module = f"tensorbus.ops.{home}"
        if sort == "methods":
            await_methods(module, names)
        else:
            _TABLES[sort].await_names(module, names)


_TABLES = {"rows": ROWS, "functions": FUNCTIONS, "methods": METHODS, "special": SPECIAL}
