"""Indexing by tensors: several become one linear index over merged dims, masks too."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import OutOfMemoryError, device_error
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.batching import UNCOUNTED, reworded
from tensorbus._dispatch.memory import check_memory
from tensorbus._tensor.tensor import Tensor, bump, from_array
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import lay_out
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_write, repeated_dims
from tensorbus.op_engine.scalars import scalar_name_of
from tensorbus.ops.indexing.put_slices import put_into
from tensorbus.plugin.faults import IndexFault
from tensorbus.rows.layouts import broadcast_shapes, pointwise_strides, view_strides
from tensorbus.rows.registry import row

Shape = tuple[int, ...]

# fmt: off
row("flatnonzero", "x:T",
    doc="The indices of the elements of the vector *x* that are not zero, in order.",
    result="int64", composite=lambda F, x: _flatnonzero(F, x))
row("index_clear", "x:T, dim, i:int64, wrap",
    doc="A copy of *x* with zeros in the slices that the vector *i* selects along *dim*.",
    composite=lambda F, x, dim, i, wrap: F.put(F.clone(x), dim, i, F.number(0), "set", wrap),
    x=lambda F, g, dim, i, wrap: F.index_clear(g, dim, i, wrap))
# fmt: on


def _flatnonzero(F: Any, x: Any) -> Any:
    """The indices of what is not zero in a vector: each is put where the running count says."""
    I = F.i64  # noqa: E741 -- the namespace of indices
    n = x.shape[0]
    if not n:
        return I.empty((0,))
    mask = F.ne(x, 0)
    count = I.cumsum(I.cast(mask, F.bool), 0)
    try:
        found = int(I.to_host(I.slice(count, 0, n - 1, n, 1))[0])
    except RuntimeError as error:
        raise reworded(error, UNCOUNTED) from None
    out = I.empty((found + 1,))  # the last element takes what is zero
    target = I.where(mask, I.sub(count, 1), I.full((), found))
    I.put(out, 0, target, I.arange(n, 0, 1), "set", False)
    return I.slice(out, 0, 0, found, 1)


def true_indices(mask: Tensor) -> Tensor:
    """The linear indices of what is not zero, in order; reads one number from the device."""
    flat = mask if len(mask._s) == 1 else mask.reshape(-1)
    return core("flatnonzero")(flat)


def unravel(flat: Tensor, shape: Shape) -> list[Tensor]:
    """The coordinates, one tensor for each dimension, of linear indices."""
    found = []
    step = math.prod(shape)
    for d, n in enumerate(shape):
        step //= max(n, 1)
        at = flat
        if step > 1:
            at = core("floor_divide")(at, step)
        if d:
            at = core("remainder")(at, n)
        found.append(at)
    return found


class Indexed:
    """A tensor, and the index tensors for some of its dimensions, checked and broadcast.

    ``found`` lists (dimension of the view, dimension as the user counts, tensor).
    """

    def __init__(self, view: Tensor, found: list[tuple[int, int, Tensor]]):
        self.given = view
        self.mask: tuple[int, Tensor] | None = None
        self.of_bytes = False
        prepared: list[tuple[int, int, Tensor]] = []
        for position, (dim, own, item) in enumerate(found):
            prepared += self._prepared(view, position, dim, own, item, len(found) == 1)
        self.index = prepared
        if self.mask is None:
            self._broadcast()

    def _prepared(
        self, view: Tensor, position: int, dim: int, own: int, item: Tensor, single: bool
    ) -> list[tuple[int, int, Tensor]]:
        k, d = view._k, item._k.dtype
        if item._k.device is not k.device and item._k.device.type != "cpu":
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({k.device})"
            )
        if d in (dtypes.bool, dtypes.uint8):
            if d is dtypes.uint8:
                warn_user(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                    "torch.bool instead."
                )
            rank = len(item._s)
            for d_mask in range(rank):
                if item._s[d_mask] != view._s[dim + d_mask]:
                    raise IndexError(
                        f"The shape of the mask {list(item._s)} at index {d_mask} does not match "
                        f"the shape of the indexed tensor {list(view._s)} at index {dim + d_mask}"
                    )
            if single:
                self.mask = dim, to_kind(item, k.bool)
                self.of_bytes = d is dtypes.uint8
                return []
            item = to_kind(item, k.bool)
            return [
                (dim + i, own + i, at) for i, at in enumerate(unravel(true_indices(item), item._s))
            ]
        if d not in (dtypes.int64, dtypes.int32):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return [(dim, own, to_kind(item, k.i64))]

    def _broadcast(self) -> None:
        if len(self.index) == 1:
            self.shape = tuple(self.index[0][2]._s)
            return
        shapes = [tuple(item._s) for _, _, item in self.index]
        try:
            self.shape = tuple(broadcast_shapes(*shapes))
        except RuntimeError:
            raise IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                + ", ".join(str(list(shape)) for shape in shapes)
            ) from None

    def resolve_mask(self) -> None:
        """The mask, where there is one, as the indices it selects in its merged dimensions."""
        if self.mask is None:
            return
        dim, mask = self.mask
        self.flat = true_indices(mask)
        self.index = [(dim + d, dim + d, self.flat) for d in range(len(mask._s))]
        self.shape = tuple(self.flat._s)

    @property
    def dims(self) -> list[int]:
        return [dim for dim, _, _ in self.index]

    def arrangement(self) -> tuple[Tensor, int]:
        """The view with the indexed dimensions side by side, and where they start."""
        view, dims = self.given, self.dims
        if len(dims) == 1:
            return view, dims[0]
        if dims == list(range(dims[0], dims[0] + len(dims))):
            return view, dims[0]
        rest = [d for d in range(len(view._s)) if d not in dims]
        return core("permute")(view, (*dims, *rest)), 0

    def linear(self) -> tuple[Tensor, bool]:
        """The index into the merged dimensions, one-dimensional, and whether it may be negative."""
        if self.mask is not None:
            return self.flat, False
        view = self.given
        for dim, own, item in self.index:
            nothing = not view._s[dim] and 0 not in self.shape and item._s.numel()
            if nothing and item._k.has_values:
                value = int(every_value(item).flat[0])
                raise IndexFault(value, own, 0)
        k = view._k.i64
        dims = self.dims
        if any(not n for d, n in enumerate(view._s) if d not in dims):
            # Nothing is read or written, so nothing is out of bounds.
            return from_array(k.full((math.prod(self.shape),), 0), k), False
        later = not k.backend.traits.host_sync
        if len(self.index) == 1:
            dim, own, item = self.index[0]
            if dim == own or not later:
                return (item if len(item._s) == 1 else item.reshape(-1)), True
        step = math.prod(view._s[dim] for dim in self.dims)
        total = None
        for dim, own, item in self.index:
            size = view._s[dim]
            step //= max(size, 1)
            if 0 in self.shape:  # an index that is repeated no times may have left its dimension
                item = item.expand(self.shape)
            # One kernel looks after the bounds and negative indices and multiplies by the step.
            table = k.arange(size, 0, step) if size else k.empty((0,))
            part = k.view(_looked_up(k, table, item.reshape(-1)._a, own, later), tuple(item._s))
            total = part if total is None else k.add(total, part)
        total = k.contiguous(k.expand(k.as_array(total), self.shape))
        return from_array(k.view(total, (math.prod(self.shape),)), k), False

    def fault(self, error: IndexError) -> IndexError:
        """The user's error for one index tensor that left its dimension."""
        own = self.index[0][1]
        return IndexFault(error.value, own, error.n) if isinstance(error, IndexFault) else error


def _looked_up(k: Any, table: Any, flat: Any, own: int, later: bool) -> Any:
    """The entries of a vector at the indices *flat*; a fault names the dimension *own*."""
    if later and own:  # nobody can word it when it is reported: the kernel itself must see *own*
        table = k.view(table, (*(1,) * own, *table.shape))
        return k.view(k.take(table, own, flat, True), tuple(flat.shape))
    try:
        return k.take(table, 0, flat, True)
    except IndexFault as fault:
        raise IndexFault(fault.value, own, fault.n) from None
    except (MemoryError, OutOfMemoryError) as error:
        check_memory(error, k.device)
        raise


def take_at(at: Indexed) -> Tensor:
    """``x[indices]``: a new tensor of the elements."""
    at.resolve_mask()
    i, wrap = at.linear()
    source, start = at.arrangement()
    count = len(at.index)
    shape = tuple(source._s)
    before, after = shape[:start], shape[start + count :]
    view = source
    if count > 1:
        view = view.reshape((*before, math.prod(shape[start : start + count]), *after))
    try:
        r = core("take")(view, start, i, wrap)
    except IndexError as error:
        raise at.fault(error) from None
    if len(at.shape) != 1:
        r = core("view")(r, (*before, *at.shape, *after))
    return as_indexed(r, source, start, [item for _, _, item in at.index])


def as_indexed(r: Tensor, x: Tensor, start: int, index: list[Tensor]) -> Tensor:
    """A fresh ``x[indices]`` with the strides that it has, those of *x* and the indices."""
    if r._e is not None:
        name_node(r, "IndexBackward0")
    if x._b is None and all(i._b is None for i in index):
        return r
    strides = tuple(x._k.strides(x._a))
    after = len(x._s) - start - len(index)
    rank = len(r._s) - start - after
    kept = (*strides[:start], *(0,) * rank, *strides[len(strides) - after :])
    operands = [(tuple(r._s), kept)]
    for i in index:
        own = tuple(i._k.strides(i._a))
        operands.append(((*i._s, *(1,) * after), (*own, *(0,) * after)))
    lay_out(r, pointwise_strides(tuple(r._s), *operands))
    return r


# -- writing ---------------------------------------------------------------------------------
def assign_at(at: Indexed, value: Any, op: str = "set") -> None:
    """``x[indices] = value`` for a number or a tensor that broadcasts; ``op="add"`` accumulates."""
    x = at.given
    if isinstance(value, Tensor):
        if at.mask is not None and op == "set" and value._s.numel() == 1:
            value = value.reshape(())
        value = _same_kind(x, value, converts=at.mask is not None)
        number = not value._s and edge_of(value) is None and x._k.inner is None
        if number and op == "set" and x._k.device.type == "cpu":
            value = value.item()
    if x._b is not None and (repeated := repeated_dims(x)):
        at, value = _once(at, value, repeated)
    if at.mask is not None and op == "set" and not (isinstance(value, Tensor) and value._s):
        _fill_mask(at, value)
        return
    at.resolve_mask()
    i, wrap = at.linear()
    view, start = at.arrangement()
    count = len(at.index)
    shape = tuple(view._s)
    before, after = shape[:start], shape[start + count :]
    src = _source(value, (*before, *at.shape, *after), (*before, math.prod(at.shape), *after))
    if (0 in before or 0 in after or not i._s[0]) and not check_write(view, src):
        bump(view)
        return
    merged = (*before, math.prod(shape[start : start + count]), *after)
    try:
        if count == 1:
            put_into(view, start, i, src, op, wrap)
        elif view_strides(shape, tuple(view._k.strides(view._a)), merged) is not None:
            put_into(core("view")(view, merged), start, i, src, op, wrap)
        else:
            whole = core("clone")(view)
            put_into(core("view")(whole, merged), start, i, src, op, wrap)
            view.copy_(whole)
    except IndexError as error:
        raise at.fault(error) from None


def _once(at: Indexed, value: Any, repeated: list[int]) -> tuple[Indexed, Any]:
    """The write to an expanded tensor as one to the elements it has, which lie there once."""
    warn_user(
        "Writes by index to an expanded tensor are deprecated, as several of its elements are "
        "one. Write to a clone() of it."
    )
    x, k = at.given, at.given._k.i64
    if at.mask is not None:
        first, mask = at.mask
        found = unravel(true_indices(mask), tuple(mask._s))
        at = Indexed(x, [(first + d, first + d, i) for d, i in enumerate(found)])
    rest = [d for d in range(len(x._s)) if d not in at.dims]
    start = at.arrangement()[1]
    sizes = tuple(x._s[d] for d in rest)
    result = (*sizes[:start], *at.shape, *sizes[start:])
    if isinstance(value, Tensor):
        value = _source(value, result, result)
    for d in repeated:
        x = core("slice")(x, d, 0, 1, 1)
        if d in rest and isinstance(value, Tensor):  # the last one written stays
            position = rest.index(d)
            position += len(at.shape) * (position >= start)
            value = core("slice")(value, position, at.given._s[d] - 1, at.given._s[d], 1)
    later = not k.backend.traits.host_sync
    index = []
    for dim, own, item in at.index:
        if dim in repeated:
            zeros = k.full((at.given._s[dim],), 0)
            flat = _looked_up(k, zeros, item.reshape(-1)._a, own, later)
            item = core("view")(from_array(flat, k), tuple(item._s))
        index.append((dim, own, item))
    return Indexed(x, index), value


def _same_kind(x: Tensor, value: Tensor, converts: bool) -> Tensor:
    """The value where *x* is; one for a mask is converted, others must have the dtype."""
    if value._k is x._k:
        return value
    if value._k.device is not x._k.device and value._s:
        raise device_error(x._k.device, value._k.device)
    if value._k.dtype is not x._k.dtype and (value._s or not converts):
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name_of(x)} for the destination and {scalar_name_of(value)} for the source."
        )
    return to_kind(value, x._k)


def _fill_mask(at: Indexed, value: Any) -> None:
    """One value where the mask is true: no indices are needed."""
    if at.of_bytes:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        )
    dim, mask = at.mask  # type: ignore[misc]
    rest = len(at.given._s) - dim - len(mask._s)
    at.given.masked_fill_(core("view")(mask.contiguous(), (*mask._s, *(1,) * rest)), value)


def _source(value: Any, result: Shape, merged: Shape) -> Any:
    """The value with the sizes of the result, its indexed dimensions merged."""
    if not isinstance(value, Tensor):
        return value
    given = value
    while len(value._s) > len(result) and value._s[0] == 1:
        value = core("select")(value, 0, 0)
    try:
        fits = tuple(broadcast_shapes(value._s, result)) == result
    except RuntimeError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given._s)} cannot be broadcast to "
            f"indexing result of shape {list(result)}"
        )
    return value.expand(result).reshape(merged)
