"""Imports the engine and every family, so that all rows, public names and upcalls are known."""

from __future__ import annotations

import gc
import importlib
import pkgutil

from tensorbus import op_engine, ops
from tensorbus.op_engine import in_place_functions


def load() -> None:
    """Import each module of engine and families, then publish what stands on all of them."""
    # What is made here stays: a collector that goes through it again and again frees nothing.
    collects = gc.isenabled()
    gc.disable()
    try:
        for room in (op_engine, ops):
            for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
                importlib.import_module(module.name)
        in_place_functions.publish()
    finally:
        if collects:
            gc.enable()
