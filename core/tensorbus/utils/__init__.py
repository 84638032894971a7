"""Tools around tensors: data loading."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorbus.utils import data as data


def __getattr__(name: str) -> Any:
    # ``tensorbus.utils.data`` works without an import of its own, and costs nothing until used.
    if name == "data":
        return importlib.import_module("tensorbus.utils.data")
    raise AttributeError(f"module 'tensorbus.utils' has no attribute {name!r}")
