"""What one signature can't say: the result's type where it depends on the arguments.

The stubs show these in the place of a function's own signature. A first parameter called ``self``
belongs to a method alone; functions with ``out=`` get it in each form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_extreme = "(input: Tensor) -> Tensor", "(input: Tensor, other: Tensor) -> Tensor"
_along = "(input: Tensor, dim: int, keepdim: bool = False) -> return_types.{}"
_converted = "non_blocking: bool = False, copy: bool = False, *, memory_format: Any = None"
_distinct = {
    "unique": "input: Tensor, sorted: bool = True, ",
    "unique_consecutive": "input: Tensor, ",
}

OVERLOADS: dict[str, tuple[str, ...]] = {
    "max": (*_extreme, _along.format("max")),
    "min": (*_extreme, _along.format("min")),
    "median": (_extreme[0], _along.format("median")),
    "nanmedian": (_extreme[0], _along.format("nanmedian")),
    "where": (
        "(condition: Tensor) -> tuple[Tensor, ...]",
        "(condition: Tensor, input: Tensor | complex, other: Tensor | complex) -> Tensor",
    ),
    "nonzero": (
        "(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ),
    **{
        name: (
            f"({first}return_inverse: Literal[False] = False, "
            "return_counts: Literal[False] = False, dim: int | None = None) -> Tensor",
            f"({first}return_inverse: bool = False, return_counts: bool = False, "
            "dim: int | None = None) -> Any",
        )
        for name, first in _distinct.items()
    },
    **{
        f"atleast_{n}d": ("(tensor: Tensor, /) -> Tensor", "(*tensors: Any) -> tuple[Tensor, ...]")
        for n in (1, 2, 3)
    },
    "to": (
        f"(self: Tensor, dtype: dtype, {_converted}) -> Tensor",
        "(self: Tensor, device: device | str | int | None = None, dtype: dtype | None = None, "
        f"{_converted}) -> Tensor",
        f"(self: Tensor, other: Tensor, {_converted}) -> Tensor",
    ),
    "view": (
        "(self: Tensor, *size: int | Sequence[int]) -> Tensor",
        "(self: Tensor, dtype: dtype) -> Tensor",
    ),
    "type": (
        "(self: Tensor, dtype: None = None, non_blocking: bool = False, *, "
        "memory_format: memory_format | None = None) -> str",
        "(self: Tensor, dtype: dtype | str | type, non_blocking: bool = False, *, "
        "memory_format: memory_format | None = None) -> Tensor",
    ),
}


def forms(name: str, method: bool) -> list[Callable[..., Any]]:
    """The forms of a function or a method, as functions that do nothing; empty if it has one."""
    texts = OVERLOADS.get(name, ())
    if not method:
        texts = tuple(text for text in texts if not text.startswith("(self"))
    made: list[Callable[..., Any]] = []
    for text in texts:
        space: dict[str, Any] = {"__name__": __name__}
        exec(f"from __future__ import annotations\ndef {name}{text}: ...", space)
        made.append(space[name])
    return made
