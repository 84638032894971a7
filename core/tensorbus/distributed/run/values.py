"""Numbers in the launcher's options."""

from __future__ import annotations

from tensorbus.cli import UsageError


def whole(option: str, text: str, least: int, most: int) -> int:
    """The whole number that an option was given; ``UsageError`` outside of the range."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise UsageError(f"{option} {text}: give a whole number from {least} to {most}")
    return value


def seconds(option: str, text: str) -> float:
    """The number of seconds that an option was given."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise UsageError(f"{option} {text}: give a positive number of seconds")
    return value
