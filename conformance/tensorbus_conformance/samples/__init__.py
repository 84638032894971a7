"""The ops of the library with samples and references, one module for each family.

Each module has ``OPS``, a list of ``Op``. A public function without one fails the project's tests.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from tensorbus_conformance.op import Op


@functools.cache
def all_ops() -> tuple[Op, ...]:
    """Every op of the suite, in the order of the modules' names; names are unique."""
    found: list[Op] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        found += loaded.OPS
    return tuple(found)
