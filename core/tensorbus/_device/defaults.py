"""What a program gets when it names neither dtype nor device."""

from __future__ import annotations

import functools
from typing import Any

from tensorbus import discovery
from tensorbus._device.device import device as Device
from tensorbus._device.entered import local


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
    """The type that is meant where none is named: the default device's, if that computes beside
    the CPU.

    Else the first type of which a device can be used here that is an accelerator by its backend's
    word: cuda before the others, since programs count on that.
    """
    type = get_default_device().type
    if type != "cpu" and discovery.backend(type).traits.has_values:
        return type
    names = sorted(discovery.backend_names(), key=lambda name: (name != "cuda", name))
    return next((name for name in names if name != "cpu" and _accelerates(name)), None)


def _accelerates(type: str) -> bool:
    try:
        backend = discovery.backend(type)
        return backend.device_count() > 0 and backend.capabilities(0).accelerator
    except RuntimeError:
        return False
