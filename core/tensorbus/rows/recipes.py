"""How a view was made from its base: what ``_r`` of a tensor holds.

A recipe is one flat tuple, since every view pays for it: the row, its parameters, and then, for a
view of a view, the recipe of that one. A ``Cut`` instead, which is false, says that the view has no
part in its base's history: no write to it can be recorded, and none to its base may come between
its making and its use.
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
        n = len(row.arguments)  # the view's tensor among them, for which the row stands
        found.append((row, made[1:n]))
        made = made[n] if len(made) > n else None
    return found[::-1]


class Cut:
    """Instead of a recipe: a view whose history is not its base's."""

    __slots__ = ("what", "when", "why")

    def __init__(self, what: str, why: str, when: str = ""):
        self.what = what
        self.why = why
        self.when = when

    def __bool__(self) -> bool:
        return False

    def refusal(self, modified: str) -> RuntimeError:
        """The error for a recorded write; *modified* says to what."""
        return RuntimeError(f"{self.what} and {modified} modified inplace{self.when}. {self.why}")


UNRECORDED = Cut(
    "A view was created in no_grad mode",
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked).",
    " with grad mode enabled",
)
"""Instead of the recipe of a view that was made while nothing recorded."""


class Piece(tuple[Any, ...]):
    """The recipe of a view that is one of several outputs: no write to it can be recorded.

    Behind the recipe stand the function and the number of the output.
    """

    __slots__ = ()

    @property
    def cut(self) -> Cut:
        """Why no write to the view can be recorded: made when it is asked for, as few are."""
        function, i = self[-2:]
        return Cut(
            f"Output {i} of {function} is a view",
            "This view is the output of a function that returns multiple views. Such functions do "
            "not allow the output views to be modified inplace. You should replace the inplace "
            "operation by an out-of-place one.",
        )


def piece(made: tuple[Any, ...], function: str, i: int) -> Piece:
    """The recipe of output *i* of a function that returns several views."""
    if len(made) > len(made[0].arguments):
        return Piece((*made, function, i))
    return Piece((*made, None, function, i))


def forbids_writes(made: Any) -> Cut | None:
    """Why no write to the view or its base can be recorded for the view; None where it can."""
    while made:
        if type(made) is Piece:
            return made.cut
        n = len(made[0].arguments)
        made = made[n] if len(made) > n else None
    return made
