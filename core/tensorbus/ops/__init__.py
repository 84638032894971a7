"""The ops: one file for each family, one row for each op.

``torch.ops`` is this package, too: a name that is no family is a namespace of ops, as
``torch.ops.aten`` (``op_engine/op_objects.py``).
"""

import importlib.util
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorbus.op_engine.op_objects import namespace

    return namespace(name)
