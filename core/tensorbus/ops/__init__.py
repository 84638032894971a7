"""The ops: one file for each family, one row for each op.

``torch.ops`` is this package, too: a name that is no family is a namespace of ops, as
``torch.ops.aten`` (``op_engine/op_objects.py``).
"""

import importlib.util
from typing import Any

loaded_libraries: set[str] = set()
"""The libraries of ops that ``load_library`` has loaded: none can be."""


def load_library(path: str) -> None:
    """Raise OSError: ops that are compiled for PyTorch's C++ library need PyTorch's tensors."""
    raise OSError(
        f"{path} has ops compiled for PyTorch's C++ library, which tensorbus does not have: use "
        "the Python parts of its package, or define the ops with torch.library"
    )


def __getattr__(name: str) -> Any:
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorbus.op_engine.op_objects import namespace

    return namespace(name)
