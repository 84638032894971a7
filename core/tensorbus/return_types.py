"""The classes of results with several named parts: ``return_types.max``, ``return_types.sort``...

>>> import tensorbus
>>> isinstance(tensorbus.ones(2).max(0), tensorbus.return_types.max)
True
"""

from typing import Any as _Any

from tensorbus._base.table import complete as _complete


def __getattr__(name: str) -> _Any:
    if not name.startswith("_"):
        _complete()  # the modules of functions make these classes
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
