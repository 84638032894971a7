"""The dtypes that the comm moves: all of them, for bytes are bytes."""

from __future__ import annotations

from tensorbus import plugin

DTYPES = frozenset(
    getattr(plugin, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
)
