"""The public names of ops: what ``public`` fills and the package and the class show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What ``tensorbus.NAME`` finds."""

METHODS: dict[str, Any] = {}
"""What ``Tensor.NAME`` finds."""
