"""The ops of the library with samples and references, one module for each family.

Each module has ``OPS``, a list of ``Op``. A public function without one fails the project's tests.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import Counter

from tensorbus_conformance.op import Op


@functools.cache
def all_ops() -> tuple[Op, ...]:
    """Every op of the suite, in the order of the modules' names; names are unique."""
    found: list[Op] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        found += loaded.OPS
    twice = [name for name, n in Counter(op.name for op in found).items() if n > 1]
    if twice:
        raise ValueError(f"an op has one entry; twice: {', '.join(twice[:5])}")
    return tuple(found)
