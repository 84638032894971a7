"""Which device is meant where a program asks for a stream, an event or a figure of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus import discovery
from tensorbus._device.defaults import accelerator_type
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import current_index


def device_of(device: Any, type: str | None = None) -> Device:
    """The device that is meant: one of *type*, or of the accelerator's, or the CPU."""
    if device is None:
        return Device(type or accelerator_type() or "cpu")
    found = Device(type, device) if type and isinstance(device, int) else Device(device)
    if type is not None and found.type != type:
        raise ValueError(f"Expected a {type} device, but got: {found}")
    return found


def offered(device: Device, method: str) -> Callable[..., Any] | None:
    """A method of the device's backend that it need not have, or None."""
    return discovery.offered(discovery.backend(device.type), method)


def index_of(device: Device) -> int:
    """The index of a device, which may be named without one; RuntimeError for one not here."""
    index = current_index(device.type) if device.index is None else device.index
    count = discovery.backend(device.type).device_count()
    if index >= count:
        raise RuntimeError(
            f"invalid device {device}: this machine has {count} device(s) of type {device.type}"
        )
    return index
