"""What a program gets when it names neither dtype nor device."""

from __future__ import annotations

import functools
import threading
from typing import Any

from tensorbus import discovery
from tensorbus._device.device import device as Device


class _Defaults(threading.local):
    device: Any = None
    stack: tuple[Any, ...] = ()


local = _Defaults()


def get_default_device() -> Device:
    """The device of new tensors (of this thread, as ``with device(...)`` is)."""
    return local.device or _cpu()


@functools.cache
def _cpu() -> Device:
    return Device("cpu")


def set_default_device(device: Any) -> None:
    """Set the device of new tensors; None restores the CPU."""
    local.device = None if device is None else Device(device)


def accelerator_type() -> str | None:
    """The type that is meant where none is named: the default device's, unless that is the CPU.

    Else cuda, where it can be used, since programs count on that.
    """
    type = get_default_device().type
    if type != "cpu":
        return type
    try:
        return "cuda" if discovery.backend("cuda").device_count() else None
    except RuntimeError:
        return None
