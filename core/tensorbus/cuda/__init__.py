"""``tensorbus.cuda``: the questions that PyTorch programs ask about devices of type ``cuda``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorbus import accelerator
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.errors import OutOfMemoryError as OutOfMemoryError
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.ops.creation.typed_constructors import DeviceNamespace as _DeviceNamespace

_TYPE = "cuda"


def _device(device: Any) -> Any:
    if device is None:
        return _TYPE
    return f"{_TYPE}:{device}" if isinstance(device, int) else device


def is_available() -> bool:
    """Whether a CUDA device can be used here; never raises."""
    return accelerator.is_available(_TYPE)


def device_count() -> int:
    """How many CUDA devices can be used here."""
    return accelerator.device_count(_TYPE)


def current_device() -> int:
    """The index of the current CUDA device."""
    return accelerator.current_device(_TYPE)


def set_device(device: Any) -> None:
    """Make a CUDA device the current one."""
    accelerator.set_device(_device(device))


def synchronize(device: Any = None) -> None:
    """Wait for a CUDA device's work."""
    accelerator.synchronize(_device(device))


def empty_cache() -> None:
    """Give cached memory back to the devices; nothing happens where there is none."""
    if is_available():
        accelerator.empty_cache(_TYPE)


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a CUDA device by this process."""
    return accelerator.memory_allocated(_device(device))


def get_device_name(device: Any = None) -> str:
    """What a CUDA device is called."""
    return accelerator.get_device_name(_device(device))


def manual_seed(seed: int) -> None:
    """Seed the stream, which all devices share."""
    from tensorbus.random import manual_seed as seed_all

    seed_all(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the stream, which all devices share."""
    manual_seed(seed)


_show_pages(__name__, [*globals().items()])

if not TYPE_CHECKING:
    _types = _DeviceNamespace(_TYPE)
    __getattr__ = _attributes(__name__, None, lambda name: getattr(_types, name, None))
