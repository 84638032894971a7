"""What kernels raise for values that they meet: at once, or when their device is waited for."""

from __future__ import annotations

from functools import cache
from typing import Any

_TEXTS: dict[int, str] = {}


@cache
def index_with_text(text: str) -> int:
    """An index outside of every tensor, whose ``IndexFault`` says *text*.

    So the frontend has other checks of values kept by devices that compute later.
    """
    value = -(1 << 31) + len(_TEXTS)  # of 32 bits: some devices count with those
    _TEXTS[value] = text
    return value


class IndexFault(IndexError, RuntimeError):
    """An index kernel met *value* where a dimension *dim* of size *n* was indexed.

    Users meet it at once or at the next read, printed as an IndexError. It is a RuntimeError too,
    which PyTorch raises for some of the functions.
    """

    def __new__(cls, value: int, dim: int, n: int) -> IndexFault:
        return super().__new__(_OtherFault if value in _TEXTS else cls, value, dim, n)

    def __init__(self, value: int, dim: int, n: int):
        text = f"index {value} is out of bounds for dimension {dim} with size {n}"
        super().__init__(_TEXTS.get(value, text))
        self.value, self.dim, self.n = value, dim, n

    def __reduce__(self) -> Any:
        return _index_fault, (self.value, self.dim, self.n)


class _OtherFault(IndexFault):
    """One of ``index_with_text``."""


# What tracebacks call them.
IndexFault.__name__ = IndexFault.__qualname__ = "IndexError"
_OtherFault.__name__ = _OtherFault.__qualname__ = "RuntimeError"
IndexFault.__module__ = _OtherFault.__module__ = "builtins"


def _index_fault(value: int, dim: int, n: int) -> IndexFault:
    return IndexFault(value, dim, n)
