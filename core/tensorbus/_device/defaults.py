"""What a program gets when it names neither dtype nor device."""

from __future__ import annotations

import threading
from typing import Any

from tensorbus._base import dtypes
from tensorbus._device.device import device as Device


class _Defaults(threading.local):
    device: Any = None
    stack: tuple[Any, ...] = ()


_local = _Defaults()
_dtype = dtypes.float32


def get_default_dtype() -> dtypes.dtype:
    """The floating point dtype of new tensors."""
    return _dtype


def set_default_dtype(d: dtypes.dtype) -> None:
    """Set the dtype of new floating point tensors; TypeError for any other dtype."""
    global _dtype
    if not isinstance(d, dtypes.dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _dtype = d


def get_default_device() -> Device:
    """The device of new tensors (of this thread, as ``with device(...)`` is)."""
    return _local.device or Device("cpu")


def set_default_device(device: Any) -> None:
    """Set the device of new tensors; None restores the CPU."""
    _local.device = None if device is None else Device(device)


def push_device(device: Device) -> None:
    """Enter ``with device``."""
    _local.stack = (*_local.stack, _local.device)
    _local.device = device


def pop_device() -> None:
    """Leave ``with device``."""
    *rest, _local.device = _local.stack
    _local.stack = tuple(rest)
