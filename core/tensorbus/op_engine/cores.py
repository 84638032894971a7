"""The tensor function of each row, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.registered import make_core
from tensorbus.rows.registry import ROWS


class _Cores(dict[str, Callable[..., Any]]):
    """The functions made so far; looking one up makes it."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        made = self[name] = make_core(ROWS[name])
        return made


core: Callable[[str], Callable[..., Any]] = _Cores().__getitem__
"""``core(name)``: the tensor function of a row, over prepared operands."""
