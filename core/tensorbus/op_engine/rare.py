"""Calls while a mode is active."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import Row


def rare(row: Row, arguments: tuple[Any, ...]) -> Any:
    """A call while some mode is active: nothing handles one yet."""
    raise RuntimeError(f"{row.name}: a mode is active that no module handles")
