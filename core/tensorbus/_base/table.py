"""Tables that modules fill when they are imported, and modules that are imported when touched."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Table(dict[str, Any]):
    """What modules declare by name; asking for a name imports the module that declares it.

    Which that is has been said before, by ``await_names``. What a module declares is in the table
    when the module has run to its end: until then another thread that asks waits for it, and one
    that was interrupted is run again. Reading the table as a whole imports all of them.
    """

    __slots__ = ("homes", "waiting", "when_shown")

    def __init__(self) -> None:
        super().__init__()
        self.homes: dict[str, str] = {}
        """The modules of the names that are not in the table yet."""
        self.waiting: dict[str, Any] = {}
        """What such modules have declared so far."""
        self.when_shown: Callable[[str, Any], None] | None = None
        _TABLES.append(self)

    def show_with(self, function: Callable[[str, Any], None]) -> None:
        """Call a function with all names and values that are there, and with those that come."""
        for name, value in super().items():
            function(name, value)
        self.when_shown = function

    def await_names(self, module: str, names: Iterable[str]) -> None:
        """Say what a module will declare."""
        if module not in sys.modules:
            self.homes.update(dict.fromkeys(names, module))

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.homes:
            self.waiting[name] = value
        else:
            self._show(name, value)

    def update(self, *given: Any, **named: Any) -> None:
        """Declare all that a dictionary has."""
        for name, value in dict(*given, **named).items():
            self[name] = value

    def _show(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if self.when_shown is not None:
            self.when_shown(name, value)

    def __missing__(self, name: str) -> Any:
        home = self.homes.get(name)
        if home is not None:
            module = importlib.import_module(home)
            # This thread is inside of it where it still initialises: others would have waited.
            if getattr(module.__spec__, "_initializing", False):
                return self.waiting[name]
            for table in _TABLES:
                table._show_all(home)
        if not super().__contains__(name):
            raise KeyError(name)
        return super().__getitem__(name)

    def _show_all(self, home: str) -> None:
        for name in [n for n, module in list(self.homes.items()) if module == home]:
            # Two threads may do so at once.
            if (value := self.waiting.get(name)) is not None:
                self._show(name, value)
            self.homes.pop(name, None)
            self.waiting.pop(name, None)

    def shown(self) -> list[Any]:
        """The values of all modules that have been imported."""
        return list(super().values())

    def names(self) -> list[str]:
        """All names, for which nothing is imported."""
        return [*super().keys(), *self.homes]

    def awaited(self) -> list[str]:
        """The names of all others."""
        return list(self.homes)

    def complete(self) -> None:
        """Import all that declares something."""
        for name in self.awaited():
            self.get(name)

    # -- as a dictionary of all names -------------------------------------------------------------
    def __contains__(self, name: object) -> bool:
        return name in self.homes or super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or *default*."""
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return super().__iter__()

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    def keys(self) -> Any:
        """All names."""
        self.complete()
        return super().keys()

    def values(self) -> Any:
        """All values."""
        self.complete()
        return super().values()

    def items(self) -> Any:
        """All names with their values."""
        self.complete()
        return super().items()


_TABLES: list[Table] = []


def complete() -> None:
    """Import all modules that declare something in some table."""
    for table in _TABLES:
        table.complete()
