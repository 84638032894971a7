"""Views of arrays over ``as_strided``, for backends that bring none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus.rows.layouts import view_strides

Shape = tuple[int, ...]


def view(F: Any, x: Any, shape: Shape) -> Any:
    """The same elements in another shape; ValueError where only a copy can have it."""
    _, offset, strides = F.layout(x)
    found = view_strides(tuple(x.shape), tuple(strides), shape)
    if found is None:
        raise ValueError("no view of that shape")
    return F.as_strided(x, shape, found, offset)


def permute(F: Any, x: Any, dims: Shape) -> Any:
    """The dimensions in another order."""
    _, offset, strides = F.layout(x)
    shape = tuple(x.shape[d] for d in dims)
    return F.as_strided(x, shape, tuple(strides[d] for d in dims), offset)


def expand(F: Any, x: Any, shape: Shape) -> Any:
    """Dimensions of size 1 repeated without a copy, and new leading dimensions."""
    _, offset, strides = F.layout(x)
    lead = len(shape) - len(x.shape)
    new = [0] * lead
    for n, wanted, stride in zip(x.shape, shape[lead:], strides, strict=True):
        new.append(stride if n == wanted else 0)
    return F.as_strided(x, shape, tuple(new), offset)


def slice_(F: Any, x: Any, dim: int, start: int, stop: int | None, step: int) -> Any:
    """Every *step*-th element of one dimension."""
    _, offset, strides = F.layout(x)
    n = len(range(x.shape[dim])[start:stop:step])
    shape = (*x.shape[:dim], n, *x.shape[dim + 1 :])
    new = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return F.as_strided(x, shape, new, offset + _reach(shape, start * strides[dim]))


def select(F: Any, x: Any, dim: int, i: int) -> Any:
    """One index of a dimension, which disappears."""
    _, offset, strides = F.layout(x)
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    new = (*strides[:dim], *strides[dim + 1 :])
    return F.as_strided(x, shape, new, offset + _reach(shape, i * strides[dim]))


def _reach(shape: Shape, distance: int) -> int:
    """How far a view's first element lies from its base's; no elements, no way to go."""
    return 0 if 0 in shape else distance


def unsqueeze(F: Any, x: Any, dim: int) -> Any:
    """A new dimension of size 1."""
    _, offset, strides = F.layout(x)
    stride = x.shape[dim] * strides[dim] if dim < len(x.shape) else 1
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    return F.as_strided(x, shape, (*strides[:dim], stride, *strides[dim:]), offset)


DEFAULTS: dict[str, Callable[..., Any]] = {
    "view": view,
    "permute": permute,
    "expand": expand,
    "slice": slice_,
    "select": select,
    "unsqueeze": unsqueeze,
}
