"""Small helpers of several layer families."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorbus.nn.modules.module import Module


def as_tuple(value: Any, count: int) -> tuple[Any, ...]:
    """A number for all dims becomes `count` of them; a sequence becomes a tuple."""
    if isinstance(value, Iterable):
        return tuple(value)
    return (value,) * count


class Shown(Module):
    """A layer whose `repr` shows the attributes that `_shown` names, and `inplace` if it is set."""

    _shown: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)
