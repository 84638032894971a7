"""Tables that hold objects weakly, and call nothing in Python when one goes.

What the callback of a weak reference raises is dropped, KeyboardInterrupt too: an interrupt that
comes there is lost. The standard library's weak dictionaries and sets have such callbacks. A set of
references needs no class: ``s.add(weakref.ref(x, s.discard))``.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class WeakKeys(Generic[K, V]):
    """Values for objects, which are told apart by their identity and held weakly."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}

    def get(self, key: K, otherwise: Any = None) -> V | Any:
        """The value for an object."""
        entry = self._entries.get(id(key))
        return otherwise if entry is None or entry[0]() is not key else entry[1]

    def __setitem__(self, key: K, value: V) -> None:
        number = id(key)
        forget = functools.partial(self._entries.pop, number)  # compiled; takes the reference too
        self._entries[number] = weakref.ref(key, forget), value

    def pop(self, key: K) -> None:
        """Forget an object, if it is known."""
        self._entries.pop(id(key), None)

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


class WeakValues(Generic[K, V]):
    """Objects by keys, held weakly; the keys of those that are gone are dropped now and then."""

    __slots__ = ("_entries", "_most")

    def __init__(self) -> None:
        self._entries: dict[K, weakref.ref[Any]] = {}
        self._most = 16

    def get(self, key: K, otherwise: Any = None) -> V | Any:
        """The object of a key; *otherwise* where it is gone or there was none."""
        entry = self._entries.get(key)
        found = None if entry is None else entry()
        return otherwise if found is None else found

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._entries) >= self._most:
            for known, entry in list(self._entries.items()):
                if entry() is None:
                    self._entries.pop(known, None)
            self._most = 2 * len(self._entries) + 16
        self._entries[key] = weakref.ref(value)

    def items(self) -> list[tuple[K, V]]:
        """The keys and the objects that are there."""
        found = [(key, entry()) for key, entry in list(self._entries.items())]
        return [(key, value) for key, value in found if value is not None]

    def values(self) -> list[V]:
        """The objects that are there."""
        return [value for _, value in self.items()]
