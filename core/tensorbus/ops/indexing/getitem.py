"""``x[...]``: what the user wrote becomes views, and index tensors where there are some.

Ints, slices, ``None`` and ``...`` give views. Lists, index tensors and masks copy: see
``index_tensors``.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.modes import OVERRIDES, RARE
from tensorbus._base.size import MAX_RANK, SIZES, size_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, make
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.generate import shortcut
from tensorbus.op_engine.in_place import check_history
from tensorbus.op_engine.names import METHODS, Lazy
from tensorbus.op_engine.override import dispatch, of_several_batches, overriding
from tensorbus.ops.creation.from_data import tensor
from tensorbus.ops.indexing.index_tensors import Indexed, as_indexed, assign_at, take_at
from tensorbus.ops.indexing.setitem import assigned, overwrite
from tensorbus.ops.views.rows import SELECT, SLICE, UNSQUEEZE
from tensorbus.rows.recipes import UNRECORDED
from tensorbus.rows.registry import ROWS, Row, row

_INDEX_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
_MANY_ITEMS = 32

Step = tuple[Row, str, tuple[int, ...]]
"""A view: its row, the name of the entry without a guard, and its parameters."""
Plan = tuple[list[Step], list[tuple[int, int, Tensor]]]


# A slice of the first dimension goes to the array as it is: the commonest index by far.
row(
    "leading",
    "x:T, index",
    "view",
    doc="The part of the first dimension that the Python slice *index* selects.",
    node_name="SliceBackward0",
    composite=lambda F, x, index: F.slice(x, 0, *index.indices(x.shape[0])),
    x=lambda F, g, x_shape, index: F.slice_backward(
        g, tuple(x_shape), 0, *index.indices(x_shape[0])
    ),
)


def _make_getitem() -> Any:
    # One function for what is written most: a slice of a plain tensor.
    first = [
        "    if type(index) is not slice or x._b is not None or not x._s:",
        "        return other(x, index)",
        "    step = index.step",
        "    if step is not None and (type(step) is not int or step <= 0):",
        "        return other(x, index)",
    ]
    method = shortcut("leading", "x, index", first, "SIZES[r.shape]", other=_make_other_getitem())
    method.__name__ = method.__qualname__ = "__getitem__"
    method.__doc__ = "Part of the tensor: a view for ints, slices, None and ``...``, else a copy."
    return method


def _make_other_getitem() -> Any:
    leading, sizes = core("leading"), SIZES
    select_row = ROWS["select"]

    def getitem(self: Tensor, index: Any) -> Tensor:
        t = type(index)
        if t is slice:
            step = index.step
            if not self._s or (step is not None and (type(step) is not int or step <= 0)):
                return _any_getitem(self, index)
            return leading(self, index)
        if t is int and self._e is None and not RARE.on and self._s:
            n = self._s[0]
            at = index + n if index < 0 else index
            if not 0 <= at < n:
                return _any_getitem(self, index)
            try:
                r = self._k.fast_select(self._a, 0, at)
            except OSError:  # of the handler of a signal
                raise
            except Exception:
                return _any_getitem(self, index)
        elif t is tuple and self._e is None and not RARE.on:
            found = _chain(self, index)
            return _any_getitem(self, index) if found is None else found
        else:
            if index is None and self._e is None and not RARE.on:
                index = (None,)
                found = _chain(self, index)
                if found is not None:
                    return found
            return _any_getitem(self, index)
        o = make()
        c = self._c
        if c is None:
            c = self._c = [0]
        b = self._b
        if b is None or b is PERMUTED:
            o._b = self
            how: Any = (select_row, 0, at)
        elif b._e is not None or not self._r:  # it has a history, or may have one of its own
            return _any_getitem(self, index)
        else:
            o._b = b
            how = self._r and (select_row, 0, at, self._r)
        if not (how and (GRAD.on or THREAD.on)):
            how = how and UNRECORDED
            o._v = c[0] if type(c) is list else 0
        o._r = how
        o._a = r
        o._k = self._k
        o._s = sizes[r.shape]
        o._c = c
        o._e = None
        return o

    return getitem


def _chain(x: Tensor, index: tuple[Any, ...]) -> Tensor | None:
    """Several ints and slices of a tensor without history: one tensor for all the views.

    None where there is more to it.
    """
    base, how = x._b, None
    if base is None or base is PERMUTED:
        base = x
    elif base._e is not None or not x._r:
        return None
    else:
        how = x._r
    found = _walk(x, index, how)
    if found is None or found[0] is x._a:
        return None
    o = make()
    if x._c is None:
        x._c = [0]
    o._a, o._r = found
    o._k, o._s, o._c, o._e, o._b = x._k, size_of(found[0].shape), x._c, None, base
    if not (GRAD.on or THREAD.on):
        o._r = UNRECORDED
        o._v = x._c[0] if type(x._c) is list else 0
    return o


def _walk(x: Tensor, index: tuple[Any, ...], how: Any) -> tuple[Any, Any] | None:
    """The array of the views, and their recipe on top of *how*; None where there is more to it."""
    planned = _plan(x._s, index)
    if planned is None or planned[1]:
        return None
    k, a = x._k, x._a
    for view_row, fast, params in planned[0]:
        if view_row is UNSQUEEZE and len(a.shape) == MAX_RANK:
            return None  # the long way has the error
        a = getattr(k, fast)(a, *params)
        how = (view_row, *params) if how is None else (view_row, *params, how)
    return a, how


def _any_getitem(x: Tensor, index: Any) -> Tensor:
    if OVERRIDES.on and (asked := overriding((index,)) or of_several_batches((x, index))):
        return dispatch(Tensor.__getitem__, asked, (x, index), {})
    if isinstance(index, Tensor) and index._k is x._k.i64 and index._s and x._s and x._s[0]:
        try:
            if len(index._s) == 1:
                return as_indexed(core("take")(x, 0, index, True), x, 0, [index])
            rows = core("take")(x, 0, index.reshape(-1), True)
            return as_indexed(core("view")(rows, (*index._s, *x._s[1:])), x, 0, [index])
        except IndexError:  # worded below
            pass
    view, tensors = _resolve(x, index)
    if tensors is not None:
        return take_at(tensors)
    return core("alias")(x) if view is x else view


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a number or a tensor that broadcasts into part of the tensor."""
    if index is False:
        return
    if OVERRIDES.on and (asked := of_several_batches((self, index, value))):
        dispatch(Tensor.__setitem__, asked, (self, index, value), {})
        return
    if not isinstance(value, Tensor):
        value = assigned(self, value)
    if index is Ellipsis:  # the tensor itself, and no view of it
        overwrite(self, value)
        return
    view = tensors = None
    if type(index) is int or type(index) is slice:
        index = (index,)
    if type(index) is tuple and self._e is None and not RARE.on:
        if self._b is None and _written(self, index, value):
            return
        view = _chain(self, index)
    if view is None:
        view, tensors = _resolve(self, index)
    if tensors is not None:
        assign_at(tensors, value)
        return
    if view is self:
        view = core("alias")(self)  # what is overwritten gets a gradient of zeros
    overwrite(view, value)


def _written(x: Tensor, index: tuple[Any, ...], value: Any) -> bool:
    """Write straight into a fresh tensor's memory, where nothing records and nothing overlaps."""
    check_history(x)
    plain = isinstance(value, Tensor)
    if plain and (value._k is not x._k or value._e is not None or value._b is not None):
        return False
    found = _walk(x, index, None)
    if found is None or (plain and value._s != tuple(found[0].shape)):
        return False
    bump(x)
    x._k.copy_(found[0], value._a if plain else value)
    return True


# -- from the written index to views and tensors ---------------------------------------------
def _resolve(x: Tensor, index: Any) -> tuple[Tensor, Indexed | None]:
    """The view that ints and slices make of *x*, and what index tensors are left for it."""
    try:
        items = _items(index)
        planned = _plan(x._s, items)
    except Exception:
        _explain(x._s, index)
        raise
    assert planned is not None  # ``_items`` leaves nothing else
    steps, found = planned
    view = x
    for view_row, _, params in steps:
        view = core(view_row.name)(view, *params)
    return view, Indexed(view, found) if found else None


def _plan(shape: Any, items: Sequence[Any]) -> Plan | None:
    """The views that an index asks for, and its tensors with the dimensions they stand for.

    Each tensor comes with its dimension in the view and with that in the shape, as users count.
    None where an item is neither an int, a slice, None, Ellipsis nor a tensor.
    """
    steps: list[Step] = []
    found: list[tuple[int, int, Tensor]] = []
    rank = len(shape)
    dim = own = 0
    open_ended = True
    for item in items:
        t = type(item)
        if t is int:
            if own >= rank:
                raise _too_many(items, shape)
            n = shape[own]
            if not -n <= item < n:
                if sum(map(_dims_used, items)) > rank:
                    raise _too_many(items, shape)
                if not -(1 << 63) <= item < 1 << 63:
                    raise ValueError("Overflow when unpacking long long")
                raise IndexError(f"index {item} is out of bounds for dimension {own} with size {n}")
            steps.append((SELECT, "fast_select", (dim, item % n)))
            own += 1
        elif t is slice:
            if own >= rank:
                raise _too_many(items, shape)
            if item.start is not None or item.stop is not None or item.step is not None:
                n = shape[own]
                start, stop, step = item.indices(n)
                if step < 0:
                    raise ValueError("step must be greater than zero")
                if start or stop != n or step != 1:
                    stop = stop if stop > start else start
                    steps.append((SLICE, "fast_slice", (dim, start, stop, step)))
            dim, own = dim + 1, own + 1
        elif item is None:
            steps.append((UNSQUEEZE, "fast_unsqueeze", (dim,)))
            dim += 1
        elif item is Ellipsis:
            if open_ended:  # further ones stand for no dimension
                skipped = rank - sum(map(_dims_used, items))
                if skipped < 0:
                    raise _too_many(items, shape)
                dim, own, open_ended = dim + skipped, own + skipped, False
        elif not isinstance(item, Tensor):
            return None
        elif not item._s and item._k.dtype is dtypes.bool:
            steps.append((UNSQUEEZE, "fast_unsqueeze", (dim,)))
            found.append((dim, own, core("view")(item, (1,))))
            dim += 1
        else:
            found.append((dim, own, item))
            taken = _dims_used(item)
            dim, own = dim + taken, own + taken
    if own > rank:
        raise _too_many(items, shape)
    return steps, found


def _explain(shape: Any, index: Any) -> None:
    """What PyTorch finds first in an index that is none: too many parts, or an endless int."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > 1 and sum(map(_dims_used, parts)) > len(shape):
        raise _too_many(parts, shape) from None
    if any(type(part) is int and not -(1 << 63) <= part < 1 << 63 for part in parts):
        raise ValueError("Overflow when unpacking long long") from None


def _too_many(items: Sequence[Any], shape: Any) -> IndexError:
    if len(items) == 1 and not shape and type(items[0]) is int:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    if len(items) == 1 and not shape and type(items[0]) is slice:
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {len(shape)}")


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
            # Inside vmap an index may differ among the elements: then it is one of a tensor.
            return part if part._k.inner is not None else int(part.item())
        return part
    if kind is bool:
        return tensor(part)
    if isinstance(part, (str, bytes)):
        raise TypeError(_INDEX_KINDS.format(kind.__name__))
    if isinstance(part, (Sequence, np.ndarray)):
        made = _index_tensor(part)
        if made._k.dtype not in (dtypes.bool, dtypes.uint8):
            made = made.to(dtypes.int64)
        return _item(made) if made._s.numel() else made
    try:
        return operator.index(part)
    except TypeError:
        raise IndexError(_INDEX_KINDS.format(kind.__name__)) from None


def _index_tensor(part: Any) -> Tensor:
    """The tensor of a sequence, in which tensors of one element stand for integers."""
    if not isinstance(part, np.ndarray) and any(isinstance(at, Tensor) for at in part):
        part = [operator.index(at) if isinstance(at, Tensor) else at for at in part]
    try:
        return tensor(part)
    except ValueError as error:  # of strings
        raise TypeError(f"an index sequence holds integers or truth values: {error}") from None


def _dims_used(item: Any) -> int:
    """How many of the tensor's dimensions an item is for."""
    if type(item) is int or type(item) is slice:
        return 1
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if isinstance(item, Tensor) and item._k.dtype in (dtypes.bool, dtypes.uint8):
        return len(item._s)
    return 1


METHODS["__getitem__"] = Lazy("__getitem__", _make_getitem)
METHODS["__setitem__"] = _setitem
