"""How ``load`` reads, as settings of the process."""

from __future__ import annotations

import mmap
import os
import sys
import warnings
from enum import Enum
from types import TracebackType
from typing import Any

MAP_SHARED: int | None = getattr(mmap, "MAP_SHARED", None)
MAP_PRIVATE: int | None = getattr(mmap, "MAP_PRIVATE", None)
_TRUE = ("1", "y", "yes", "true")


class LoadEndianness(Enum):
    """The order of bytes of files that do not tell it.

    >>> import tensorbus
    >>> tensorbus.serialization.LoadEndianness(2).name
    'LITTLE'
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_settings: dict[str, Any] = {"endianness": None, "mmap": MAP_PRIVATE}


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in which ``load`` reads zip files that do not tell theirs.

    >>> import tensorbus
    >>> tensorbus.serialization.get_default_load_endianness() is None
    True
    """
    return _settings["endianness"]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Read zip files that do not tell their order of bytes in this one; None is little-endian.

    TypeError for anything but a LoadEndianness or None.

    >>> import tensorbus
    >>> tensorbus.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _settings["endianness"] = endianness


def read_order() -> str:
    """The order of bytes of a file that does not tell it."""
    match get_default_load_endianness():
        case LoadEndianness.NATIVE:
            return sys.byteorder
        case LoadEndianness.BIG:
            return "big"
    return "little"


def get_default_mmap_options() -> int | None:
    """The flags of ``load(mmap=True)``: ``mmap.MAP_PRIVATE`` unless they were set.

    >>> import mmap, tensorbus
    >>> tensorbus.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return _settings["mmap"]


class set_default_mmap_options:
    """Set the flags of ``load(mmap=True)``, in a ``with`` block or for good.

    ``mmap.MAP_PRIVATE`` keeps what is written to the tensors from the file, ``mmap.MAP_SHARED``
    writes it there. ValueError for other flags.

    >>> import mmap, tensorbus
    >>> with tensorbus.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     tensorbus.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if MAP_PRIVATE is None:
            raise RuntimeError("Changing the default mmap options is only supported on POSIX")
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, _settings["mmap"] = _settings["mmap"], flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _settings["mmap"] = self.prev


def weights_only_here(given: bool | None) -> bool | None:
    """What was asked for, or what PyTorch's two environment variables insist on."""
    force = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0") in _TRUE
    unsafe = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") in _TRUE
    if force and unsafe:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if unsafe and given is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the "
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            stacklevel=3,
        )
        return False
    return given
