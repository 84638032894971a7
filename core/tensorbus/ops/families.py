"""Imports every family, so that all rows and public names are known."""

from __future__ import annotations

import importlib
import pkgutil

import tensorbus.ops as ops


def load() -> None:
    """Import each module of ``ops``."""
    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"tensorbus.ops.{module.name}")
