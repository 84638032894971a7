"""Which device a storage was on, as files say it, and how storages get back there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus.serialization.errors import CheckpointError, escaped, reason
from tensorbus.storage import TypedStorage, UntypedStorage

Tagger = Callable[[Any], str | None]
Restorer = Callable[[Any, str], Any]

_packages: list[tuple[int, Tagger, Restorer]] = []


class SourceChangeWarning(Warning):
    """PyTorch's warning of a module whose source has changed; for filters, as nothing gives it.

    >>> import warnings, tensorbus
    >>> quiet = tensorbus.serialization.SourceChangeWarning
    >>> warnings.filterwarnings("ignore", category=quiet)
    """


def register_package(priority: int, tagger: Tagger, deserializer: Restorer) -> None:
    """Let a program name the locations of storages in files, and bring storages back there.

    *tagger* gives a storage's location, *deserializer* the storage at a location; each may return
    None, for others to be asked. Those of a smaller *priority* are asked first.

    >>> from tensorbus.serialization import location_tag, register_package
    >>> register_package(90, lambda storage: None, lambda storage, location: None)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The device of a storage as files say it: with an index, but for the one CPU.

    >>> import tensorbus
    >>> tensorbus.serialization.location_tag(tensorbus.UntypedStorage(2))
    'cpu'
    """
    for _, tagger, _ in _packages:
        if location := tagger(storage):
            return location
    return "cpu" if storage.device.type == "cpu" else str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage at a location of a file: what ``load`` does where no *map_location* is given.

    CheckpointError for a device that can't be used here.

    >>> import tensorbus
    >>> restore = tensorbus.serialization.default_restore_location
    >>> state = tensorbus.UntypedStorage([1, 2])
    >>> restore(state, "cpu").tolist()
    [1, 2]
    """
    for _, _, restorer in _packages:
        if (found := restorer(storage, location)) is not None:
            return found
    device = known_device(location)
    if storage.device == device:
        return storage
    if isinstance(storage, TypedStorage):
        return TypedStorage.over(
            UntypedStorage.from_host(storage.untyped().to_host(), device), storage.dtype
        )
    return UntypedStorage.from_host(storage.to_host(), device)


def known_device(location: str) -> Any:
    """The device of a location; CheckpointError, in PyTorch's words, where it can't be used."""
    try:
        device = tensorbus.device(location)
        UntypedStorage(0, device=device)
    except (RuntimeError, ValueError, OverflowError) as error:
        raise CheckpointError(_unusable(location, error)) from error
    return device


def _unusable(location: str, error: Exception) -> str:
    """Why a location of a file can't be used: its type is unknown, has no device, or too few."""
    kind = location.partition(":")[0]
    room = getattr(tensorbus, kind, None) if kind.isidentifier() else None
    counted = getattr(room, "device_count", None)
    if not callable(counted):
        return (
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{escaped(location)}): {reason(error)}. Load it with map_location='cpu', or another "
            "device."
        )
    count, upper = counted(), kind.upper()
    if count:
        index = escaped(location.partition(":")[2])
        return (
            f"Attempting to deserialize object on {upper} device {index} but "
            f"torch.{kind}.device_count() is {count}. Please use torch.load with map_location to "
            f"map your storages to an existing device ({reason(error)})."
        )
    return (
        f"Attempting to deserialize object on a {upper} device but torch.{kind}.is_available() is "
        "False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU "
        f"({reason(error)})."
    )


def has_packages() -> bool:
    """Whether programs have registered locations of their own."""
    return bool(_packages)
