"""Long draws a piece at a time, so that no temporary grows with the tensor.

The stream is a counter, so any part of a draw can be had alone: a piece has the values that the
whole draw has there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tensorbus._base import dtypes
from tensorbus._dispatch.kinds import Kind

Pieces = Iterable[tuple[int, Any]]
"""Parts of a draw: where each starts, and a vector of its values."""


def piece_size(F: Any) -> int:
    """How many values a piece has: more where each kernel is queued, and costs a launch.

    Without values there is nothing that temporaries could hold.
    """
    if not F.has_values:
        return sys.maxsize
    return 2**16 if F.backend.traits.host_sync else 2**22


def _in_a_block(F: Any) -> int:
    """How many uniforms one block of the counter gives."""
    return 4 if F.dtype is dtypes.float64 else 8


def uniforms(F: Any, key: Any, offset: int, n: int) -> Pieces:
    """*n* uniforms of a floating point dtype."""
    size = piece_size(F)
    for start in range(0, n, size):
        yield start, F.uniform(key, offset + start // _in_a_block(F), min(size, n - start))


def _range(F: Any, key: Any, offset: int, start: int, stop: int) -> Any:
    """The uniforms from *start* to *stop* of a draw."""
    first = start // _in_a_block(F)
    before = start - first * _in_a_block(F)
    drawn = F.uniform(key, offset + first, before + stop - start)
    return F.slice(drawn, 0, before, before + stop - start, 1) if before else drawn


def normals(F: Any, key: Any, offset: int, n: int) -> Pieces:
    """*n* standard normals by Box and Muller: radius from one uniform, angle from another."""
    wide = F if F.dtype in (dtypes.float32, dtypes.float64) else F.of(dtypes.float32)
    half = -(-n // 2)
    size = piece_size(F)
    for start in range(0, half, size):
        stop = min(half, start + size)
        if half <= size:  # all in one draw
            drawn = wide.uniform(key, offset, 2 * half)
            first, second = (wide.slice(drawn, 0, at, at + half, 1) for at in (0, half))
        else:
            first = _range(wide, key, offset, start, stop)
            second = _range(wide, key, offset, half + start, half + stop)
        # 1 - u is exact: uniforms are whole multiples of the spacing of numbers below 1.
        radius = wide.sqrt(wide.mul(wide.log(wide.sub(wide.number(1.0), first)), -2.0))
        angle = wide.mul(second, 2.0 * math.pi)
        for at, wave in ((start, wide.cos(angle)), (half + start, wide.sin(angle))):
            z = wide.mul(radius, wave)
            if at + stop - start > n:  # the last of an odd number has no partner
                z = wide.slice(z, 0, 0, n - at, 1)
            yield at, z if wide is F else F.cast(z, wide)


def integers(F: Any, key: Any, offset: int, n: int, low: int, span: int) -> Pieces:
    """*n* integers from *low* to ``low + span - 1``."""
    size = piece_size(F)
    for start in range(0, n, size):
        yield start, F.integers(key, offset + start // 4, min(size, n - start), low, span)


def joined(F: Any, n: int, pieces: Pieces) -> Any:
    """One vector of all pieces."""
    out = F.empty((n,))
    for start, values in pieces:
        F.copy_(F.slice(out, 0, start, start + values.shape[0], 1), values)
    return out


def write(k: Kind, array: Any, start: int, values: Any) -> None:
    """Write a vector into an array of any layout, row-major from its element *start* on."""
    n, shape = values.shape[0], tuple(array.shape)
    if k.is_contiguous(array):
        flat = k.view(array, (math.prod(shape),))
        k.copy_(k.slice(flat, 0, start, start + n, 1), values)
        return
    for at, stop, part in _rows(k, array, start, n):
        piece = k.slice(values, 0, at, stop, 1)
        if part is None:
            row, inside = divmod(start + at, math.prod(shape[1:]))
            write(k, k.select(array, 0, row), inside, piece)
        else:
            k.copy_(part, k.view(piece, tuple(part.shape)))


def _rows(k: Kind, array: Any, start: int, n: int) -> Iterator[tuple[int, int, Any]]:
    """Where *n* elements lie: in a part of a row (None), in whole rows, in a part of a row."""
    inner = math.prod(array.shape[1:])
    row, skip = divmod(start, inner)
    at = 0
    if skip or n < inner:
        at = min(n, inner - skip)
        yield 0, at, None
        row += 1
    whole = (n - at) // inner
    if whole:
        yield at, at + whole * inner, k.slice(array, 0, row, row + whole, 1)
        at += whole * inner
    if at < n:
        yield at, n, None
