"""The layers of ``nn`` with references, one module for each family; each has ``LAYERS``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import Counter

from tensorbus_conformance.layer import Layer


@functools.cache
def all_layers() -> tuple[Layer, ...]:
    """Every layer of the suite; name and variant together are unique."""
    found: list[Layer] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").LAYERS
    twice = [key for key, n in Counter((x.name, x.variant) for x in found).items() if n > 1]
    if twice:
        raise ValueError(f"a layer's variants have different names; twice: {twice[:5]}")
    return tuple(found)
