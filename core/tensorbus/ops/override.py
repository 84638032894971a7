"""Subclasses that handle ops themselves, by ``__torch_function__``."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor import Tensor
from tensorbus.ops.registry import Row


def call_override(row: Row, arguments: tuple[Any, ...]) -> Any:
    """Ask the operands' classes in turn; TypeError where all decline."""
    from tensorbus.ops.generate import core

    classes: list[type] = []
    for x in arguments:
        if isinstance(x, Tensor) and x._k.override is not None and type(x) not in classes:
            classes.append(type(x))
    classes.sort(key=lambda c: -len(c.__mro__))
    function = core(row.name)
    for cls in classes:
        result = cls.__torch_function__(function, tuple(classes), arguments, {})  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{row.name}' on types that implement __torch_function__: "
        f"{[c.__name__ for c in classes]}"
    )


def call_in_modes(row: Row, arguments: tuple[Any, ...]) -> Any:
    """A call while a mode is active: the modes see it, then it runs."""
    raise RuntimeError(f"{row.name}: a mode is active that no module handles")
