"""Tensors cut apart along a dimension, into views."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.several_results import join_gradients
from tensorbus.op_engine.argument_checks import also_named, one_by_one
from tensorbus.op_engine.argument_values import as_int, ints_of
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import scalar_name_of
from tensorbus.rows.recipes import piece


def _pieces(x: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    cut = core("slice")
    starts = itertools.accumulate(sizes, initial=0)
    return tuple([cut(x, dim, at, at + n, 1) for at, n in zip(starts, sizes, strict=False)])


def _outputs(
    function: str, views: tuple[Tensor, ...], dim: int, stacked: bool = False
) -> tuple[Tensor, ...]:
    """The views, marked as outputs of one function: writes to them can't be recorded."""
    if views:
        join_gradients(views, dim, stacked)
    for i, view in enumerate(views):
        if (made := view._r) is not None and made:
            view._r = piece(made, function, i)
    return views


def _of_size(x: Tensor, size: int, dim: int) -> tuple[Tensor, ...]:
    """Views of pieces of one size, the last smaller where it must be; at least one."""
    cut, n = core("slice"), x._s[dim]
    starts = range(0, n, size) if n else (0,)
    pieces = [cut(x, dim, at, at + size if at + size < n else n, 1) for at in starts]
    return _outputs("Split", tuple(pieces), dim)


def _split_node(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> str:
    listed = not isinstance(split_size_or_sections, int)
    return "SplitWithSizesBackward0" if listed else "SplitBackward0"


@public(method=False)
@composed(node=_split_node)
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
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
        return _outputs("Split", (core("alias")(tensor),), d)
    return _of_size(tensor, size, d)


@public(name="split", function=False)
def _split_method(
    self: Tensor, split_size: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Views of pieces of one size (the last may be smaller), or of the sizes listed."""
    return split(self, split_size, dim)


@public()
@composed(node="SplitWithSizesBackward0")
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of the sizes listed, which must add up to that of the dimension."""
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
    return _outputs("SplitWithSizes", _pieces(input, d, sizes), d)


@public()
@composed(node="SplitBackward0")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most *chunks* pieces of one size, the last smaller where it must be."""
    if not input._s:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = wrap_dim(dim, len(input._s))
    size = -(-input._s[d] // chunks)
    if size == 0:
        return _outputs("SplitWithSizes", _pieces(input, d, [0] * chunks), d)
    return _of_size(input, size, d)


@public()
@also_named(indices_or_sections="sections indices tensor_indices_or_sections")
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of that many nearly equal pieces, or of the pieces between the indices listed."""
    if not input._s:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    if isinstance(indices_or_sections, Tensor):
        indices = indices_or_sections
        if len(indices._s) > 1 or indices._k.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be an int64 tensor of at most "
                f"one dimension, but got {scalar_name_of(indices)} of {len(indices._s)} dimensions"
            )
        indices_or_sections = indices.tolist()
    sections = as_int(indices_or_sections)
    if sections is not None:
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        small, larger = divmod(n, sections)
        return _pieces(input, d, [small + (at < larger) for at in range(sections)])
    if not isinstance(indices_or_sections, (tuple, list)):
        raise type_error(
            "tensor_split", "indices_or_sections", 2, "int, tuple of ints or Tensor",
            indices_or_sections,
        )  # fmt: skip
    between = ints_of(indices_or_sections, "tensor_split", "indices", 2)
    bounds = [0, *between, n]
    return tuple([_cut(input, d, start, stop) for start, stop in itertools.pairwise(bounds)])


def _cut(x: Tensor, d: int, start: int, stop: int) -> Tensor:
    start, stop, _ = slice(start, stop).indices(x._s[d])
    return core("slice")(x, d, start, max(start, stop), 1)


def _split_along(name: str, rank: int, dim_of: Any) -> None:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if len(input._s) < rank:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {rank} dimension, but got a tensor "
                f"with {len(input._s)} dimensions!"
            )
        d, sections = dim_of(input), indices_or_sections
        if isinstance(sections, Tensor) and as_int(sections) is None:
            raise type_error(name, "sections", 2, "int", sections)
        if (
            isinstance(sections, int)
            and not isinstance(sections, bool)
            and (not sections or input._s[d] % sections)
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the "
                f"dimension {input._s[d]} is not divisible by the split_size {sections}!"
            )
        return tensor_split(input, sections, d)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "Views of that many equal pieces, or of the pieces between the indices listed, along the "
        "dimension that the stack of that name joins."
    )
    public()(
        one_by_one("indices_or_sections")(
            also_named(indices_or_sections="sections indices")(function)
        )
    )


_split_along("hsplit", 1, lambda x: 0 if len(x._s) == 1 else 1)
_split_along("vsplit", 2, lambda x: 0)
_split_along("dsplit", 3, lambda x: 2)


@public()
@composed(node="UnbindBackward0")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices of a dimension, which disappears."""
    if not input._s:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, len(input._s))
    select = core("select")
    views = tuple([select(input, d, i) for i in range(input._s[d])])
    return _outputs("Unbind", views, d, stacked=True)
