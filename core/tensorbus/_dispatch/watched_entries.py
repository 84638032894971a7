"""Something that stands before every entry of every table for a while: a profiler.

The tables themselves are rewritten, so that while nobody watches nothing is asked at a call.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus.rows.registry import TABLES

if TYPE_CHECKING:
    from tensorbus._dispatch.kinds import Kind

Entry = Callable[..., Any]
Wrap = Callable[["Kind", str, Entry], Entry]
"""Gives what is called in place of a kind's entry of a name."""

MOVES = ("write", "to_host", "from_host")
"""The methods of kinds that move values and are ops of no row: fills, conversions, transfers."""


class _Watch:
    """What is done with each entry that is found, and with each new kind."""

    __slots__ = ("adopt", "put")

    def __init__(self) -> None:
        self.put: Callable[[Kind, str, Entry], Entry] | None = None
        self.adopt: Callable[[Kind], None] | None = None


WATCH = _Watch()
_lock = threading.Lock()
_replaced: dict[tuple[Kind, str], tuple[Entry, Entry | None]] = {}
"""What stands in a table now, and what stood there before; None for a method."""


def watch(wrap: Wrap) -> None:
    """Put *wrap* before every entry, and before those that are found from now on."""
    with _lock:
        WATCH.put = functools.partial(_put, wrap)
        for kind in TABLES:
            for name in kind.resolved():
                kind.__dict__[name] = _put(wrap, kind, name, kind.__dict__[name])
            _adopt(wrap, kind)
        WATCH.adopt = functools.partial(_adopt, wrap)


def _put(wrap: Wrap, kind: Kind, name: str, entry: Entry) -> Entry:
    made = wrap(kind, name, entry)
    _replaced[kind, name] = made, entry
    return made


def _adopt(wrap: Wrap, kind: Kind) -> None:
    for name in MOVES:
        made = kind.__dict__[name] = wrap(kind, name, getattr(kind, name))
        _replaced[kind, name] = made, None


def unwatch() -> None:
    """Take it away again."""
    with _lock:
        WATCH.put = WATCH.adopt = None
        while _replaced:
            (kind, name), (made, entry) = _replaced.popitem()
            if kind.__dict__.get(name) is made:
                if entry is None:
                    del kind.__dict__[name]
                else:
                    kind.__dict__[name] = entry
