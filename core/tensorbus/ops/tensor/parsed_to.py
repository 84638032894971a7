"""``torch._C._nn._parse_to``, by which libraries read the arguments of their own ``to``."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus._device.device import device
from tensorbus.ops.tensor.conversion import parse_to

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[device | None, dtype | None, bool, Any]:
    """Device, dtype, non_blocking and memory format that a call of ``Module.to`` asks for."""
    wanted = parse_to("to", args, kwargs)
    return wanted["device"], wanted["dtype"], wanted["non_blocking"], wanted["memory_format"]
