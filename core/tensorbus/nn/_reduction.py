"""How losses reduce, as PyTorch's own losses ask: libraries with losses of theirs import this."""

from __future__ import annotations

from tensorbus.nn.functional.reduction import meant_by_flags, warn_of_flags

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction: 0 for ``"none"``, 1 for ``"mean"``, 2 for ``"sum"``."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction: none, mean and sum are")
    return _NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that the older arguments *size_average* and *reduce* mean."""
    meant = meant_by_flags(size_average, reduce)
    if emit_warning:
        warn_of_flags(meant)
    return meant


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that the older arguments mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
