"""bfloat16 and float8 by ``ml_dtypes``, whose conversions are loops in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array
from tensorbus.plugin.array_library.narrow import BFloat16, ComplexHalf, Narrow, single


class HostBFloat16(BFloat16):
    """bfloat16 in host memory; ``ml_dtypes`` is imported when the first of these is made."""

    def __init__(self, xp: Any = np):
        import ml_dtypes

        super().__init__(xp)
        self._extension = np.dtype(ml_dtypes.bfloat16)

    def widened(self, x: Array) -> Array:
        return x.view(self._extension).astype(np.float32)

    def upper_half(self, x: Array) -> Array:
        return x.astype(self._extension).view(self.memory)


class _Float8(Narrow):
    """A dtype of 8 bits; numbers beyond *largest*, where there is one, become that."""

    memory = np.dtype(np.uint8)
    name: str
    largest: float | None = None

    def __init__(self, xp: Any = np):
        import ml_dtypes

        super().__init__(xp)
        self._extension = np.dtype(getattr(ml_dtypes, self.name))

    def widened(self, x: Array) -> Array:
        return x.view(self._extension).astype(np.float32)

    def narrowed(self, x: Array) -> Array:
        x = single(np, np.asarray(x))
        if self.largest is not None:
            x = np.clip(x, -self.largest, self.largest)
        return x.astype(self._extension).view(self.memory)


class Float8E4M3(_Float8):
    """float8_e4m3fn, which has no infinity."""

    name = "float8_e4m3fn"
    largest = 448.0


class Float8E5M2(_Float8):
    """float8_e5m2."""

    name = "float8_e5m2"


class Float8E4M3UZ(_Float8):
    """float8_e4m3fnuz, with one zero and no infinity."""

    name = "float8_e4m3fnuz"


class Float8E5M2UZ(_Float8):
    """float8_e5m2fnuz, with one zero and no infinity."""

    name = "float8_e5m2fnuz"


WAYS: dict[str, type[Narrow]] = {
    "bfloat16": HostBFloat16,
    "complex32": ComplexHalf,
    **{way.name: way for way in (Float8E4M3, Float8E5M2, Float8E4M3UZ, Float8E5M2UZ)},
}
