"""Functions with several results return tuples whose parts have PyTorch's names."""

from __future__ import annotations

import collections
from typing import Any

from tensorbus import return_types


def result_type_of(name: str, fields: str) -> Any:
    """A tuple class with named parts.

    >>> result_type_of("sort", "values indices")(1, 2)
    torch.return_types.sort(
    values=1,
    indices=2)
    """
    made = collections.namedtuple(name, fields)  # type: ignore[misc]

    def shown(self: Any) -> str:
        parts = ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    made.__repr__ = shown  # type: ignore[method-assign]
    made.__module__ = return_types.__name__
    setattr(return_types, name, made)  # pickled by name
    return made
