"""What a pickle names and refers to, found without making anything of it."""

from __future__ import annotations

import pickle
from typing import IO, Any

from tensorbus.serialization.names import known
from tensorbus.serialization.rebuild import StorageType
from tensorbus.serialization.restricted import RestrictedUnpickler


class _Inert:
    """Stands for whatever would be made."""


class Survey(RestrictedUnpickler):
    """Follows a pickle of any origin: nothing is imported, called or filled."""

    def __init__(self, file: IO[bytes]):
        super().__init__(file, self._refer)
        self.globals: set[str] = set()
        self.references: list[Any] = []

    def _refer(self, pid: Any) -> Any:
        self.references.append(pid)
        return _Inert()

    def _step(self, code: int) -> None:
        if code in _FURTHER:
            getattr(self, _FURTHER[code])()
        else:
            super()._step(code)

    def _resolve(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        self.globals.add(full)
        found = known()[0].get(full)
        # Storage types are values that references hold; nothing else is needed.
        return found if isinstance(found, StorageType) else _Inert()

    def _call(self, new: bool) -> None:
        self._pop()
        self._pop()
        self._push(_Inert())

    def _new_object_with_names(self) -> None:
        self._pop()
        self._call(new=True)

    def _old_object(self) -> None:
        self._marked()
        self._push(_Inert())

    def _old_instance(self) -> None:
        self._global()
        self._pop()
        self._old_object()

    def _build(self) -> None:
        self._pop()

    def _frozenset(self) -> None:
        self._old_object()

    def _extend(self, values: list[Any]) -> None:
        self._top()

    def _fill(self, values: list[Any]) -> None:
        self._top()

    def _add_items(self) -> None:
        self._marked()


_FURTHER = {
    pickle.NEWOBJ_EX[0]: "_new_object_with_names",
    pickle.OBJ[0]: "_old_object",
    pickle.INST[0]: "_old_instance",
}
