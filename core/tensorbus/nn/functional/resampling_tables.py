"""Which elements, with which weights, make each element of a resampled dimension.

A table is a pair of arrays (taps, n): indices, and weights, or None where all are 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

Floats = Any
Table = tuple[np.ndarray, np.ndarray | None]
Pair = tuple[Table, Table, tuple[bool, bool]]


@functools.lru_cache(maxsize=128)
def tables(
    mode: str, n: int, size: int, align_corners: bool, factor: float | None, antialias: bool,
    double: bool,
) -> Pair:  # fmt: skip
    """The table from *n* to *size* elements, that of its derivative, and which has gaps.

    *mode* is that of one dimension: nearest, nearest-exact, linear, cubic or lanczos; *factor* is
    the scale that the program gave, if any, and *double* whether nearest counts in float64.
    """
    if mode.startswith("nearest"):
        table: Table = _nearest(n, size, factor, mode == "nearest-exact", double)[None], None
    else:
        scale = _scale(n, size, align_corners, factor)
        if antialias:
            table = _filtered(mode, n, size, scale)
        elif mode == "linear":
            table = _linear(n, size, scale, align_corners)
        else:
            table = _cubic(n, size, scale, align_corners)
    back, empty = _transposed(*table, n)
    return table, back, (False, empty)


def _scale(n: int, size: int, align_corners: bool, factor: float | None) -> float:
    """How many old elements one step between new ones covers."""
    if align_corners:
        return (n - 1) / (size - 1) if size > 1 else 0.0
    return 1.0 / factor if factor is not None and factor > 0 else n / size


def _nearest(n: int, size: int, factor: float | None, exact: bool, double: bool) -> np.ndarray:
    at = np.arange(size)
    # PyTorch counts in the dtype of the values, and so decides where the next element begins.
    real: Any = np.float64 if double else np.float32
    scale = real(_scale(n, size, False, factor)) if factor else real(n) / real(size)
    found = np.floor((at.astype(real) + real(0.5 if exact else 0.0)) * scale)
    return np.minimum(found.astype(np.int64), n - 1)


def _sources(size: int, scale: float, align_corners: bool) -> Floats:
    """Where the new elements lie among the old ones."""
    at = np.arange(size, dtype=np.float64)
    return scale * at if align_corners else scale * (at + 0.5) - 0.5


def _linear(n: int, size: int, scale: float, align_corners: bool) -> Table:
    if n == size:
        return np.arange(n)[None], None
    at = np.maximum(_sources(size, scale, align_corners), 0.0)
    low = np.minimum(at.astype(np.int64), n - 1)
    share = np.clip(at - low, 0.0, 1.0)
    return np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1.0 - share, share])


def cubic_weights(t: Floats, a: float = -0.75) -> list[Floats]:
    """Keys' weights of the four neighbours of a place that is *t* behind the second of them."""

    def near(x: Floats) -> Floats:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Floats) -> Floats:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(n: int, size: int, scale: float, align_corners: bool) -> Table:
    at = _sources(size, scale, align_corners)
    low = np.floor(at)
    taps = low.astype(np.int64) + np.arange(-1, 3)[:, None]
    return np.clip(taps, 0, n - 1), np.stack(cubic_weights(at - low))


def _triangle(x: Floats) -> Floats:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _keys(x: Floats) -> Floats:
    """The cubic filter that Pillow has: with a steepness of -0.5."""
    x = np.abs(x)
    far, near, _, _ = cubic_weights(np.where(x < 1, x, x - 1), -0.5)
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _lanczos(x: Floats) -> Floats:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


_FILTERS: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "linear": (_triangle, 1.0),
    "cubic": (_keys, 2.0),
    "lanczos": (_lanczos, 3.0),
}


def _filtered(mode: str, n: int, size: int, scale: float) -> Table:
    """The old elements under a filter that is stretched where the dimension shrinks."""
    weigh, radius = _FILTERS[mode]
    wide = max(scale, 1.0)
    center = scale * (np.arange(size) + 0.5)
    first = np.maximum((center - radius * wide + 0.5).astype(np.int64), 0)
    end = np.minimum((center + radius * wide + 0.5).astype(np.int64), n)
    taps = first + np.arange(max(int((end - first).max()), 1))[:, None]
    weights = np.where(taps < end, weigh((taps - center + 0.5) / wide), 0.0)
    weights = weights / weights.sum(0)
    return _without_gaps(np.minimum(taps, n - 1), weights)


def _transposed(index: np.ndarray, weights: np.ndarray | None, n: int) -> tuple[Table, bool]:
    """The table of the derivative, and whether elements have no part in the result."""
    taps, size = index.shape
    to = np.broadcast_to(np.arange(size), (taps, size)).reshape(-1)
    at = index.reshape(-1)
    share = np.ones(at.shape) if weights is None else weights.reshape(-1)
    if weights is not None:
        used = share != 0
        at, to, share = at[used], to[used], share[used]
    order = np.argsort(at, kind="stable")
    at, to, share = at[order], to[order], share[order]
    counts = np.bincount(at, minlength=n)
    most = max(int(counts.max()), 1)
    rank = np.arange(len(at)) - (np.cumsum(counts) - counts)[at]
    back = np.zeros((most, n), np.int64)
    back_weights = np.zeros((most, n))
    back[rank, at] = to
    back_weights[rank, at] = share
    if weights is None and int(counts.min()) == most:
        return (back, None), False
    return _without_gaps(back, back_weights), not counts.all()


def _without_gaps(index: np.ndarray, weights: np.ndarray) -> Table:
    """The table where short columns have their first tap in parts: 0 times infinity is NaN.

    The parts are powers of two of it, so that their sum is exact.
    """
    taps = len(index)
    index, weights = index.copy(), weights.copy()
    lengths = np.where((weights != 0).any(0), taps - np.argmax(weights[::-1] != 0, axis=0), taps)
    for length in np.unique(lengths[lengths < taps]):
        columns = lengths == length
        first = weights[0, columns]
        for part in range(taps - length):
            first = first / 2
            index[length + part, columns] = index[0, columns]
            weights[length + part, columns] = first
        weights[0, columns] = first
    return index, weights
