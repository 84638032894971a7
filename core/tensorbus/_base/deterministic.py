"""Whether ops must give the same bits on every run, as ``use_deterministic_algorithms`` asks."""

from __future__ import annotations

import math

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error


class _Deterministic:
    """What the program asked for: one setting for all threads and devices."""

    __slots__ = ("fill", "on", "warn_only")

    def __init__(self) -> None:
        self.on = False
        self.warn_only = False
        self.fill = True
        """Whether memory of any values is filled with known ones while ``on``."""


DETERMINISTIC = _Deterministic()


def filling(dtype: dtypes.dtype) -> bool | int | float | None:
    """What memory of any values is filled with: None where it stays as it is."""
    if not (DETERMINISTIC.on and DETERMINISTIC.fill):
        return None
    if dtype.category >= dtypes.FLOAT:
        return math.nan
    return dtype.category == dtypes.BOOL or (1 << (dtype.bits - dtype.is_signed)) - 1


_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """With True, equal operands give equal bits on every run, on every device.

    Writes with repeated indices (``index_add_``, ``scatter_``, ``index_put_`` and the gradients of
    indexing) then take a slower way on devices whose own is not deterministic. No op is refused,
    so *warn_only* changes nothing but what
    ``is_deterministic_algorithms_warn_only_enabled`` says. Memory that would hold any values, as
    of ``empty``, is filled as ``torch.utils.deterministic.fill_uninitialized_memory`` says.
    TypeError where an argument is no bool.
    """
    for position, name, value in ((1, "mode", mode), (2, "warn_only", warn_only)):
        if not isinstance(value, bool):
            raise type_error("use_deterministic_algorithms", name, position, "bool", value)
    DETERMINISTIC.on, DETERMINISTIC.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether ``use_deterministic_algorithms(True)`` is in force."""
    return DETERMINISTIC.on


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The *warn_only* of the last ``use_deterministic_algorithms``."""
    return DETERMINISTIC.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default": off; 1 or "warn": on, with *warn_only*; 2 or "error": on.

    TypeError where *debug_mode* is neither an int nor a str, RuntimeError where it is another one.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    elif debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as ``set_deterministic_debug_mode`` takes them."""
    if not DETERMINISTIC.on:
        return 0
    return 1 if DETERMINISTIC.warn_only else 2
