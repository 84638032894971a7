"""Imports the engine and every family, so that all rows, public names and upcalls are known."""

from __future__ import annotations

import importlib
import pkgutil

import tensorbus.ops as ops
from tensorbus.op_engine import in_place_functions


def load() -> None:
    """Import each module of each family, then publish what stands on all of them."""
    for module in pkgutil.walk_packages(ops.__path__, "tensorbus.ops."):
        importlib.import_module(module.name)
    in_place_functions.publish()
