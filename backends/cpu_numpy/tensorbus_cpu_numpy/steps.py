"""Steps of optimizers over all parameters at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import blas

TABLE = Table()

_MANY = 1 << 15
"""From so many elements on one pass of BLAS is quicker than two of NumPy, though a call takes
three microseconds."""


@TABLE.row("sgd_step", FLOAT)
def _sgd_step(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name not in ("float32", "float64"):
        return None
    own = np.dtype(dtype.name)
    add_multiple = blas.add_multiple(own)

    @may_decline
    def sgd_step(
        p: Sequence[Array], g: Sequence[Array], v: Sequence[Array], lr: float, momentum: float,
        kept: float, decay: float, first: bool, dampened: bool, nesterov: bool, decays: bool,
        maximize: bool,
    ) -> Any:  # fmt: skip
        """Without momentum or decay alone, where nothing is kept between steps."""
        if v or decays:
            return NotImplemented
        factor = lr if maximize else -lr
        rate = np.array(factor, own)
        add = add_multiple if rate else None  # BLAS would skip a multiple of 0, which may be NaN
        for x, d in zip(p, g, strict=True):
            if add is not None and x.size >= _MANY and _dense(x, d):
                add(x, d, factor)
            else:
                np.add(x, np.multiply(d, rate), x)
        return None

    return sgd_step


def _dense(x: Array, y: Array) -> bool:
    """Whether two arrays are row-major, so that their memory has the same elements in order."""
    return x.flags.c_contiguous and y.flags.c_contiguous
