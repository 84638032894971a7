"""``hash_tensor``: the bits of a tensor's elements, joined by exclusive or."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import kept, wrap_dims
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public


@public(out=SAME)
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the elements' bits along some dimensions, all by default, as uint64.

    Floating-point numbers count as float64, others as int64. *mode* is 0, there are no others.

    RuntimeError for another mode and, without *dim*, for no elements; IndexError for dimensions
    without elements; NotImplementedError for complex numbers.
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input._k.dtype.is_complex:
        raise not_implemented("xor_sum_cpu", input)
    rank, shape = len(input._s), tuple(input._s)
    every = dim is None or dim == ()
    dims = tuple(range(rank)) if every else wrap_dims(dim, rank)
    empty = [d for d in dims if rank and not shape[d]]
    if empty and every:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    if empty:
        raise IndexError(f"hash_tensor: Expected reduction dim {empty[0]} to have non-zero size.")
    x = input.detach()
    bits = x.double().view(dtypes.int64) if x._k.dtype.is_floating_point else x.long()
    others = tuple(d for d in range(rank) if d not in dims)
    rest = tuple(shape[d] for d in others)
    if rank:
        count = math.prod(shape[d] for d in dims)
        bits = _joined(bits.permute(*others, *dims).reshape(*rest, count))
    return bits.reshape(kept(shape, dims) if keepdim else rest).view(dtypes.uint64)


def _joined(x: Tensor) -> Tensor:
    """The exclusive or along the last dimension, by halves."""
    while (n := x._s[-1]) > 1:
        half = n // 2
        y = core("bitwise_xor")(x[..., :half], x[..., half : 2 * half])
        if n % 2:
            y[..., 0] ^= x[..., -1]
        x = y
    return x[..., 0]
