"""Where memory runs out: one error, in the same words on every device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base.errors import OutOfMemoryError
from tensorbus._device.device import device as Device

_ADDRESSABLE = (1 << 63) - 1


def check_memory(error: BaseException, device: Device, asked: int = 0) -> None:
    """OutOfMemoryError for an exception that says that memory ran out; nothing for any other.

    Whatever a library says of it, no device has more memory than can be addressed: *asked* is how
    many bytes were wanted, where the caller knows.
    """
    said = ""
    if isinstance(error, (MemoryError, OutOfMemoryError)):
        if error.args and isinstance(error, OutOfMemoryError) and type(error.args[0]) is str:
            return  # worded already
        nbytes = _said(error)
        said = "" if nbytes else str(error)
        asked = nbytes or asked
    elif asked <= _ADDRESSABLE:
        return
    raise OutOfMemoryError(_text(device, asked, said)) from None


def check_sizes(error: BaseException, device: Device, shape: Sequence[int], itemsize: int) -> None:
    """``check_memory`` for an array of a shape; TypeError for sizes that are no 64-bit integers."""
    if shape and max(shape) > _ADDRESSABLE:
        raise TypeError(
            f"sizes must be integers of 64 bits, but the shape has {max(shape)}"
        ) from None
    # Libraries multiply the sizes before they see that one of them is 0.
    check_memory(error, device, math.prod(n or 1 for n in shape) * itemsize)


def _said(error: Any) -> int:
    """How many bytes an exception says were asked for: 0 where it does not."""
    if isinstance(error, OutOfMemoryError):
        return int(error.args[0]) if error.args else 0
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)  # NumPy's says so
    return 0 if shape is None or dtype is None else math.prod(shape) * int(dtype.itemsize)


def _text(device: Device, asked: int, said: str) -> str:
    remedy = "Free tensors that are no longer needed, or compute in smaller parts"
    if asked > _ADDRESSABLE:
        remedy = "Storage size calculation overflowed: no device can address so much"
    wanted = _in_words(asked) if asked else "memory"
    reason = f": {said}" if said else ""
    return (
        f"{device.type.upper()} out of memory. Tried to allocate {wanted} on device "
        f"{device}{reason}. {remedy}"
    )


def _in_words(nbytes: int) -> str:
    value, unit = float(nbytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{nbytes} bytes" if unit == "bytes" else f"{value:.2f} {unit} ({nbytes} bytes)"
