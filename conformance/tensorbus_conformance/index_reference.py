"""What an index means over NumPy arrays, as in PyTorch: the reference of getitem and setitem."""

from __future__ import annotations

from typing import Any

import numpy as np


def chosen(x: np.ndarray, index: Any) -> np.ndarray:
    """``x[index]``, a view where the index is made of ints, slices, ``None`` and ``...`` alone.

    Unlike NumPy, an int beside an index array is a view first, and no array of indices.
    """
    view, rest = parts(x, index)
    return np.asarray(view[rest])


def parts(x: np.ndarray, index: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """The view by ints and ``None``, and the index of slices and arrays that is left for it."""
    given = index if isinstance(index, tuple) else (index,)
    items = [_mask(item) for item in given]
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    used = sum(_dims(item) for item in items)
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    view = x
    rest: list[Any] = []
    for item in items:
        if _is_int(item):
            view = np.moveaxis(view, sum(_dims(r) for r in rest), 0)[int(item), ...]
        elif item is None or isinstance(item, (bool, np.bool_)):
            view = np.expand_dims(view, sum(_dims(r) for r in rest))
            rest.append(slice(None) if item is None else np.array([item]))
        else:
            rest.append(np.asarray(item) if not isinstance(item, slice) else item)
    return view, tuple(rest)


def _mask(item: Any) -> Any:
    """Bytes are truth values, for historical reasons."""
    return item != 0 if isinstance(item, np.ndarray) and item.dtype == np.uint8 else item


def _is_int(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return False
    return isinstance(item, (int, np.integer)) or (
        isinstance(item, np.ndarray) and not item.shape and item.dtype.kind in "iu"
    )


def _dims(item: Any) -> int:
    """How many dimensions an item is for."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return item.ndim
    return 1


def written(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    """A copy of *x* after ``x[index] = value``."""
    out = np.array(x)
    view, rest = parts(out, index)
    target = np.shape(view[rest])
    value = np.asarray(value)
    while value.ndim > len(target) and value.shape[0] == 1:
        value = value[0]
    view[rest] = value.astype(x.dtype)
    return out
