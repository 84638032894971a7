"""How a view was made from its base: what ``_r`` of a tensor holds.

A recipe is one flat tuple, since every view pays for it: the row, its parameters, and then, for a
view of a view, the recipe of that one. None says that the view has no part in its base's history.
"""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import Row


def recipe(row: Row, params: tuple[Any, ...], before: Any) -> tuple[Any, ...]:
    """The recipe of a view by *row*, on top of another recipe or of the base (None)."""
    return (row, *params) if before is None else (row, *params, before)


def steps(made: Any) -> list[tuple[Row, tuple[Any, ...]]]:
    """The rows and parameters of a recipe, from the base on."""
    found = []
    while made is not None:
        row = made[0]
        n = len(row.arguments)  # the view's tensor among them, in whose place the row stands
        found.append((row, made[1:n]))
        made = made[n] if len(made) > n else None
    return found[::-1]
