"""What the kernels of recurrent layers share: directions, and the rows of each step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT

Sizes = Sequence[int]

_ELEMENTS = 1 << 15
"""What a few arrays of so many elements take fits into the cache."""


def offers(table: Table) -> Callable[[Kernel], Kernel]:
    """Puts a kernel into a table, under its own name, for float32 and float64."""

    def offer(kernel: Kernel) -> Kernel:
        def maker(xp: Any, dtype: dtype) -> Kernel | None:
            return quiet(kernel) if dtype.itemsize > 2 else None

        table.add(kernel.__name__, (FLOAT,), maker)
        return kernel

    return offer


# -- directions --------------------------------------------------------------------------------
def part_of(x: Any, k: int, count: int) -> Any:
    """Of what lies side by side the part of a direction."""
    if x is None or count == 1:
        return x
    n = x.shape[1] // count
    return x[:, k * n : (k + 1) * n]


def row_of(x: Any, k: int) -> Any:
    """Of what is stacked the part of a direction."""
    return None if x is None else x[k]


def joined(found: list[tuple[Array, ...]], beside: bool = False) -> tuple[Array, ...]:
    """The results of all directions: stacked, and the first one side by side where it says so."""
    if len(found) == 1:
        return tuple(x if beside and not i else x[None] for i, x in enumerate(found[0]))
    each = list(zip(*found, strict=True))
    first = (np.concatenate(each.pop(0), 1),) if beside else ()
    return *first, *(np.stack(x) for x in each)


# -- steps -------------------------------------------------------------------------------------
def by_step(sizes: Sizes, back: bool, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """The rows of each step, in the order of the steps."""
    if sizes[0] == sizes[-1]:
        each = [a.reshape(len(sizes), sizes[0], *a.shape[1:]) for a in arrays]
    else:
        ends = list(itertools.accumulate(sizes))[:-1]
        each = [np.split(a, ends) for a in arrays]
    return zip(*(rows[::-1] if back else rows for rows in each), strict=True)


class State:
    """Rows, of which a step sees the first *n*, and changes them."""

    def __init__(self, first: Array, sizes: Sizes):
        self._all = np.array(first)
        self._even = sizes[0] == sizes[-1]

    def first(self, n: int) -> Array:
        return self._all if self._even else self._all[:n]

    def change(self, rows: Array) -> None:
        """*rows* stay as they are until the next change."""
        if self._even:
            self._all = rows
        else:
            self._all[: len(rows)] = rows

    def last(self) -> Array:
        return self._all.copy()


def groups(sizes: Sizes, back: bool, width: int) -> Iterator[tuple[slice, int]]:
    """Neighbouring steps in their order: the elements that they have together, and their number."""
    stop = start = sum(sizes) if back else 0
    steps = 0
    for size in reversed(sizes) if back else sizes:
        start, stop = (start - size, stop) if back else (start, stop + size)
        steps += 1
        if (stop - start) * width >= _ELEMENTS:
            yield slice(start, stop), steps
            start = stop = start if back else stop
            steps = 0
    if steps:
        yield slice(start, stop), steps


def before_each(x: Array, first: Array, sizes: Sizes, back: bool) -> Array:
    """What each element finds: the rows that *x* has of the step before, at the start *first*."""
    made = np.empty(x.shape, x.dtype)
    n, count = sizes[0], len(x)
    if n == sizes[-1]:
        if back:
            made[: count - n], made[count - n :] = x[n:], first
        else:
            made[n:], made[:n] = x[: count - n], first
        return made
    state = State(first, sizes)
    for found, now in by_step(sizes, back, made, x):
        found[...] = state.first(len(now))
        state.change(now)
    return made


def parts(x: Array, count: int) -> Iterator[Array]:
    """Parts of equal size of the rows."""
    return iter(np.moveaxis(x.reshape(len(x), count, x.shape[1] // count), 1, 0))


def own_gradient(g: Array | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """A gradient that may be written to."""
    return np.zeros(shape, dtype) if g is None else np.array(g, dtype, order="C")


def given(g: Array | None, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """A gradient that is read."""
    return np.broadcast_to(np.zeros((), dtype), shape) if g is None else g


def from_input(x: Array, w: Array, *biases: Any) -> Array:
    """What the input gives to all steps, with its bias and maybe another one, or None each."""
    z = np.dot(x, w.T)
    if biases[0] is not None:
        z += biases[0] if len(biases) == 1 else np.add(*biases)
    return z
