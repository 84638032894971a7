"""Tables of hooks, and the handles that take a hook out again."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from tensorbus._base.leaving import Handle

_hook_ids = itertools.count()


class RemovableHandle(Handle):
    """What registering a hook returns: ``remove()`` takes the hook out again.

    Works as a context manager too; the hook is removed when the block ends.
    """

    def __init__(self, table: HookTable, hook_id: int) -> None:
        self._table: weakref.ref[HookTable] | None = weakref.ref(table)
        self.id = hook_id

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        table = self._table() if self._table is not None else None
        if table is not None:
            table.pop(self.id, None)

    def __reduce__(self) -> tuple[Any, ...]:
        table = self._table() if self._table is not None else None
        return _rebuild_handle, (table, self.id)


class HookTable(dict[int, Any]):
    """Hooks of one sort, by id, in the order they run. A plain dict takes no weak reference."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        hook_id = next(_hook_ids)
        if prepend:
            later = list(self.items())
            self.clear()
            self[hook_id] = hook
            self.update(later)
        else:
            self[hook_id] = hook
        return RemovableHandle(self, hook_id)


def _rebuild_handle(table: HookTable | None, hook_id: int) -> RemovableHandle:
    return RemovableHandle(HookTable() if table is None else table, hook_id)
