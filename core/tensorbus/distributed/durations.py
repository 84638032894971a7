"""Time-outs as users give them."""

from __future__ import annotations

from datetime import timedelta

Duration = timedelta | float | None

DEFAULT = timedelta(minutes=30)
"""How long an operation may take where nothing else was said, as in PyTorch."""


def seconds(timeout: Duration, default: float) -> float:
    """A time-out in seconds; TypeError and ValueError where it is none."""
    if timeout is None:
        return default
    if isinstance(timeout, timedelta):
        value = timeout.total_seconds()
    elif isinstance(timeout, (int, float)) and not isinstance(timeout, bool):
        value = float(timeout)
    else:
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if not value > 0:
        raise ValueError(f"a timeout must be positive, but is {value:g} seconds")
    return value
