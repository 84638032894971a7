"""Complex parameters, which are two real ones each: their parts are stepped as such."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor


class PartsOfState(MutableMapping[str, Any]):
    """The state of a complex parameter, whose complex tensors are read and written by parts."""

    def __init__(self, state: dict[str, Any], param: Tensor):
        self._state = state
        self._shape = (*param.shape, 2)

    def __getitem__(self, name: str) -> Any:
        value = self._state[name]
        complex_ = isinstance(value, Tensor) and value.is_complex()
        return tensorbus.view_as_real(value) if complex_ else value

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and tuple(value.shape) == self._shape:
            value = tensorbus.view_as_complex(value)
        self._state[name] = value

    def __delitem__(self, name: str) -> None:
        del self._state[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)
