"""SciPy's special functions in float64, with what they lose put right where it is known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel
from tensorbus.plugin.array_library import into, quiet

_PIECE = 32768
"""Elements whose steps are taken together, in the processor's caches."""


@functools.cache
def module() -> Any:
    """SciPy's module, or None."""
    try:
        from scipy import special
    except ImportError:
        return None
    return special


@dataclass(frozen=True)
class Mended:
    """SciPy's *function* in float64, some of whose results are put right."""

    function: str
    wrong: Callable[[Array], Array] | None = None
    """Where SciPy's results are to be put right."""
    right: Callable[[Array, Array, Array], None] | None = None
    """``right(x, found, scratch)`` puts right what was found of these; four rows to write to."""
    lost: Callable[[Array], Array] | None = None
    """Where *right* isn't enough."""
    anew: Callable[[Any, Array], Array] | None = None
    """``anew(special, x)`` computes these; all that is wrong where there is no *right*."""
    inner: Callable[[Array, Array], None] | None = None
    """``inner(x, out)`` computes what is nearer to 0 than *bound*: SciPy isn't asked for it."""
    bound: float = 1.0

    def kernel(self, special: Any) -> Kernel:
        def mended(x: Array, out: Array | None = None) -> Array:
            flat = np.ascontiguousarray(x).reshape(-1)
            made = np.empty_like(flat)
            scratch = np.empty((4, min(flat.size, _PIECE)), flat.dtype)
            for start in range(0, flat.size, _PIECE):
                stop = start + _PIECE
                if self.inner is None:
                    self._by_scipy(special, flat[start:stop], made[start:stop], scratch)
                else:
                    self._by_parts(special, flat[start:stop], made[start:stop], scratch)
            return into(out, made.reshape(x.shape))

        return quiet(mended)

    def _by_parts(self, special: Any, x: Array, found: Array, scratch: Array) -> None:
        """Arithmetic of whole arrays takes less time than SciPy's loop, which branches."""
        assert self.inner is not None
        inside = np.abs(x, out=scratch[0, : x.size]) < self.bound
        outer = (~inside).nonzero()[0]
        if 2 * outer.size <= x.size:
            self.inner(x, found)
        elif outer.size < x.size:
            places = inside.nonzero()[0]
            values = np.empty(places.size)
            self.inner(x[places], values)
            found[places] = values
        else:
            self._by_scipy(special, x, found, scratch)
            return
        if outer.size:
            values = np.empty(outer.size)
            self._by_scipy(special, x[outer], values, scratch)
            found[outer] = values

    def _by_scipy(self, special: Any, x: Array, found: Array, scratch: Array) -> None:
        getattr(special, self.function)(x, out=found)
        if self.wrong is None:
            return
        places = self.wrong(x).nonzero()[0]
        if self.right is not None and places.size:
            few, values = x[places], found[places]
            self.right(few, values, scratch[:, : few.size])
            found[places] = values
            if self.lost is None:
                return
            places = places[self.lost(few).nonzero()[0]]
        if self.anew is not None and places.size:
            found[places] = self.anew(special, x[places])
