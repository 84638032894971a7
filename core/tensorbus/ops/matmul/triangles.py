"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors, not_implemented, whole_number
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.options import Options, factory
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import inplace_form, public
from tensorbus.ops.creation.factories import zeros
from tensorbus.ops.creation.from_data import host_array
from tensorbus.ops.views.strided import diagonal
from tensorbus.rows.registry import row

# fmt: off
row("tril", "x:T, offset",
    doc="*x* with zeros above the diagonal *offset* of its last two dimensions.",
    composite=lambda F, x, offset: F.where(below(F, x, offset), x, F.number(0)),
    x=lambda F, g, offset: F.tril(g, offset))
row("triu", "x:T, offset",
    doc="*x* with zeros below the diagonal *offset* of its last two dimensions.",
    composite=lambda F, x, offset: F.where(below(F, x, offset - 1), F.number(0), x),
    x=lambda F, g, offset: F.triu(g, offset))
# fmt: on


def below(F: Any, x: Any, offset: int) -> Any:
    """Where a matrix's index is on or below a diagonal."""
    rows, columns = x.shape[-2:]
    offset = min(max(offset, -rows - 1), columns)  # beyond these nothing changes
    index = F.i32 if max(rows, columns) < 1 << 30 else F.i64  # half the bytes are half the time
    down = index.view(index.arange(rows, offset, 1), (rows, 1))
    return index.le(index.arange(columns, 0, 1), down)


def _triangle(name: str, input: Tensor, diagonal: int) -> Tensor:
    check_tensors(name, input=input)
    if len(input._s) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return core(name)(input, int(diagonal)) if input._s.numel() else input.clone()


@public(out=SAME)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices (..., n, m) with zeros above a diagonal, counted to the right from the main."""
    return _triangle("tril", input, diagonal)


@public(out=SAME)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices (..., n, m) with zeros below a diagonal, counted to the right from the main."""
    return _triangle("triu", input, diagonal)


METHODS["tril_"] = inplace_form(tril, "tril_")
METHODS["triu_"] = inplace_form(triu, "triu_")


def _indices(row: Any, col: Any, offset: Any, options: Options) -> Any:
    for position, (what, size) in enumerate((("row", row), ("col", col)), 1):
        if whole_number(options.name, what, position, size) < 0:
            raise RuntimeError(f"{what} must be non-negative, got{size}")
    k = options.kind(dtypes.int64)
    if k.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(
            f"\"{options.name}\" not implemented for '{scalar_name(k.dtype)}': the indices are "
            "int32 or int64"
        )
    lower = options.name == "tril_indices"
    lines = []
    for i in range(row):
        edge = min(max(i + offset + (1 if lower else 0), 0), col)
        columns = range(edge) if lower else range(edge, col)
        lines.append((i, columns))
    flat = [[i for i, columns in lines for _ in columns], [j for _, cs in lines for j in cs]]
    host, _ = host_array(flat, k.dtype)
    return k.from_host(host)


@factory()
def tril_indices(row: int, col: int, offset: int = 0, *, options: Options) -> Any:
    """The indices (2, n) on and below a diagonal of a matrix, row by row."""
    return _indices(row, col, offset, options)


@factory()
def triu_indices(row: int, col: int, offset: int = 0, *, options: Options) -> Any:
    """The indices (2, n) on and above a diagonal of a matrix, row by row."""
    return _indices(row, col, offset, options)


# -- diagonals -------------------------------------------------------------------------------
@public()
@composed(node="DiagEmbedBackward0")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension on a diagonal of new matrices that are zero elsewhere."""
    check_tensors("diag_embed", input=input)
    rank = len(input._s) + 1
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input._s[-1] + abs(offset)
    shape = list(input._s[:-1])
    for d in sorted((a, b)):
        shape.insert(d, n)
    out = zeros(tuple(shape), dtype=input._k.dtype, device=input._k.device)
    diagonal(out, offset, a, b).copy_(input)
    return out


@public(out=SAME)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a matrix's diagonal, or a matrix's diagonal as a vector."""
    check_tensors("diag", input=input)
    if len(input._s) == 1:
        return diag_embed(input, diagonal)
    if len(input._s) == 2:
        return _diagonal_copy(input, diagonal)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {len(input._s)}D")


@composed(node="DiagonalBackward0_copy")
def _diagonal_copy(x: Tensor, offset: int) -> Tensor:
    return core("clone")(diagonal(x, offset))


@public()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as the diagonal of a matrix."""
    check_tensors("diagflat", input=input)
    return diag_embed(input.reshape(-1), offset)


@public(function=False)
def fill_diagonal_(self: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Write one value to the main diagonal; *wrap* begins it anew below a tall matrix.

    RuntimeError for fewer than two dimensions, or sizes that differ where there are more.
    """
    rank = len(self._s)
    if rank < 2:
        raise RuntimeError("dimensions must larger than 1")
    if rank > 2 and len(set(self._s)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if not self._s.numel():
        return self
    strides = self._k.strides(self._a)
    n, step = min(self._s), sum(strides)
    rows = [0]
    if wrap and rank == 2 and self._s[0] > self._s[1] + 1:
        rows = list(range(0, self._s[0], self._s[1] + 1))
    for top in rows:
        length = min(n, self._s[0] - top)
        offset = self._k.layout(self._a)[1] + top * strides[0]
        core("strided")(self, (length,), (step,), offset).fill_(fill_value)
    return self


@public()
@composed(node="TraceBackward0", autocast="cpu float32")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's main diagonal."""
    check_tensors("trace", input=input)
    if len(input._s) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(input._s)}")
    if input._k.dtype is dtypes.bool:
        raise not_implemented("trace", input)
    return diagonal(input).sum()
