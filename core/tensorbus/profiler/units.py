"""Times and sizes as tables show them."""

from __future__ import annotations

_TIMES = {"s": 1e6, "ms": 1e3, "us": 1.0}


def time_text(microseconds: float, unit: str | None = None) -> str:
    """A time in the largest unit of which it has one, or in *unit*: ``1.500ms``."""
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds / _TIMES[unit]:.3f}{unit}"


def check_unit(unit: str | None) -> None:
    """ValueError for a unit of time that tables don't have."""
    if unit is not None and unit not in _TIMES:
        raise ValueError(f"time_unit must be 's', 'ms', 'us' or None, got {unit!r}")


def memory_text(bytes: int) -> str:
    """A number of bytes in the largest unit of which it has one: ``1.50 KB``."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(bytes) >= 1024**power:
            return f"{bytes / 1024**power:.2f} {unit}"
    return f"{bytes} B"


def share_text(part: float, whole: float) -> str:
    """A percentage: ``12.50%``."""
    if whole == 0:
        if part != 0:
            raise AssertionError(f"Expected no time of a total of 0, got {part}")
        return "NaN"
    return f"{part * 100 / whole:.2f}%"
