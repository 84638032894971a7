"""bfloat16 by ``ml_dtypes``, whose conversions are loops in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array
from tensorbus.plugin.array_library.narrow import BFloat16


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
