"""A warning, or an error, where the program waits for a CUDA device to read what it computed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus import accelerator, discovery
from tensorbus._base.warning import warn_user

_MODES = ("default", "warn", "error")
_mode = 0


def get_sync_debug_mode() -> int:
    """0 where reading a CUDA device's values is silent, 1 where it warns, 2 where it is an error.

    RuntimeError where there is no CUDA device.
    """
    accelerator.capabilities("cuda")
    return _mode


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Say what happens where the program reads values of a CUDA device, and so waits for it.

    ``default`` or 0: nothing; ``warn`` or 1: a UserWarning; ``error`` or 2: a RuntimeError.
    ``synchronize`` may always wait. RuntimeError where there is no CUDA device.
    """
    global _mode
    accelerator.capabilities("cuda")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(len(_MODES)):
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    _mode = debug_mode
    backend: Any = discovery.backend("cuda")
    vars(backend).pop("to_host", None)
    if _mode:
        backend.to_host = _watched(backend.to_host)


def _watched(to_host: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(to_host)
    def read(*args: Any) -> Any:
        text = "called a synchronizing CUDA operation"
        if _mode == 2:
            raise RuntimeError(text)
        warn_user(text)
        return to_host(*args)

    return read
