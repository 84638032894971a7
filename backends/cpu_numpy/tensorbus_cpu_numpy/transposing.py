"""Copies of large arrays into another order of dimensions, in tiles that stay in the cache.

NumPy writes line by line and reads with long strides: of each line of memory that is fetched it
uses one element before the line is lost. A tile is read in its own order first, then turned.
"""

from __future__ import annotations

import functools

import numpy as np

from tensorbus.plugin import Array

MANY = 1 << 16
"""For fewer elements NumPy's way is as quick."""
_SIDE = 128
_LINES, _LENGTH = 64, 512
"""The sides of a tile: lines as long in what is read, and as short in what is written."""
_GAP = 16
"""Elements between the rows of the tile: rows a power of two apart share few places of a cache."""


def write(dst: Array, src: Array) -> None:
    """``dst[...] = src`` for arrays of one dtype."""
    to, of = _unit(dst), _unit(src)
    turned = to is not None and of is not None and to != of and dst.shape == src.shape
    if not turned or min(dst.shape[to], dst.shape[of]) < _SIDE or np.may_share_memory(dst, src):
        dst[...] = src
        return
    order = [*(d for d in range(dst.ndim) if d not in (to, of)), of, to]
    dst, src = dst.transpose(order), src.transpose(order)
    tile = _tile(_LINES, min(_LENGTH, dst.shape[-2]), dst.dtype)
    for others in np.ndindex(dst.shape[:-2]):
        _turn(dst[others], src[others], tile)


def _unit(x: Array) -> int | None:
    """The dimension along which neighbours lie side by side in memory."""
    for d in range(x.ndim - 1, -1, -1):
        if x.strides[d] == x.itemsize and x.shape[d] > 1:
            return d
    return None


def _tile(rows: int, columns: int, dtype: np.dtype) -> Array:
    return np.empty((rows, columns + _GAP), dtype)[:, :columns]


def _turn(dst: Array, src: Array, tile: Array) -> None:
    m, n = dst.shape
    for j in range(0, n, _LINES):
        for i in range(0, m, _LENGTH):
            part = src[i : i + _LENGTH, j : j + _LINES].T
            copy = tile[: part.shape[0], : part.shape[1]]
            copy[...] = part
            dst[i : i + _LENGTH, j : j + _LINES] = copy.T


def column_major(a: Array) -> Array:
    """A copy of a matrix that lies column by column, as LAPACK takes it."""
    made = np.empty(a.shape[::-1], a.dtype)
    write(made, a.T)
    return made.T


@functools.cache
def _above() -> Array:
    """Where a tile is above the diagonal."""
    above = ~np.tri(_LINES, dtype=np.bool_)
    above.setflags(write=False)
    return above


def lower_column_major(a: Array) -> Array:
    """A copy of a square matrix's lower triangle, column by column, with zeros above."""
    n = len(a)
    made = np.zeros(a.shape, a.dtype)
    tile, above = _tile(_LINES, n, a.dtype), _above()
    for start in range(0, n, _LINES):
        stop = min(start + _LINES, n)
        lines = tile[: stop - start, :stop]
        lines[...] = a[start:stop, :stop]
        np.copyto(lines[:, start:], 0, where=above[: stop - start, : stop - start])
        made[:stop, start:stop] = lines.T
    return made.T
