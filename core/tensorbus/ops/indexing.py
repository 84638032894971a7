"""``x[...]``: what the user wrote becomes views, and index tensors where there are some.

Ints, slices, ``None`` and ``...`` give views. Lists, index tensors and masks copy: see
``index_tensors``.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus import dtypes
from tensorbus._tensor import Tensor
from tensorbus.ops.creation import tensor
from tensorbus.ops.generate import core
from tensorbus.ops.index_tensors import Indexed, assign_at, take_at
from tensorbus.ops.public import METHODS, Lazy
from tensorbus.ops.registry import row

_INDEX_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
_MANY_ITEMS = 32


# A slice of the first dimension goes to the array as it is: the commonest index by far.
row(
    "leading",
    "x:T, index",
    "view",
    node_name="SliceBackward0",
    composite=lambda F, x, index: F.slice(x, 0, *index.indices(x.shape[0])),
    x=lambda F, g, x_shape, index: F.slice_backward(
        g, tuple(x_shape), 0, *index.indices(x_shape[0])
    ),
)


def _make_getitem() -> Any:
    select, leading, alias = core("select"), core("leading"), core("alias")

    def __getitem__(self: Tensor, index: Any) -> Tensor:
        """Part of the tensor: a view for ints, slices, None and ``...``, else a copy."""
        t = type(index)
        if t is slice:
            step = index.step
            if self._s and (step is None or (type(step) is int and step > 0)):
                return leading(self, index)
        if t is int:
            shape = self._s
            if shape:
                n = shape[0]
                if 0 <= index < n:
                    return select(self, 0, index)
                if -n <= index < 0:
                    return select(self, 0, index + n)
        view, tensors = _resolve(self, index)
        if tensors is not None:
            return take_at(tensors)
        return alias(self) if view is self else view

    return __getitem__


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a number or a tensor that broadcasts into part of the tensor."""
    if not isinstance(value, Tensor):
        value = _assigned(self, value)
    view, tensors = _resolve(self, index)
    if tensors is not None:
        assign_at(tensors, value)
        return
    if view is self:
        view = core("alias")(self)  # what is overwritten gets a gradient of zeros
    if not isinstance(value, Tensor):
        view.fill_(value)
        return
    view.copy_(without_leading_ones(value, len(view._s)))


def without_leading_ones(value: Tensor, rank: int) -> Tensor:
    """The value with at most *rank* dimensions, where those in front are of extent 1."""
    while len(value._s) > rank and value._s[0] == 1:
        value = core("select")(value, 0, 0)
    return value


def _assigned(x: Tensor, value: Any) -> Any:
    """A Python number that the dtype can hold, for a number given in any way."""
    if not isinstance(value, (bool, int, float, complex)):
        item = getattr(value, "item", None)
        if isinstance(value, np.ndarray):
            return tensor(value, device=x._k.device)
        number = item() if callable(item) else None
        if not isinstance(number, (bool, int, float, complex)):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{x._k.dtype.legacy}")
        value = number
    check_fits(x, value)
    return value


def check_fits(x: Tensor, value: Any) -> None:
    """RuntimeError for a number that the tensor's dtype cannot hold."""
    d = x._k.dtype
    if isinstance(value, complex) and not d.is_complex:
        fits = value.imag == 0
        value = value.real
    else:
        fits = True
    if d.category == dtypes.INTEGER and not isinstance(value, complex):
        bits = d.bits - 1 if d.is_signed else d.bits
        # Negative numbers wrap around in unsigned dtypes, as in C.
        fits = fits and -(2**bits) <= value < 2**bits and value == value
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {_C_NAMES.get(d.name, d.name)} without overflow"
        )


_C_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float32": "float", "float64": "double", "float16": "at::Half", "bfloat16": "at::BFloat16",
}  # fmt: skip


# -- from the written index to views and tensors ---------------------------------------------
def _resolve(x: Tensor, index: Any) -> tuple[Tensor, Indexed | None]:
    """The view that ints and slices make of *x*, and what index tensors are left for it."""
    items = _items(index)
    if len(items) == 1 and not x._s and isinstance(items[0], int) and type(items[0]) is not bool:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    rank = len(x._s)
    used = sum(_dims_used(item) for item in items)
    if used > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    view, dim, own = x, 0, 0  # own: the dimension as the user counts it
    found: list[tuple[int, int, Tensor]] = []
    for item in items:
        if item is Ellipsis:
            dim += rank - used
            own += rank - used
            used = rank
        elif item is None:
            view = core("unsqueeze")(view, dim)
            dim += 1
        elif type(item) is slice:
            view = _cut(view, dim, item)
            dim, own = dim + 1, own + 1
        elif isinstance(item, Tensor):
            if item._s or item._k.dtype is not dtypes.bool:
                found.append((dim, own, item))
                taken = _dims_used(item)
                dim, own = dim + taken, own + taken
            else:
                view = core("unsqueeze")(view, dim)
                found.append((dim, own, core("view")(item, (1,))))
                dim += 1
        else:
            n = view._s[dim]
            if not -n <= item < n:
                raise IndexError(f"index {item} is out of bounds for dimension {own} with size {n}")
            view = core("select")(view, dim, item % n)
            own += 1
    return view, Indexed(view, found) if found else None


def _cut(x: Tensor, dim: int, item: slice) -> Tensor:
    if item.start is None and item.stop is None and item.step is None:
        return x
    n = x._s[dim]
    start, stop, step = _bounds(item, n)
    if start == 0 and stop == n and step == 1:
        return x
    return core("slice")(x, dim, start, stop, step)


def _bounds(item: slice, n: int) -> tuple[int, int, int]:
    """A slice's start, stop and step within ``0..n``; the step is positive."""
    start, stop, step = item.indices(n)
    if step < 0:
        raise ValueError("step must be greater than zero")
    return start, max(start, stop), step


def _items(index: Any) -> list[Any]:
    """The parts of an index: ints, slices, None, Ellipsis and tensors."""
    if isinstance(index, tuple):
        return [_item(part) for part in index]
    if (
        isinstance(index, list)
        and len(index) < _MANY_ITEMS
        and any(
            part is None
            or part is Ellipsis
            or isinstance(part, (Tensor, slice, Sequence, np.ndarray))
            for part in index
        )
    ):
        return [_item(part) for part in index]
    return [_item(index)]


def _item(part: Any) -> Any:
    kind = type(part)
    if kind is int or kind is slice or part is None or part is Ellipsis:
        return part
    if isinstance(part, Tensor):
        if not part._s and part._k.dtype.category == dtypes.INTEGER:
            if part._k.dtype is dtypes.uint8:
                return part.to(dtypes.bool)
            return int(part.item())
        return part
    if kind is bool:
        return tensor(part)
    if isinstance(part, (Sequence, np.ndarray)) and not isinstance(part, (str, bytes)):
        made = tensor(part)
        return made.to(dtypes.int64) if not made._s.numel() else _item(made)
    try:
        return operator.index(part)
    except TypeError:
        raise IndexError(_INDEX_KINDS.format(kind.__name__)) from None


def _dims_used(item: Any) -> int:
    """How many of the tensor's dimensions an item is for."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item._k.dtype in (dtypes.bool, dtypes.uint8):
        return len(item._s)
    return 1


METHODS["__getitem__"] = Lazy("__getitem__", _make_getitem)
METHODS["__setitem__"] = _setitem
