"""Small helpers of several layer families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorbus.nn.modules.module import Module


def as_tuple(value: Any, count: int) -> tuple[Any, ...]:
    """A number for all dims becomes *count* of them; a sequence becomes a tuple."""
    if isinstance(value, Iterable):
        return tuple(value)
    return (value,) * count


class Shown(Module):
    """A layer whose ``repr`` shows the attributes that ``_shown`` names, and a true ``inplace``."""

    _shown: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


def iter_pairs(what: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, or of an iterable of pairs, with errors that name *what*."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got "
            f"{type(given).__name__}"
        )
    if isinstance(given, Mapping) or (hasattr(given, "keys") and hasattr(given, "items")):
        yield from given.items()
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{what} update sequence element #{i} has length {len(pair)}; 2 is required"
            )
        yield pair
