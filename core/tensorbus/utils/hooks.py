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

    def handle(self) -> RemovableHandle:
        """What takes out a hook that is put under its ``id`` afterwards."""
        return RemovableHandle(self, next(_hook_ids))

    def add(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        handle = self.handle()
        try:
            if prepend:
                ordered = {handle.id: hook, **self}
                try:
                    self.clear()
                finally:
                    self.update(ordered)
            else:
                self[handle.id] = hook
        except BaseException:  # an interrupt: nobody gets the handle
            self.pop(handle.id, None)
            raise
        return handle


def _rebuild_handle(table: HookTable | None, hook_id: int) -> RemovableHandle:
    return RemovableHandle(HookTable() if table is None else table, hook_id)
