"""Elements repeated, and dimensions turned around."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import dim_error
from tensorbus._base.size import check_storage
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.argument_checks import Given
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.arguments import check_device, not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import list_argument, wrap_dim
from tensorbus.op_engine.public import public
from tensorbus.ops.joining.joining import cat
from tensorbus.rows.registry import row

# fmt: off
row("flip", "x:T, dims",
    doc="*x* with the order of its elements along *dims* reversed.",
    keeps_order=True, composite=lambda F, x, dims: _flip(F, x, dims),
    x=lambda F, g, dims: F.flip(g, dims))
# fmt: on


@public(function=False)
@composed(node="RepeatBackward0")
def repeat(self: Tensor, *args: Any, repeats: Any = None) -> Tensor:
    """Copies side by side: that many along each dimension; further ones come in front."""
    times = list_argument("repeat", "repeats", args, repeats)
    if len(times) < len(self._s):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    own = (1,) * (len(times) - len(self._s)) + tuple(self._s)
    shape = [t * n for t, n in zip(times, own, strict=True)]
    if negative := [n for n in shape if n < 0]:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative[0]}: {shape}"
        )
    check_storage(tuple(shape))
    # Only dimensions that are repeated are taken apart, for there may be 64 in all.
    pairs = list(zip(times, own, strict=True))
    apart = tuple(itertools.chain.from_iterable((n,) if t == 1 else (1, n) for t, n in pairs))
    wanted = tuple(itertools.chain.from_iterable((n,) if t == 1 else (t, n) for t, n in pairs))
    spread = self.reshape(apart).expand(wanted)
    whole = core("clone")(spread)
    return core("view")(whole, tuple(shape))


@public()
def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """``repeat`` where missing counts are 1."""
    times = list_argument("tile", "dims", args, dims)
    return repeat(input, (1,) * (len(input._s) - len(times)) + times)


@public(method=False, forms=("repeats, dim=, output_size=", "output_size="))
def repeat_interleave(
    input: Tensor,
    repeats: Given[int | Tensor] = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each slice several times: a count for all, or one for each; flat without *dim*.

    With one tensor alone: the index i as often as ``input[i]`` says.
    """
    if repeats is None:
        return _counted(input, output_size)
    if dim is not None and not input._s:
        raise (
            dim_error(dim, 0)
            if not -1 <= dim <= 0
            else IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        )
    if dim is None:
        input, dim = input.reshape(-1), 0
    x = input if input._s else core("view")(input, (1,))
    d = wrap_dim(dim, len(x._s))
    n = x._s[d]
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        _check_total(n * repeats, output_size)
        check_storage((x._s.numel(), repeats))
        raised = core("unsqueeze")(x, d + 1)
        spread = raised.expand((*x._s[: d + 1], repeats, *x._s[d + 1 :]))
        return core("clone")(spread).reshape((*x._s[:d], n * repeats, *x._s[d + 1 :]))
    check_device(x, repeats)
    if len(repeats._s) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats._s.numel() == 1:
        repeats = repeats.reshape(1).expand(n)
    if repeats._s[0] != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._s[0]} and input.size({d}) = {n}"
        )
    indices = _counted(repeats, output_size)
    _check_total(indices._s[0], output_size)
    return core("take")(x, d, indices, False)


@public(function=False, name="repeat_interleave")
def _repeat_interleave(
    self: Tensor, repeats: int | Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice several times: a count for all, or one for each; flat without *dim*."""
    return repeat_interleave(self, repeats, dim, output_size=output_size)


def _check_total(total: int, output_size: int | None) -> None:
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {total} but got {output_size}"
        )


def _of_known_size(repeats: Tensor, output_size: int | None) -> Tensor:
    """Indices where no count can be read."""
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    if output_size < 0:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size {output_size}, a size is wanted"
        )
    k = repeats._k.i64
    return from_array(k.empty((output_size,)), k)


def _counted(repeats: Tensor, output_size: int | None) -> Tensor:
    """Each index as often as its count says: marks at the ends, and their running count."""
    if repeats._k.dtype not in (dtypes.int32, dtypes.int64):
        raise not_implemented("repeat_interleave_cpu", repeats)
    if len(repeats._s) != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    k = repeats._k.i64
    if not repeats._s[0]:
        return from_array(k.empty((0,)), k)
    if not k.has_values:
        return _of_known_size(repeats, output_size)
    counts = repeats.to(dtypes.int64)
    if int(counts.min().item()) < 0:
        raise RuntimeError("repeats can not be negative")
    ends = core("cumsum")(counts, 0)
    total = int(ends[-1].item())
    marks = k.zeros((total + 1,))
    k.put(marks, 0, ends._a, k.full(tuple(ends._s), 1), "add", False)
    found = k.cumsum(k.slice(marks, 0, 0, total, 1), 0) if total else k.empty((0,))
    return from_array(k.as_array(found), k)


# -- turned around ---------------------------------------------------------------------------
@public()
@composed(layout="order", operands=1)
def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The order of some dimensions reversed, in a copy."""
    rank = len(input._s)
    wanted = [wrap_dim(d, rank) for d in list_argument("flip", "dims", args, dims)]
    for d in wanted:
        if wanted.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    if not wanted or not input._s.numel() or not rank:
        return core("clone")(input)
    return core("flip")(input, tuple(sorted(wanted)))


@public()
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    if len(input._s) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@public()
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    if not input._s:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def _one_or_more(ints: Any) -> tuple[Any, ...]:
    one = as_int(ints)
    return tuple(ints) if one is None else (one,)


@public()
@composed(node="RollBackward0")
def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = ()
) -> Tensor:
    """Elements shifted along some dimensions, those at the end going to the front; or flat."""
    moves, along = _one_or_more(shifts), _one_or_more(() if dims is None else dims)
    if not along and len(moves) == 1:
        return roll(input.reshape(-1), moves, 0).reshape(tuple(input._s))
    if not moves:
        raise RuntimeError("`shifts` required")
    if len(moves) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}"
        )
    if not input._s.numel():
        return core("clone")(input)
    result = input
    for shift, dim in zip(moves, along, strict=True):
        d = wrap_dim(dim, len(input._s))
        n = result._s[d]
        if n:
            at = -shift % n
            cut = core("slice")
            result = cat((cut(result, d, at, n, 1), cut(result, d, 0, at, 1)), d)
    return core("clone")(result) if result is input else result


@public()
@composed(node="Rot90Backward0")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A quarter turn in the plane of two dimensions, *k* times, from the first to the second."""
    rank = len(input._s)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    a, b = (wrap_dim(d, rank) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 0:
        return core("clone")(input)
    if turns == 2:
        return flip(input, a, b)
    turned = flip(input, b if turns == 1 else a)
    return turned.transpose(a, b)


def _flip(F: Any, x: Any, dims: Any) -> Any:
    shape = x.shape
    if F.backend.traits.negative_strides:
        for d in dims:
            if shape[d] > 1:
                x = F.slice(x, d, shape[d] - 1, None, -1)
        return F.clone(x)
    for d in dims:
        if shape[d] > 1:
            x = F.take(x, d, F.i64.arange(shape[d], shape[d] - 1, -1), False)
    return F.clone(x)
