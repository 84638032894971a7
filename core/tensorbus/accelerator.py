"""Asking about devices of any type: are there some, how many, which is current, wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorbus import discovery
from tensorbus._base.absent import attributes as _attributes
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import current_index, set_current_index
from tensorbus.plugin.backend import Backend


def is_available(type: str) -> bool:
    """Whether a device of this type can be used here; never raises.

    >>> import tensorbus
    >>> tensorbus.accelerator.is_available("cpu")
    True
    """
    return device_count(type) > 0


def device_count(type: str) -> int:
    """How many devices of this type can be used here; 0 where plugin or library is missing."""
    try:
        return discovery.backend(type).device_count()
    except RuntimeError:
        return 0


def current_device(type: str) -> int:
    """The index that a device of this type without one means."""
    return current_index(type)


def set_device(device: Any) -> None:
    """Make a device the current one of its type; RuntimeError where there is no such device."""
    d = Device(device)
    count = discovery.backend(d.type).device_count()
    index = d.index or 0
    if index >= count:
        raise RuntimeError(
            f"invalid device {d}: this machine has {count} device(s) of type {d.type}"
        )
    set_current_index(d.type, index)


def synchronize(device: Any) -> None:
    """Wait for a device's work; raises what went wrong there."""
    backend, index = _found(device)
    backend.synchronize(index)


def empty_cache(type: str) -> None:
    """Give cached memory back to the devices of a type."""
    discovery.backend(type).empty_cache()


def memory_allocated(device: Any) -> int:
    """Bytes in use on a device by this process; 0 where the backend does not say."""
    backend, index = _found(device)
    return backend.memory_allocated(index) or 0


def get_device_name(device: Any) -> str:
    """What the device is called."""
    backend, index = _found(device)
    return backend.capabilities(index).name


def _found(device: Any) -> tuple[Backend, int]:
    d = Device(device)
    index = current_index(d.type) if d.index is None else d.index
    return discovery.backend(d.type), index


if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
