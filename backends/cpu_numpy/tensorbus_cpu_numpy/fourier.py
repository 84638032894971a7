"""Fourier transforms by SciPy where that is installed, which computes in the operand's dtype.

NumPy's of single precision are in part computed in double.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from tensorbus.plugin import Kernel, dtype
from tensorbus.plugin.array_library import Table, fourier

TABLE = Table()


@functools.cache
def _module() -> Any:
    """A module with the transforms that the base class's kernels call."""
    try:
        from scipy import fft
    except ImportError:
        return np
    return SimpleNamespace(fft=fft, ascontiguousarray=np.ascontiguousarray, conjugate=np.conjugate)


def _offer(name: str) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return fourier.TABLE[name](_module(), dtype)

    TABLE[name] = maker


for _name in fourier.TABLE:
    _offer(_name)
