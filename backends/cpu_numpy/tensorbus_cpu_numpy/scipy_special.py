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
    """``right(x, found, scratch)`` puts right what was found of these; three rows to write to."""
    lost: Callable[[Array], Array] | None = None
    """Where *right* isn't enough; None: nowhere."""
    anew: Callable[[Any, Array], Array] | None = None
    """``anew(special, x)`` computes these; all that is wrong where there is no *right*."""
    inner: Callable[[Array, Array], None] | None = None
    """``inner(x, out)`` computes what is nearer to 0 than *bound*, where nothing is wrong."""
    bound: float = 1.0

    def kernel(self, special: Any) -> Kernel:
        function = getattr(special, self.function)
        steps = self._whole if self.inner is None else self._by_parts

        def mended(x: Array, out: Array | None = None) -> Array:
            flat = np.ascontiguousarray(x).reshape(-1)
            made = np.empty_like(flat)
            scratch = np.empty((3, min(flat.size, _PIECE)), flat.dtype)
            for start in range(0, flat.size, _PIECE):
                piece = slice(start, start + _PIECE)
                steps(function, special, flat[piece], made[piece], scratch)
            return into(out, made.reshape(x.shape))

        return quiet(mended)

    def _whole(self, function: Any, special: Any, x: Array, found: Array, scratch: Array) -> None:
        function(x, out=found)
        assert self.wrong is not None
        places = self.wrong(x).nonzero()[0]
        if places.size:
            values = found.take(places)
            self._mend(special, x.take(places), values, scratch)
            found[places] = values

    def _by_parts(
        self, function: Any, special: Any, x: Array, found: Array, scratch: Array
    ) -> None:
        """SciPy's loop branches, and takes longest where parts alternate: it gets one at a time."""
        assert self.inner is not None
        outer = np.abs(x, out=scratch[0, : x.size]) >= self.bound
        wrong = np.zeros_like(outer) if self.wrong is None else self.wrong(x)
        if 2 * np.count_nonzero(outer) <= x.size:
            self.inner(x, found)
        else:
            inside = (~outer).nonzero()[0]
            values = np.empty(inside.size)
            self.inner(x.take(inside), values)
            found[inside] = values
        for part in (outer ^ wrong, wrong):
            places = part.nonzero()[0]
            if places.size:
                few, values = x.take(places), np.empty(places.size)
                function(few, out=values)
                if part is wrong:
                    self._mend(special, few, values, scratch)
                found[places] = values

    def _mend(self, special: Any, x: Array, found: Array, scratch: Array) -> None:
        """Put right what SciPy found of *x*, all of which is wrong."""
        if self.right is None:
            assert self.anew is not None
            found[...] = self.anew(special, x)
            return
        self.right(x, found, scratch[:, : x.size])
        if self.lost is not None and self.anew is not None:
            places = self.lost(x).nonzero()[0]
            if places.size:
                found[places] = self.anew(special, x.take(places))
