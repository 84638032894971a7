"""Kinds of which few ops are ever called."""

from __future__ import annotations

from typing import Any

from tensorbus._dispatch.kinds import Kind
from tensorbus.rows.registry import ROWS


class LazyKind(Kind):
    """A kind whose table has no slot for an op until it is first asked for."""

    def fill(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        row = ROWS.get(name.removeprefix("fast_"))
        if row is None:
            raise AttributeError(f"no op is called {name!r}")
        self.add_row(row)
        return self.__dict__[name]
