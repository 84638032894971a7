"""Tensors cut apart into pieces that share memory and may be written to: views without a base."""

from __future__ import annotations

from collections.abc import Sequence

from tensorbus._base.modes import InferenceCell
from tensorbus._tensor.tensor import PERMUTED, Tensor
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.public import public
from tensorbus.ops.views.splitting import chunk, split, split_with_sizes


def _released(pieces: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """New views, made tensors of their own: what is written to one is recorded there alone."""
    for t in pieces:
        t._b = PERMUTED  # as of any part of a larger memory
        if type(t._c) is not InferenceCell:
            t._c = None
    return pieces


@public()
@composed(node="UnsafeSplitBackward0")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose pieces may be written to in place, although they share memory.

    Gradients are right as long as either only *input* or only the pieces are written to.

    >>> import tensorbus as torch
    >>> x = torch.ones(4, requires_grad=True)
    >>> a, b = torch.unsafe_chunk(x * 1, 2)
    >>> a.mul_(3).sum().backward()
    >>> x.grad
    tensor([3., 3., 0., 0.])
    """
    return _released(chunk(input, chunks, dim))


@public()
@composed(node="UnsafeSplitBackward0")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` whose pieces may be written to in place, although they share memory.

    Gradients are right as long as either only *input* or only the pieces are written to.

    >>> import tensorbus as torch
    >>> [piece.tolist() for piece in torch.unsafe_split(torch.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return _released(split(input, split_size, dim))


@public()
@composed(node="UnsafeSplitWithSizesBackward0")
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """``split_with_sizes`` whose pieces may be written to in place, although they share memory.

    Gradients are right as long as either only *input* or only the pieces are written to.

    >>> import tensorbus as torch
    >>> [piece.tolist() for piece in torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])]
    [[0], [1, 2]]
    """
    return _released(split_with_sizes(input, split_sizes, dim))
