"""The module of a device type: ``torch.cuda`` for ``cuda``."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tensorbus._device.defaults import accelerator_type
from tensorbus._device.device import device as Device


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device's type, None: the accelerator's, or the CPU's where there is none.

    RuntimeError for what is no device, and for a type without a module.
    """
    if device is None:
        type = accelerator_type() or "cpu"
    elif isinstance(device, (str, Device)):
        type = Device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = getattr(importlib.import_module("tensorbus"), type, None)
    if not isinstance(module, ModuleType):
        raise RuntimeError(
            f"Device '{type}' does not have a corresponding module registered as 'torch.{type}'."
        )
    return module
