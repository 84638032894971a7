"""How exact products of float32 matrices must be, as ``set_float32_matmul_precision`` says it."""

from __future__ import annotations

import warnings

_LEVELS = ("highest", "high", "medium")

_level = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact products of float32 matrices must be: "highest", "high" or "medium".

    The setting is kept and nothing else: products are computed in float32 on every device, which
    each of the levels allows. Another str warns and changes nothing; RuntimeError for no str.
    """
    global _level
    if not isinstance(precision, str):
        found = type(precision).__name__
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {found}")
    if precision not in _LEVELS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the call of "
            "set_float32_matmul_precision has no effect.",
            stacklevel=2,
        )
        return
    _level = precision


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was last told; "highest" before."""
    return _level
