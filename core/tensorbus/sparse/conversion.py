"""Between layouts: dense, coordinates, compressed rows and columns, blocks."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._base import dtypes, formats, registered
from tensorbus._base.dtypes import as_dtype
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.sparse import coordinates
from tensorbus.sparse.invariants import BLOCKED
from tensorbus.sparse.tensor import (
    Compressed,
    Coo,
    SparseTensor,
    of_parts,
    place_of,
    sparse_op,
    sparse_tensor,
    unsupported,
)

BY_COLUMNS = (formats.sparse_csc, formats.sparse_bsc)


# -- from compressed ---------------------------------------------------------------------------
def _from_compressed(a: Compressed) -> Coo:
    """Coordinates of all elements; those of blocks too."""
    batch = tuple(a.compressed._s)[:-1]
    n, lines, nnz = math.prod(batch), a.compressed._s[-1] - 1, a.plain._s[-1]
    starts = a.compressed.reshape(n, lines + 1).to(dtypes.int64)
    counts = (starts[:, 1:] - starts[:, :-1]).reshape(-1)
    every = tensorbus.arange(n * lines, device=counts.device)
    line = tensorbus.repeat_interleave(every, counts)
    at = [line % lines if lines else line, a.plain.reshape(-1).to(dtypes.int64)]
    if a.layout in BY_COLUMNS:
        at.reverse()
    values = a.values.reshape(n * nnz, *tuple(a.values._s)[len(batch) + 1 :])
    lead = list(coordinates.unflattened(line // lines if lines else line, batch).unbind(0))
    shape = tuple(a.shape)
    if a.layout in BLOCKED:
        at, lead, values = _opened(at, lead, values)
    ordered = a.layout is formats.sparse_csr
    return Coo(tensorbus.stack([*lead, *at]), values, shape, ordered)


def _opened(
    at: list[Tensor], lead: list[Tensor], values: Tensor
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """The elements of blocks, one by one."""
    rows, columns = tuple(values._s)[1:3]
    device = values.device
    i = tensorbus.arange(rows, device=device).reshape(1, rows, 1)
    j = tensorbus.arange(columns, device=device).reshape(1, 1, columns)
    zero = tensorbus.zeros(1, rows, columns, dtype=dtypes.int64, device=device)
    row = (at[0].reshape(-1, 1, 1) * rows + i + zero).reshape(-1)
    column = (at[1].reshape(-1, 1, 1) * columns + j + zero).reshape(-1)
    lead = [(x.reshape(-1, 1, 1) + zero).reshape(-1) for x in lead]
    return [row, column], lead, values.reshape(-1, *tuple(values._s)[3:])


def coo_array(x: Any) -> Coo:
    """The coordinates of a sparse tensor of any layout."""
    if not isinstance(x, SparseTensor):
        raise RuntimeError("expected a sparse tensor, but got a Strided one: use .to_sparse()")
    return x._a if type(x._a) is Coo else _from_compressed(x._a)


def coalesced_array(x: Any) -> Coo:
    """The coordinates of a sparse tensor, each once and in order."""
    return coordinates.coalesced(coo_array(x))


# -- to compressed -----------------------------------------------------------------------------
def compressed(a: Coo, layout: formats.layout, blocksize: Any = None) -> Any:
    """The tensor of a layout of compressed rows or columns for coordinates of a matrix."""
    if a.indices._s[0] != 2:
        raise RuntimeError(
            f"conversion from Sparse to {_spelled(layout)} for input tensors with sparse_dim() != "
            f"2 is not supported: it has {a.indices._s[0]} sparse dimensions"
        )
    if layout in BLOCKED:
        return _blocked(coordinates.coalesced(a), layout, blocksize)
    if layout in BY_COLUMNS:
        turned = Coo(a.indices.flip(0), a.values, _turned(a.shape), False)
        return _lined(coordinates.coalesced(turned), layout, a.values, a.shape)
    return _lined(coordinates.coalesced(a), layout, a.values, a.shape)


def _spelled(layout: formats.layout) -> str:
    return "".join(part.capitalize() for part in str(layout).removeprefix("torch.").split("_"))


def _turned(shape: Any) -> tuple[int, ...]:
    rows, columns, *rest = tuple(shape)
    return (columns, rows, *rest)


def _lined(a: Coo, layout: formats.layout, values: Tensor, shape: Any) -> Any:
    starts = coordinates.starts_of(a.indices[0], a.shape[0])
    return sparse_tensor(Compressed(layout, starts, a.indices[1], a.values, shape))


def _blocked(a: Coo, layout: formats.layout, blocksize: Any) -> Any:
    if blocksize is None:
        raise RuntimeError(
            f"conversion to {_spelled(layout)} requires blocksize: give (rows, columns) of a block"
        )
    name = f"dense_to_{str(layout).removeprefix('torch.')}"
    if len(blocksize) != 2:
        raise RuntimeError(
            f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}"
        )
    height, width = blocksize
    rows, columns = tuple(a.shape)[:2]
    if height <= 0 or width <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(blocksize)}")
    if rows % height or columns % width:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({height},{width})"
        )
    grid = (rows // height, columns // width)
    row, column = a.indices.unbind(0)
    lines = [row // height, column // width]
    inside = (row % height) * width + column % width
    by_columns = layout in BY_COLUMNS
    if by_columns:
        lines, grid = lines[::-1], grid[::-1]
    flat, groups = coordinates.grouped(
        coordinates.flat_indices(tensorbus.stack(lines), grid), math.prod(grid)
    )
    block = height * width
    values = coordinates.added_up(a.values, groups * block + inside, flat._s[0] * block)
    values = values.reshape(flat._s[0], height, width, *tuple(a.values._s)[1:])
    at = coordinates.unflattened(flat, grid)
    starts = coordinates.starts_of(at[0], grid[0])
    return sparse_tensor(Compressed(layout, starts, at[1], values, a.shape))


# -- from dense --------------------------------------------------------------------------------
def from_dense(x: Tensor, sparse_dim: int) -> Coo:
    """The elements, or dense parts, of a dense tensor that are not zero."""
    shape = tuple(x.shape)
    lead = shape[:sparse_dim]
    flat = x.reshape(math.prod(lead), -1) if x.numel() else x.reshape(math.prod(lead), 0)
    kept = (flat.detach() != 0).any(1).nonzero()[:, 0]
    values = x.reshape(math.prod(lead), *shape[sparse_dim:]).index_select(0, kept)
    return Coo(coordinates.unflattened(kept, lead), values, shape, True)


_LAYOUTS = {
    "to_sparse_csr": formats.sparse_csr,
    "to_sparse_csc": formats.sparse_csc,
    "to_sparse_bsr": formats.sparse_bsr,
    "to_sparse_bsc": formats.sparse_bsc,
}


def _in_layout(a: Coo, layout: Any, blocksize: Any) -> Any:
    if layout is None or layout is formats.sparse_coo:
        return sparse_tensor(a)
    return compressed(a, layout, blocksize)


@registered.sparse_of_dense.provide
def of_dense(name: str, x: Tensor, **given: Any) -> Any:
    """What a method that is for sparse tensors gives for a dense one."""
    if name == "sparse_mask":
        return _masked(x, given["mask"])
    layout = _LAYOUTS.get(name, given.get("layout"))
    if layout is formats.strided:
        return x
    dims = given.get("sparse_dim")
    dense = given.get("dense_dim") or 0
    if dims is None:
        dims = len(x._s) - dense
    if not 0 <= dims <= len(x._s):
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{len(x._s)}] range, but {dims} is "
            "given"
        )
    if x._s and not dims:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    blocksize = given.get("blocksize")
    if dims > 2 and layout not in (None, formats.sparse_coo):
        return _batched(x, dims - 2, layout, blocksize)
    return _in_layout(from_dense(x, dims), layout, blocksize)


def _batched(x: Tensor, dims: int, layout: Any, blocksize: Any) -> Any:
    """A tensor of compressed lines for each matrix of a batch of *dims* dimensions."""
    batch, matrix = tuple(x.shape)[:dims], tuple(x.shape)[dims:]
    each = [compressed(from_dense(m, 2), layout, blocksize)._a for m in x.reshape(-1, *matrix)]
    if len({a.plain._s[0] for a in each}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts = []
    for part in zip(*(a.parts() for a in each), strict=True):
        joined = tensorbus.stack(part)
        parts.append(joined.reshape(*batch, *tuple(joined.shape)[1:]))
    starts, places, values = parts
    return sparse_tensor(Compressed(layout, starts, places, values, x.shape))


# -- the methods of sparse tensors -------------------------------------------------------------
@sparse_op("to_sparse")
def to_sparse(
    self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
    dense_dim: Any = None,
) -> Any:  # fmt: skip
    """The tensor in a sparse layout: coordinates where none is given."""
    wanted = formats.sparse_coo if layout is None else layout
    if wanted is self._a.layout and wanted not in BLOCKED:
        return self
    return _in_layout(coo_array(self), wanted, blocksize)


@sparse_op("to_sparse_coo")
def to_sparse_coo(self: Any) -> Any:
    """The tensor by coordinates."""
    return to_sparse(self)


@sparse_op("to_sparse_csr")
def to_sparse_csr(self: Any, dense_dim: Any = None) -> Any:
    """The tensor by compressed rows."""
    return to_sparse(self, layout=formats.sparse_csr)


@sparse_op("to_sparse_csc")
def to_sparse_csc(self: Any, dense_dim: Any = None) -> Any:
    """The tensor by compressed columns."""
    return to_sparse(self, layout=formats.sparse_csc)


@sparse_op("to_sparse_bsr")
def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    """The tensor by compressed rows of blocks."""
    return to_sparse(self, layout=formats.sparse_bsr, blocksize=blocksize)


@sparse_op("to_sparse_bsc")
def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    """The tensor by compressed columns of blocks."""
    return to_sparse(self, layout=formats.sparse_bsc, blocksize=blocksize)


@sparse_op("to_dense")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The dense tensor."""
    made = coordinates.to_strided(coo_array(self))
    name_node(made, "ToDenseBackward0")
    return made if dtype is None else made.to(dtype)


@sparse_op("sparse_mask")
def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements of *self* at the coordinates of *mask*."""
    if not isinstance(self, SparseTensor):
        return _masked(self, mask)
    if not isinstance(mask, SparseTensor):
        raise unsupported("sparse_mask", place_of(self))
    _same_size(self, mask)
    own, wanted = coalesced_array(self), coo_array(mask)
    sizes = coordinates.sparse_sizes(own)
    at, found = coordinates.places(
        coordinates.flat_indices(own.indices, sizes),
        coordinates.flat_indices(wanted.indices, sizes),
    )
    if not own.values._s[0]:
        values = tensorbus.zeros(
            at._s[0], *coordinates.dense_sizes(own), dtype=self.dtype, device=self.device
        )
    else:
        values = own.values.index_select(0, at)
        keep = found.reshape(-1, *(1,) * (len(values._s) - 1))
        values = tensorbus.where(keep, values, tensorbus.zeros_like(values))
    return _like_mask(values, mask, wanted)


def _masked(x: Tensor, mask: Any) -> Any:
    if not isinstance(mask, SparseTensor):
        raise NotImplementedError(
            f"Could not run 'aten::sparse_mask' with arguments from the "
            f"'{x._k.device.type.upper()}' backend: the mask must be a sparse tensor"
        )
    _same_size(x, mask)
    wanted = coo_array(mask)
    return _like_mask(coordinates.values_at(x, wanted.indices), mask, wanted)


def _like_mask(values: Tensor, mask: Any, wanted: Coo) -> Any:
    if type(mask._a) is Coo:
        return sparse_tensor(wanted.with_values(values))
    if mask._a.layout in BLOCKED:
        return _in_layout(wanted.with_values(values), mask._a.layout, tuple(mask._a.values._s)[1:3])
    return sparse_tensor(mask._a.with_values(values.reshape(mask._a.values.shape)))


def _same_size(x: Any, mask: Any) -> None:
    if x._s != mask._s:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(x._s)} but mask "
            f"has size {list(mask._s)}"
        )


# -- dtype and device --------------------------------------------------------------------------
def _moved(self: Any, device: Any, dtype: Any, copy: bool) -> Any:
    a = self._a
    device = self.device if device is None else tensorbus.device(device)
    d = as_dtype(dtype) or self.dtype
    if not copy and d is self.dtype and (device == self.device or (device.index is None
                                         and device.type == self.device.type)):  # fmt: skip
        return self
    values = a.values.to(device=device, dtype=d, copy=copy)
    return sparse_tensor(of_parts(a, [*(t.to(device) for t in a.parts()[:-1]), values]))


@sparse_op("to")
def to(
    self: Any, *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False,
    copy: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """The tensor with another dtype or on another device."""
    if not isinstance(self, SparseTensor):  # like a sparse one
        other = args[0]
        return self.to(device=other.device, dtype=other.dtype, copy=copy)
    for given in args:
        if isinstance(given, Tensor):
            device, dtype = given.device, given.dtype
        elif isinstance(given, dtypes.dtype):
            dtype = given
        elif not isinstance(given, bool):
            device = given
    return _moved(self, device, dtype, copy)


_CASTS = dict(
    half=dtypes.float16, float=dtypes.float32, double=dtypes.float64, bfloat16=dtypes.bfloat16,
    int=dtypes.int32, long=dtypes.int64, short=dtypes.int16, char=dtypes.int8, byte=dtypes.uint8,
    bool=dtypes.bool, cfloat=dtypes.complex64, cdouble=dtypes.complex128,
)  # fmt: skip
for _name, _dtype in _CASTS.items():
    sparse_op(_name)(lambda self, memory_format=None, d=_dtype: _moved(self, None, d, False))


@sparse_op("as_tensor")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """The tensor with another dtype or on another device, where one is given."""
    return _moved(data, device, dtype, False)


@sparse_op("cpu")
def cpu(self: Any, memory_format: Any = None) -> Any:
    """The tensor on the CPU."""
    return _moved(self, "cpu", None, False)


@sparse_op("cuda")
def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """The tensor on a device of type ``cuda``."""
    return _moved(self, device or "cuda", None, False)


@sparse_op("type")
def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor in another one."""
    if dtype is not None:
        return _moved(self, None, dtype, False)
    where = "" if self._k.device.type == "cpu" else f"{self._k.device.type}."
    return f"torch.{where}{'sparse.' if type(self._a) is Coo else 'sparse_csr.'}{self.dtype.legacy}"
