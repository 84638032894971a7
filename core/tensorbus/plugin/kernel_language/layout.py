"""Loop nests: broadcasting, and merging dimensions so that kernels have few of them."""

from __future__ import annotations

from collections.abc import Sequence

Strides = tuple[int, ...]


def expand_strides(shape: tuple[int, ...], strides: Strides, to: tuple[int, ...]) -> Strides:
    """The strides of an array of *shape* seen with shape *to*."""
    missing = len(to) - len(shape)
    if missing == 0 and shape == to:
        return strides
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))


def merge(
    shape: Sequence[int], strides: Sequence[Strides], reorder: bool = True
) -> tuple[tuple[int, ...], tuple[Strides, ...]]:
    """The same elements with as few dimensions as possible, in the same order if not *reorder*.

    Dimensions of size 1 vanish; with *reorder* those of the first operand's largest strides come
    first, so that the innermost runs through memory; neighbours that every operand walks with one
    stride become one.
    """
    dims = [d for d, n in enumerate(shape) if n != 1]
    if reorder and len(dims) > 1:
        dims.sort(key=lambda d: [-abs(s[d]) for s in strides])
    sizes: list[int] = []
    steps: list[list[int]] = []
    for d in dims:
        here = [s[d] for s in strides]
        n = shape[d]
        if sizes and all(a == b * n for a, b in zip(steps[-1], here, strict=True)):
            sizes[-1] *= n
            steps[-1] = here
        else:
            sizes.append(n)
            steps.append(here)
    return tuple(sizes), tuple(zip(*steps, strict=True)) if steps else ((),) * len(strides)
