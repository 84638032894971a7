"""Level 2: what becomes of a float that an integer dtype has no number for.

C leaves it open, so it is the same by whatever way a program converts: those that copy, those that
write, and those that convert as they add up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.copying import cast
from tensorbus_conformance.cases.kernel_casts import sharp
from tensorbus_conformance.trial import Trial

FAMILY = "casts"

Way = Callable[[Any, Dtype], Any]


def _zeros(x: Any, d: Dtype) -> Any:
    return tensorbus.zeros(x.shape, dtype=d, device=x.device)


def _assigned(x: Any, d: Dtype) -> Any:
    y = _zeros(x, d)
    y[:] = x
    return y


def _backwards(x: Any, d: Dtype) -> Any:
    """Into every second element of a longer tensor."""
    longer = tensorbus.zeros(2 * x.shape[0], dtype=d, device=x.device)
    return longer[::2].copy_(x)


def _alone(x: Any, d: Dtype) -> Any:
    return tensorbus.stack([x[i].to(d) for i in range(x.shape[0])])


_COPYING: dict[str, Way] = {
    "to": lambda x, d: x.to(d),
    "0-dim": _alone,
    "copy_": lambda x, d: _zeros(x, d).copy_(x),
    "copy_-strided": _backwards,
    "setitem": _assigned,
}
_ADDING: dict[str, Way] = {
    "sum": lambda x, d: x.reshape(-1, 1).sum(1, dtype=d),
    "prod": lambda x, d: x.reshape(-1, 1).prod(1, dtype=d),
    "cumsum": lambda x, d: x.reshape(-1, 1).cumsum(1, dtype=d).reshape(-1),
    "cumprod": lambda x, d: x.reshape(-1, 1).cumprod(1, dtype=d).reshape(-1),
}
"""Sums and products of one term."""


def cases() -> Iterator[Case]:
    part = functools.partial
    for src in (*formats.FLOATS, *formats.COMPLEX):
        for dst in (*formats.INTS, formats.BOOL):
            adding = _ADDING if src in formats.FLOATS and dst in formats.INTS else {}
            for name, way in {**_COPYING, **adding}.items():
                id = f"L2/casts/{src.name}-{dst.name}/{name}"
                yield Case(id, FAMILY, part(_converts, way, src, dst), (src, dst))


def beyond(src: Dtype, dst: Dtype) -> np.ndarray:
    """NaN, infinities, numbers beyond the limits of *dst* and beside them, and usual ones."""
    real = formats.round_to(sharp(src.to_real(), dst), src.to_real())
    if src not in formats.COMPLEX:
        return real
    found = np.empty(real.shape, formats.value_dtype(src))
    found.real, found.imag = real, real[::-1]
    return found


def _converts(way: Way, src: Dtype, dst: Dtype, t: Trial) -> None:
    bench = Bench(t)
    array = beyond(src, dst)
    given = bench.place(array, src)
    bench.same(way(given.tensor, dst), cast(given.host, src, dst), dst)
    bench.untouched([given])
