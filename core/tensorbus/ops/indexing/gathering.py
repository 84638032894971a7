"""Elements and slices picked, and written, by index tensors."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor, bump, from_array
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.op_engine.argument_values import every_value, number_of
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_write, in_place, recorded_as, repeated_dims
from tensorbus.op_engine.mixed_operands import operand
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted, scalar_name_of
from tensorbus.ops.indexing.index_tensors import Indexed, assign_at
from tensorbus.ops.indexing.put_slices import put_into
from tensorbus.plugin.faults import IndexFault
from tensorbus.rows.layouts import broadcast_shapes


def _index(name: str, index: Any, x: Tensor) -> Tensor:
    """An int64 index on the tensor's device."""
    if not isinstance(index, Tensor):
        raise type_error(name, "index", 2, "Tensor", index)
    if index._k.dtype not in (dtypes.int64, dtypes.int32) and (
        index._s.numel() or name != "gather"
    ):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    check_device(x, index)
    return index if index._k.dtype is dtypes.int64 else index.to(dtypes.int64)


def _vector(x: Tensor) -> Tensor:
    return x if x._s else core("view")(x, (1,))


@public(out=SAME)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: one element for each index.

    The index may be smaller than *input* in the other dimensions. IndexError out of range.
    """
    i = _index("gather", index, input)
    d = wrap_dim(dim, len(input._s))
    if max(len(i._s), 1) != max(len(input._s), 1) and i._s.numel():
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if not i._s.numel():
        nothing = core("slice")(input.reshape(-1), 0, 0, 0, 1)
        return core("view")(core("clone")(nothing), tuple(i._s))
    x, i = _vector(input), _vector(i)
    for at, (n, m) in enumerate(zip(i._s, x._s, strict=True)):
        if at != d and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {at} expected index {list(index._s)} to be no "
                f"larger than self {list(input._s)} apart from dimension {d}"
            )
        if at != d and n != m:
            x = core("slice")(x, at, 0, n, 1)
    _filled(x, d, i)
    r = core("gather")(x, d, i)
    return r if index._s else core("view")(r, ())


def _filled(x: Tensor, dim: int, i: Tensor) -> None:
    """IndexError for an index into nothing, which no kernel sees."""
    if not x._s[dim] and i._s.numel() and i._k.has_values:
        value = int(every_value(i).flat[0])
        raise IndexFault(value, dim, 0)


@public(out=SAME)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` whose operands broadcast in the other dimensions; flat without *dim*.

    Along a *dim* indices wrap around, so that negative ones count from the end.
    """
    if indices._k.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{scalar_name_of(indices)}"
        )
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if len(input._s) != len(indices._s):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(input._s)} dimensions for input, and {len(indices._s)} dimensions for "
            "indices"
        )
    d = wrap_dim(dim, len(input._s))
    shape = tuple(
        broadcast_shapes(
            (*input._s[:d], 1, *input._s[d + 1 :]), (*indices._s[:d], 1, *indices._s[d + 1 :])
        )
    )
    n = input._s[d]
    if n:
        indices = core("remainder")(indices, n)
    x = input.expand((*shape[:d], n, *shape[d + 1 :]))
    return gather(x, d, indices.expand((*shape[:d], indices._s[d], *shape[d + 1 :])))


@public(out=SAME)
@composed(node="TakeBackward0")
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at indices of the flattened tensor; negative ones count from the end."""
    if index._k.dtype is not dtypes.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {scalar_name_of(index)}"
        )
    check_device(input, index)
    flat = input.reshape(-1)
    if index._s.numel() and not flat._s[0]:
        raise IndexError("take(): tried to take from an empty tensor")
    r = core("take")(flat, 0, index.reshape(-1), True)
    return core("view")(r, tuple(index._s))


@public(out=SAME)
@composed(node="IndexSelectBackward0")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Whole slices at the indices of a vector; negative ones are out of range."""
    if isinstance(index, Tensor):
        if len(index._s) > 1:
            raise IndexError("index_select(): Index is supposed to be a vector")
        if index._k.dtype not in (dtypes.int64, dtypes.int32):
            raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    i = _index("index_select", index, input)
    d = wrap_dim(dim, len(input._s))
    if not input._s and i._s.numel() != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {i._s.numel()} value(s)"
        )
    x = _vector(input)
    _filled(x, d, i)
    r = core("take")(x, d, _vector(i), False)
    return r if input._s else core("view")(r, ())


# -- writing by index ------------------------------------------------------------------------
@public(function=False)
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``self[indices] = values``, or ``+=`` with every duplicate applied where *accumulate*."""
    if not isinstance(indices, (tuple, list)):
        raise type_error("index_put_", "indices", 1, "tuple of Tensors", indices)
    found, dim = [], 0
    for i, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 1, but got {type(item).__name__}"
            )
        found.append((dim, dim, item))
        dim += len(item._s) if item._k.dtype in (dtypes.bool, dtypes.uint8) else 1
    if dim > len(self._s):
        raise IndexError(
            f"too many indices for tensor of dimension {len(self._s)} (got {len(indices)})"
        )
    filled = not accumulate and len(found) == 1 and found[0][2]._k.dtype is dtypes.bool
    if values._k.dtype is not self._k.dtype and not (filled and values._s.numel() == 1):
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name_of(self)} for the destination and {scalar_name_of(values)} for the "
            "source."
        )
    assign_at(Indexed(self, found), values, "add" if accumulate else "set")
    return self


@public()
@composed(node="IndexPutBackward0", layout="order", operands=1, autocast="device widest")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``index_put_`` on a copy."""
    return index_put_(core("clone")(input), indices, values, accumulate)


@public(function=False)
@recorded_as("PutBackward0")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write *source* at indices of the flattened tensor; negative ones count from the end."""
    if index._k.dtype is not dtypes.int64:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {scalar_name_of(index)}"
        )
    check_device(self, index, source)
    if source._k.dtype is not self._k.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_name_of(self)} and source.dtype = {scalar_name_of(source)}"
        )
    if index._s.numel() != source._s.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source._s.numel()}, index.numel() = {index._s.numel()}"
        )
    if not index._s.numel() and not check_write(self, source):
        bump(self)
        return self
    if not self._s.numel() and index._s.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    whole = self if self._k.is_contiguous(self._a) else core("clone")(self)
    flat = core("view")(whole, (self._s.numel(),))
    op = "add" if accumulate else "set"
    put_into(flat, 0, index.reshape(-1), source.reshape(-1), op, True)
    return self if whole is self else self.copy_(whole)


@public()
@composed(node="PutBackward0", layout="order", operands=1)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``put_`` on a copy."""
    return put_(core("clone")(input), index, source, accumulate)


def _vector_index(name: str, x: Tensor, index: Tensor, rank_text: str) -> Tensor:
    """A vector of int64 indices; *rank_text* says what is wrong with a matrix."""
    if len(index._s) > 1:
        raise IndexError(f"{name}(): {rank_text}")
    return _vector(_index(name, index, x))


def _add_index(x: Tensor, d: int, index: Tensor, source: Tensor) -> Tensor:
    name = "index_add_"
    i = _vector_index(
        name,
        x,
        index,
        f"Index is supposed to be a vector, but got dim: {len(index._s)} with type: "
        f"{scalar_name_of(index)} and size: {list(index._s)}",
    )
    if source._k.dtype is not x._k.dtype:
        raise RuntimeError(
            f"{name}(): self ({scalar_name_of(x)}) and source ({scalar_name_of(source)}) must have "
            "the same scalar type"
        )
    check_device(x, source)
    size = source._s[d] if len(source._s) > d else 1
    if i._s[0] != size:
        raise RuntimeError(
            f"{name}(): Number of indices ({i._s[0]}) should be equal to source.size(dim): "
            f"({size}), for dim: {d}"
        )
    if (*x._s[:d], *x._s[d + 1 :]) != (*source._s[:d], *source._s[d + 1 :]) or (
        len(x._s) != len(source._s)
    ):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x._s)} source.shape = {list(source._s)}"
        )
    return i


def _copy_index(x: Tensor, d: int, index: Tensor, source: Tensor) -> Tensor:
    name = "index_copy_"
    if index._k.dtype is dtypes.int32:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got Int")
    i = _vector_index(name, x, index, f"Index should have dimension 1 or 0 (got {len(index._s)})")
    if x._s and source._s and len(x._s) != len(source._s):
        raise IndexError(
            f"{name}(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({len(source._s)}), destination dimensionality "
            f"({len(x._s)})"
        )
    if source._k.dtype is not x._k.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) "
            f"{scalar_name_of(x)} and (source) {scalar_name_of(source)}"
        )
    check_device(x, source)
    ours, theirs = (*x._s[:d], *x._s[d + 1 :]), (*source._s[:d], *source._s[d + 1 :])
    if ours != theirs:
        raise RuntimeError(
            f"{name}(): Source/destination tensor must have same slice shapes. Destination slice "
            f"shape: {' '.join(map(str, ours))} at dimension {d} and source slice shape: "
            f"{' '.join(map(str, theirs))} at dimension {d}."
        )
    size = source._s[d] if source._s else 1
    if i._s[0] != size:
        raise IndexError(
            f"{name}(): Number of indices ({i._s[0]}) should be equal to source.size(dim) ({size})"
        )
    return i


def _write_slices(x: Tensor, d: int, i: Tensor, source: Any, op: str, wrap: bool = False) -> Tensor:
    target = _vector(x)
    _filled(target, d, i)
    if (not i._s[0] or not x._s.numel()) and not check_write(x, source):
        bump(x)
        return x
    if isinstance(source, Tensor):
        source = _vector(source)
    put_into(target, d, i, source, op, wrap)
    return x


@public(function=False)
@recorded_as("IndexAddBackward0")
def index_add_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: complex = 1
) -> Tensor:
    """Add ``alpha * source`` to the slices at the indices; every duplicate counts."""
    d = wrap_dim(dim, len(self._s))
    i = _add_index(self, d, index, source)
    if alpha != 1:
        source = core("mul")(source, fitted(alpha, self._k.dtype))
    return _write_slices(self, d, i, source, "add")


@public(out=SAME)
@composed(node="IndexAddBackward0")
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: complex = 1
) -> Tensor:
    """``index_add_`` on a copy."""
    return index_add_(core("clone")(input), dim, index, source, alpha=alpha)


@public(function=False)
@recorded_as("IndexCopyBackward0")
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write *source* into the slices at the indices."""
    d = wrap_dim(dim, len(self._s))
    i = _copy_index(self, d, index, source)
    return _write_slices(self, d, i, source, "set")


@public(out=SAME)
@composed(node="IndexCopyBackward0", autocast="cpu widest")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``index_copy_`` on a copy."""
    return index_copy_(core("clone")(input), dim, index, source)


@public(function=False)
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Write a number or a 0-dim tensor into the slices at the indices."""
    if isinstance(value, Tensor):
        if value._s:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{len(value._s)} dimension(s)."
            )
        value = operand(value, self._k)
    else:
        value = number_of("index_fill_", "value", 3, value)
        if isinstance(value, complex) and not self._k.dtype.is_complex:
            raise RuntimeError(
                "index_fill_(): Converting complex Scalar to non-complex type is not supported"
            )
        value = fitted(value, self._k.dtype)
    if index._k.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index._s) > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    d = wrap_dim(dim, len(self._s))
    i = _vector(_index("index_fill_", index, self))
    if self._b is not None and repeated_dims(self):
        _filled(self, d, i)
        assign_at(Indexed(self, [(d, d, i)]), value)
        return self
    if isinstance(value, Tensor):
        if (GRAD.on or THREAD.on) and edge_of(value) is not None:
            return in_place(self, _slices_replaced, (d, i, value))
        value = value.expand((*self._s[:d], i._s[0], *self._s[d + 1 :])) if self._s else value
    return _write_slices(self, d, i, value, "set", wrap=True)


def _slices_replaced(x: Tensor, d: int, i: Tensor, value: Tensor) -> Tensor:
    """The value in the slices at the indices: it counts once where an index comes twice."""
    target = _vector(x)
    _filled(target, d, i)
    chosen = from_array(x._k.bool.full((target._s[d],), False), x._k.bool)
    put_into(chosen, 0, i, True, "set", True)
    shape = tuple(n if at == d else 1 for at, n in enumerate(target._s))
    r = core("where")(core("view")(chosen, shape), value, target)
    return r if x._s else core("view")(r, ())


@public()
@composed(
    node=lambda input, dim, index, value: f"IndexFillBackward{isinstance(value, Tensor):d}",
    layout="order",
    operands=1,
)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``index_fill_`` on a copy."""
    return index_fill_(core("clone")(input), dim, index, value)
