"""Tensors joined, cut apart, repeated and turned around."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from tensorbus import dtypes
from tensorbus._tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.errors import device_error
from tensorbus.kinds import kind_of
from tensorbus.modes import RARE
from tensorbus.ops.casting import to_kind
from tensorbus.ops.dims import shape_argument, wrap_dim
from tensorbus.ops.generate import core
from tensorbus.ops.promotion import result_type
from tensorbus.ops.public import public
from tensorbus.ops.slow import edge_of


class CatBackward0(Node):
    """Each input's gradient is its part of the result's."""

    __slots__ = ("dim", "inputs", "sizes")
    op = "cat"
    inputs: tuple[Any, ...]
    sizes: tuple[int, ...]
    dim: int

    def edges(self) -> tuple[Any, ...]:
        return self.inputs

    def run(self, g: Any) -> tuple[Any, ...]:
        return self._parts(self.k, g)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self._parts(self.k.T, g)

    def _parts(self, F: Any, g: Any) -> tuple[Any, ...]:
        pairs: list[Any] = []
        at = 0
        for edge, n in zip(self.inputs, self.sizes, strict=True):
            pairs += (edge, None if edge is None else F.slice(g, self.dim, at, at + n, 1))
            at += n
        return tuple(pairs)


def _sequence(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    for position, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got {type(x).__name__}"
            )
    return list(tensors)


@public(out=True, method=False, aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along a dimension; the other extents must be equal.

    Dtypes are promoted; empty vectors are left out. RuntimeError where extents differ.

    >>> import tensorbus
    >>> tensorbus.cat((tensorbus.ones(2), tensorbus.zeros(1)))
    tensor([1., 1., 0.])
    """
    given = _sequence("cat", tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    k = given[0]._k
    if any(x._k is not k for x in given):
        for x in given:
            if x._k.device is not k.device:
                raise device_error(k.device, x._k.device)
        k = kind_of(k.device, result_type(*given))
        given = [to_kind(x, k) for x in given]
    if k.override is not None or RARE.on:
        return _pairwise(given, dim)
    for position, x in enumerate(given):
        if not x._s:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    parts = [x for x in given if len(x._s) != 1 or x._s[0]]
    if not parts:
        return core("clone")(given[0])
    first = parts[0]._s
    d = wrap_dim(dim, len(first))
    _check_extents(parts, given, d)
    o = from_array(k.concatenate([x._a for x in parts], d), k)
    if (GRAD.on or THREAD.on) and any(x._e is not None for x in parts):
        n = CatBackward0()
        n.q = next_sequence()
        n.k = k
        n.h = None
        n.inputs = tuple([edge_of(x) for x in parts])
        n.sizes = tuple([x._s[d] for x in parts])
        n.dim = d
        o._e = n
    return o


def _check_extents(parts: list[Tensor], given: list[Tensor], d: int) -> None:
    first = parts[0]._s
    for x in parts[1:]:
        s = x._s
        if s is first or (s[:d] == first[:d] and s[d + 1 :] == first[d + 1 :]):
            continue
        if len(s) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(s)}"
            )
        wrong = next(at for at in range(len(s)) if at != d and s[at] != first[at])
        position = next(i for i, y in enumerate(given) if y is x)
        raise RuntimeError(
            f"Sizes of tensors must match except in dimension {d}. Expected size {first[wrong]} "
            f"but got size {s[wrong]} for tensor number {position} in the list."
        )


def _pairwise(given: list[Tensor], dim: int) -> Tensor:
    """Joined two by two, so that modes and overriding classes see an op they know."""
    result = given[0]
    for x in given[1:]:
        result = core("cat")(result, x, wrap_dim(dim, len(x._s)))
    return result


@public(out=True, method=False)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    given = _sequence("stack", tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0]._s
    for position, x in enumerate(given):
        if x._s != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x._s)} at entry {position}"
            )
    d = wrap_dim(dim, len(first) + 1)
    lift = core("unsqueeze")
    return cat([lift(x, d) for x in given], d)


def _at_least(tensors: Any, name: str, rank: int) -> list[Tensor]:
    given = _sequence(name, tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return [_ranked(x, rank) for x in given]


def _ranked(x: Tensor, rank: int) -> Tensor:
    """As ``atleast_1d``, ``2d`` and ``3d`` add dimensions: in front, the third one behind."""
    while len(x._s) < rank:
        x = core("unsqueeze")(x, 2 if len(x._s) == 2 else 0)
    return x


@public(out=True, method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the columns: dimension 1, or 0 for vectors."""
    given = _at_least(tensors, "hstack", 1)
    return cat(given, 0 if len(given[0]._s) == 1 else 1)


@public(out=True, method=False, aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the rows; vectors are rows."""
    return cat(_at_least(tensors, "vstack", 2), 0)


@public(out=True, method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 2."""
    return cat(_at_least(tensors, "dstack", 3), 2)


@public(out=True, method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the columns; vectors are columns."""
    given = _sequence("column_stack", tensors)
    return hstack([x if len(x._s) > 1 else x.reshape(-1, 1) for x in given])


# -- cut apart -------------------------------------------------------------------------------
def _pieces(x: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    cut = core("slice")
    starts = itertools.accumulate(sizes, initial=0)
    return tuple([cut(x, dim, at, at + n, 1) for at, n in zip(starts, sizes, strict=False)])


@public(method=False)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of one size (the last may be smaller), or of the sizes listed."""
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    size = split_size_or_sections
    if not tensor._s:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    d = wrap_dim(dim, len(tensor._s))
    n = tensor._s[d]
    if size == 0:
        if n:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        return (core("alias")(tensor),)
    count = max(-(-n // size), 1)
    return _pieces(tensor, d, [min(size, n - at * size) for at in range(count)])


@public(name="split", function=False)
def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of one size (the last may be smaller), or of the sizes listed."""
    return split(self, split_size, dim)


@public()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of the sizes listed, which must add up to the extent."""
    if not input._s:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, len(input._s))
    sizes = [operator.index(n) for n in split_sizes]
    if any(n < 0 for n in sizes) or sum(sizes) != input._s[d]:
        if any(n < 0 for n in sizes):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={sizes}"
            )
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input._s[d]} (input tensor's "
            f"size at dimension {d}), but got split_sizes={sizes}"
        )
    return _pieces(input, d, sizes)


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most *chunks* pieces of one size, the last smaller where it must be."""
    if not input._s:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = wrap_dim(dim, len(input._s))
    size = -(-input._s[d] // chunks)
    if size == 0:
        return _pieces(input, d, [0] * chunks)
    return split(input, size, d)


@public()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of that many nearly equal pieces, or of the pieces between the places listed."""
    if not input._s:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise RuntimeError(
                f"number of sections must be larger than 0, got {indices_or_sections}"
            )
        small, larger = divmod(n, indices_or_sections)
        return _pieces(input, d, [small + (at < larger) for at in range(indices_or_sections)])
    bounds = [0, *indices_or_sections, n]
    return tuple([_cut(input, d, start, stop) for start, stop in itertools.pairwise(bounds)])


def _cut(x: Tensor, d: int, start: int, stop: int) -> Tensor:
    start, stop, _ = slice(start, stop).indices(x._s[d])
    return core("slice")(x, d, start, max(start, stop), 1)


def _split_along(name: str, dim_of: Any) -> None:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        return tensor_split(input, indices_or_sections, dim_of(input))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "``tensor_split`` along one dimension, as the stack of that name joins."
    public()(function)


_split_along("hsplit", lambda x: 0 if len(x._s) == 1 else 1)
_split_along("vsplit", lambda x: 0)
_split_along("dsplit", lambda x: 2)


@public()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices of a dimension, which disappears."""
    if not input._s:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, len(input._s))
    select = core("select")
    return tuple([select(input, d, i) for i in range(input._s[d])])


# -- repeated --------------------------------------------------------------------------------
@public(function=False)
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Copies side by side: that many along each dimension; further ones come in front."""
    times = shape_argument(repeats)
    if len(times) < len(self._s):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    if any(n < 0 for n in times):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(times)}")
    own = (1,) * (len(times) - len(self._s)) + tuple(self._s)
    apart = tuple(itertools.chain.from_iterable((1, n) for n in own))
    wanted = tuple(itertools.chain.from_iterable(zip(times, own, strict=True)))
    spread = self.reshape(apart).expand(wanted)
    whole = core("clone")(spread)
    return core("view")(whole, tuple(t * n for t, n in zip(times, own, strict=True)))


@public()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """``repeat`` where missing counts are 1."""
    times = shape_argument(dims)
    return repeat(input, (1,) * (len(input._s) - len(times)) + times)


@public()
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice several times: a count for all, or one for each; flat without *dim*.

    With one tensor alone: the place i as often as ``input[i]`` says.
    """
    if repeats is None:
        return _counted(input)
    if dim is None:
        input, dim = input.reshape(-1), 0
    x = input if input._s else core("view")(input, (1,))
    d = wrap_dim(dim, len(x._s))
    n = x._s[d]
    if not isinstance(repeats, Tensor):
        repeats = operator.index(repeats)
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        raised = core("unsqueeze")(x, d + 1)
        spread = raised.expand((*x._s[: d + 1], repeats, *x._s[d + 1 :]))
        return core("clone")(spread).reshape((*x._s[:d], n * repeats, *x._s[d + 1 :]))
    if len(repeats._s) > 1:
        raise RuntimeError("repeat_interleave only accept 0D or 1D tensors as repeats")
    if repeats._s.numel() == 1:
        repeats = repeats.reshape(1).expand(n)
    if repeats._s[0] != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._s[0]} and input.size({d}) = {n}"
        )
    return core("take")(x, d, _counted(repeats), False)


def _counted(repeats: Tensor) -> Tensor:
    """Each place as often as its count says: marks at the ends, and their running count."""
    if repeats._k.dtype.category != dtypes.INTEGER:
        raise RuntimeError("repeats has to be Long or Int tensor")
    k = repeats._k.i64
    if not repeats._s[0]:
        return from_array(k.empty((0,)), k)
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
def flip(input: Tensor, *dims: Any) -> Tensor:
    """The order of some dimensions reversed, in a copy."""
    rank = len(input._s)
    wanted = [wrap_dim(d, rank) for d in shape_argument(dims)]
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


@public()
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements shifted along some dimensions, those at the end going to the front; or flat."""
    moves = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    along = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not along and len(moves) == 1:
        return roll(input.reshape(-1), moves, 0).reshape(tuple(input._s))
    if not moves:
        raise RuntimeError("`shifts` required")
    if len(moves) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}"
        )
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
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
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
