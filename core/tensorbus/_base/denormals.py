"""Denormal numbers, which no device is asked to treat as zeros."""

from __future__ import annotations


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether numbers too small for the usual exponents are zeros from now on: always False.

    No backend has such a switch, so they stay as they are. RuntimeError where *mode* is no bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False
