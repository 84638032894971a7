"""Special functions by SciPy's own loops, where SciPy is installed.

They are here where they take less time than the compositions, and their error is as small: at most
one unit in the last place in float32, where they compute in float64, and in float64 on the whole
range no larger than the composition's. SciPy's other functions lose more digits in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()

_BOTH, _SINGLE = ("float32", "float64"), ("float32",)


def _offer(row: str, name: str, dtypes: tuple[str, ...]) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return _found(name) if dtype.name in dtypes else None

    TABLE.add(row, (FLOAT,), maker)


def _found(name: str) -> Any:
    """SciPy's function, or None."""
    try:
        from scipy import special
    except ImportError:
        return None
    return getattr(special, name)


_offer("digamma", "psi", _BOTH)
_offer("ndtri", "ndtri", _BOTH)
_offer("igamma", "gammainc", _SINGLE)
_offer("igammac", "gammaincc", _SINGLE)


@TABLE.row("erfinv", FLOAT)
def _erfinv(xp: Any, dtype: dtype) -> Kernel | None:
    function = _found("erfinv") if dtype.name in _BOTH else None
    if function is None:
        return None

    def erfinv(x: Array, out: Array | None = None) -> Array:
        return np.copysign(function(x), x, out=out)  # SciPy's of -0 is 0

    return erfinv


@TABLE.row("lgamma", FLOAT)
def _lgamma(xp: Any, dtype: dtype) -> Kernel | None:
    function = _found("gammaln") if dtype.name in _SINGLE else None
    if function is None:
        return None

    def lgamma(x: Array, out: Array | None = None) -> Array:
        end = np.equal(x, -np.inf)  # where SciPy's is -inf
        made = np.asarray(function(x) if out is None else function(x, out=out))
        np.copyto(made, np.inf, where=end)
        return made

    return lgamma
