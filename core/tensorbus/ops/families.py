"""Imports every family, so that all rows and public names are known."""

from __future__ import annotations

import importlib
import pkgutil

import tensorbus.ops as ops


def load() -> None:
    """Import each module of each family."""
    for module in pkgutil.walk_packages(ops.__path__, "tensorbus.ops."):
        importlib.import_module(module.name)
