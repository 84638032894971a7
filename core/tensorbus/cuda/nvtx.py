"""``torch.cuda.nvtx``: labels for profiles, which are those of ``torch.profiler`` here.

>>> import tensorbus
>>> with tensorbus.profiler.profile() as profile, tensorbus.cuda.nvtx.range("layer"):
...     x = tensorbus.ones(2) + 1
>>> "layer" in [event.key for event in profile.key_averages()]
True
"""

from __future__ import annotations

import threading
from typing import Any

from tensorbus._base.page import show_pages as _show_pages
from tensorbus.profiler import record_function

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class _Open(threading.local):
    def __init__(self) -> None:
        self.pushed: list[Any] = []
        self.started: dict[int, Any] = {}
        self.count = 0


_open = _Open()


def range_push(msg: str) -> int:
    """Begin a part of the profile; ``range_pop`` ends it. How many are open around it."""
    label = record_function(msg)
    label.__enter__()
    _open.pushed.append(label)
    return len(_open.pushed) - 1


def range_pop() -> int:
    """End the part that began last; how many are still open, and -1 where there was none."""
    if not _open.pushed:
        return -1
    _open.pushed.pop().__exit__(None, None, None)
    return len(_open.pushed)


def range_start(msg: str) -> int:
    """Begin a part of the profile that ends with ``range_end`` of what this gives."""
    label = record_function(msg)
    label.__enter__()
    _open.count += 1
    _open.started[_open.count] = label
    return _open.count


def range_end(range_id: int) -> None:
    """End a part that ``range_start`` began."""
    label = _open.started.pop(range_id, None)
    if label is not None:
        label.__exit__(None, None, None)


def mark(msg: str) -> None:
    """Write an event without length into the profile."""
    with record_function(msg):
        pass


def range(msg: str, *args: Any, **kwargs: Any) -> Any:
    """A block, or a decorator, that is a part of the profile."""
    return record_function(msg.format(*args, **kwargs))


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
