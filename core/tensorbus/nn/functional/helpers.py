"""Helpers of PyTorch's ``nn.functional`` that programs import: attention, checks of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import _reduction as _Reduction  # noqa: F401 -- a name that programs import
from tensorbus.nn import grad  # noqa: F401 -- as is this one
from tensorbus.nn.functional.activations import _get_softmax_dim  # noqa: F401
from tensorbus.nn.functional.linear import linear
from tensorbus.nn.functional.multihead import canonical_mask, check_ranks
from tensorbus.nn.functional.normalization import verify_spatial_size
from tensorbus.nn.modules.utils import (  # noqa: F401 -- and these
    _list_with_default,
    _pair,
    _single,
    _triple,
)

_canonical_mask = canonical_mask
_mha_shape_check = check_ranks
_verify_spatial_size = verify_spatial_size


def _none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor, None of None; RuntimeError for anything else."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Queries, keys and values, projected by the three parts of *w* (3 E, E) and *b* (3 E)."""
    biases = [None] * 3 if b is None else b.chunk(3)
    return tuple(linear(x, m, c) for x, m, c in zip((q, k, v), w.chunk(3), biases, strict=True))


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, projected to the size of the queries.

    AssertionError for a weight or bias of other sizes.
    """
    size = q.size(-1)
    parts = (("w_q", w_q, q), ("w_k", w_k, k), ("w_v", w_v, v))
    for name, weight, x in parts:
        wanted = (size, x.size(-1))
        if tuple(weight.shape) != wanted:
            raise AssertionError(f"expecting {name} shape of {wanted}, but got {weight.shape}")
    for name, bias in (("b_q", b_q), ("b_k", b_k), ("b_v", b_v)):
        if bias is not None and tuple(bias.shape) != (size,):
            raise AssertionError(f"expecting {name} shape of {(size,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _verify_batch_size(size: Sequence[int]) -> None:
    """ValueError where each channel of an input of *size* has one value."""
    if math.prod([size[0], *size[2:]]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )
