"""Whether what is composed of other ops runs as one function: compiled by a plugin, or emitted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus.plugin.backend import Backend

VARIABLE = "TENSORBUS_FUSION"

_on: bool | None = None
"""None until somebody asks: then what the variable says."""


def set_fusion(enabled: bool) -> None:
    """Whether ops that are composed of others may run as one function, in all threads.

    It holds for the calls that follow: for kernels of plugins that compile, and for the Python that
    is generated for devices whose plugins do not. Switched off, each op runs step by step. Results
    stay within the error that each op allows, and may differ in their last bits. What was made
    before is made anew where it is switched on again.

    >>> import tensorbus
    >>> before = tensorbus.get_fusion()
    >>> tensorbus.set_fusion(False)
    >>> tensorbus.get_fusion()
    False
    >>> tensorbus.set_fusion(before)
    """
    global _on
    if not isinstance(enabled, bool):
        raise TypeError(f"set_fusion(): argument must be bool, not {type(enabled).__name__}")
    before = get_fusion()
    try:
        _on = enabled
        registered.fusion_switched()
    except BaseException:
        _on = before
        registered.fusion_switched()
        raise


def get_fusion() -> bool:
    """Whether composed ops may run as one compiled kernel or generated function.

    >>> import tensorbus
    >>> tensorbus.get_fusion() in (True, False)
    True
    """
    global _on
    if _on is None:
        text = os.environ.get(VARIABLE, "1")
        if text not in ("0", "1"):
            raise ValueError(f"{VARIABLE} is 0 or 1, not {text!r}")
        _on = text == "1"
    return _on


def compilers(backend: Backend) -> list[Callable[..., Any]]:
    """Whose ``compile`` is asked for graphs on a backend now."""
    return discovery.compilers(backend) if get_fusion() else []
