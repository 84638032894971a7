"""Where the elements of an operand lie: the layouts in which every kernel is tried."""

from __future__ import annotations

import numpy as np

LAYOUTS = ("contiguous", "transposed", "permuted", "strided", "reversed", "expanded", "offset")
"""``transposed`` is column-major, ``permuted`` rotates the dimensions in memory, ``strided`` has
gaps in every dimension, ``reversed`` has negative strides, ``expanded`` has stride 0 where the
values repeat, ``offset`` starts inside its storage."""

Plan = tuple[int, tuple[int, ...], int]


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a row-major array."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def _in_order(shape: tuple[int, ...], order: list[int]) -> tuple[int, ...]:
    dense = row_major(tuple(shape[d] for d in order))
    strides = [0] * len(shape)
    for d, step in zip(order, dense, strict=True):
        strides[d] = step
    return tuple(strides)


def plan(shape: tuple[int, ...], layout: str, repeats: tuple[bool, ...] = ()) -> Plan:
    """(elements of the storage, strides, offset) of an array of *shape* laid out so.

    *repeats* says along which dimensions an ``expanded`` array has stride 0.
    """
    size = int(np.prod(shape, dtype=np.int64))
    rank = len(shape)
    if layout == "contiguous":
        return size, row_major(shape), 0
    if layout == "offset":
        return size + 8, row_major(shape), 5
    if layout == "transposed":
        return size, _in_order(shape, list(reversed(range(rank)))), 0
    if layout == "permuted":
        return size, _in_order(shape, [*range(1, rank), 0]), 0
    if layout == "reversed":
        return size, tuple(-s for s in row_major(shape)), size - 1
    if layout == "expanded":
        kept = tuple(1 if again else n for n, again in zip(shape, repeats, strict=True))
        dense = row_major(kept)
        strides = tuple(0 if again else s for s, again in zip(dense, repeats, strict=True))
        return int(np.prod(kept, dtype=np.int64)), strides, 0
    if layout == "strided":
        padded = tuple(2 * n + 1 for n in shape)
        outer = row_major(padded)
        total = int(np.prod(padded, dtype=np.int64)) + 4
        return total, tuple(2 * s for s in outer), sum(outer) + 2
    raise ValueError(f"unknown layout {layout!r}; there are {', '.join(LAYOUTS)}")


def window(
    buffer: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> np.ndarray:
    """The NumPy view of a host buffer that mirrors an array on a device."""
    steps = tuple(s * buffer.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(buffer[offset:], shape, steps)
