"""Copies in which a view is written: ``select_scatter`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public


def _written(name: str, input: Tensor, src: Tensor, view_of: Callable[[Tensor], Any]) -> Tensor:
    """A copy of *input* in which a view of it holds *src*."""
    check_tensors(name, input=input, src=src)
    result = input.clone()
    view = view_of(result)
    if view._s != src._s:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._s)}, slice size = {list(view._s)}"
        )
    view.copy_(src)
    return result


@public(out=SAME)
@composed(node="SelectScatterBackward0")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of *input* with *src* at an index of a dimension.

    RuntimeError where *src* has not the shape of that slice.
    """
    return _written("select_scatter", input, src, lambda x: x.select(dim, index))


@public(out=SAME)
@composed(node="SliceScatterBackward0")
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy of *input* with *src* at the indices from *start* to *end* of a dimension.

    RuntimeError where *src* has not the shape of that slice, or *step* is not above 0.
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")

    def view_of(x: Tensor) -> Tensor:
        moved = x.movedim(dim, 0)[slice(start, end, step)]
        return moved.movedim(0, dim)

    return _written("slice_scatter", input, src, view_of)


@public(out=SAME)
@composed(node="DiagonalScatterBackward0")
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of *input* with *src* on a diagonal.

    RuntimeError where *src* has not the shape of that diagonal.
    """
    return _written("diagonal_scatter", input, src, lambda x: x.diagonal(offset, dim1, dim2))


@public(out=SAME)
@composed(node="AsStridedScatterBackward0")
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy of *input* with *src* at the elements that size, strides and offset select.

    RuntimeError where *src* is not of that size.
    """
    return _written(
        "as_strided_scatter",
        input,
        src,
        lambda x: FUNCTIONS["as_strided"](x, size, stride, storage_offset),
    )
