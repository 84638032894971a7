"""What stands in the place of the array in a sparse tensor."""

from __future__ import annotations

from typing import Any


class SparseArray:
    """The dense tensors that a sparse tensor is made of: its values, and indices as it has them."""

    __slots__ = ()
    given: Any
    shape: Any
    layout: Any

    @property
    def values(self) -> Any:
        """The tensor of the values."""
        return self.given

    def with_values(self, values: Any) -> Any:
        """The same places of other values."""
        raise NotImplementedError

    def parts(self) -> tuple[Any, ...]:
        """The dense tensors; the values are the last."""
        raise NotImplementedError
