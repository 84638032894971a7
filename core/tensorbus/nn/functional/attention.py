"""Attention of queries to keys and values."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.attention_ways import WAYS
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.nn.functional.dropout import dropout
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.rows.layouts import broadcast_shapes

_SCORES = 1 << 22
"""How many scores are held at a time: more are computed in blocks of queries."""


@autocasts("lower")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T scale + mask) value: each query's mean of the values whose keys fit it.

    Shapes: (*, L, E), (*, S, E) and (*, S, V) to (*, L, V), where the leading dimensions broadcast.
    *attn_mask* broadcasts to (*, L, S): truth values say which keys a query sees, numbers are
    added. With *is_causal* query i sees the keys up to i. *dropout_p* is how likely a weight is
    zeroed, in evaluation too; *scale* is 1/sqrt(E) unless given. With *enable_gqa* each head of key
    and value, dimension -3, serves several of the query. A query that sees no key gets zeros. Where
    there are many scores they are computed, and for gradients computed again, in blocks of queries,
    so that memory grows with L and not with L S.

    RuntimeError for other ranks, dtypes or devices of one than the others, and for a mask beside
    *is_causal*.

    >>> q, k, v = tensorbus.ones(2, 4, 8), tensorbus.ones(2, 6, 8), tensorbus.ones(2, 6, 3)
    >>> tensorbus.nn.functional.scaled_dot_product_attention(q, k, v).shape
    torch.Size([2, 4, 3])

    Source: Vaswani et al., Attention is all you need (2017), and
    https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    first = 0 if is_causal else None
    return attention(query, key, value, attn_mask, dropout_p, first, scale, enable_gqa)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    first: int | None,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """``scaled_dot_product_attention``; query i sees the keys up to *first* + i, unless None."""
    _check(query, key, value, mask, dropout_p)
    if enable_gqa:
        key, value = (for_each_head(x, query) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    dtype = query.dtype
    wide = dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype
    q, k, v = query.to(wide) * factor, key.to(wide), value.to(wide)
    length, sources = q.shape[-2], k.shape[-2]
    rows = rows_at_a_time(math.prod(broadcast_shapes(q.shape[:-2], k.shape[:-2])) * sources)
    if length <= rows:
        return _attend(q, k, v, mask, first, dropout_p).to(dtype)
    found = []
    for start in range(0, length, rows):
        part = mask
        if part is not None and part.dim() > 1 and part.shape[-2] != 1:
            part = part[..., start : start + rows, :]
        # The keys behind a block's last query are seen by none of it.
        seen = sources if first is None else min(sources, max(0, start + rows + first))
        if part is not None and part.shape[-1] != 1:
            part = part[..., :seen]
        block = q[..., start : start + rows, :], k[..., :seen, :], v[..., :seen, :]
        later = None if first is None else start + first
        found.append(in_a_block(_attend, *block, part, later, dropout_p))
    return FUNCTIONS["cat"](found, -2).to(dtype)


def rows_at_a_time(scores: int) -> int:
    """How many queries a block has, for the number of scores of one."""
    return max(1, _SCORES // max(1, scores))


def in_a_block(attend: Any, *args: Any) -> Any:
    """What *attend* gives, without its scores where gradients would keep them."""
    if not is_grad_enabled() or not any(isinstance(t, Tensor) and t.requires_grad for t in args):
        return attend(*args)
    return registered.recomputed(attend, *args)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, first: int | None, dropout_p: float
) -> Tensor:
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        if mask.dtype is dtypes.bool:
            scores = scores.masked_fill(mask.logical_not(), -math.inf)
        else:
            scores = scores + mask
    if first is not None:
        shape = (q.shape[-2], k.shape[-2])
        later = q.new_ones(shape, dtype=dtypes.bool).triu(first + 1)
        scores = scores.masked_fill(later, -math.inf)
    if mask is None and (first is None or first >= 0):
        weights = FUNCTIONS["softmax"](scores, -1)
    else:
        weights, _ = safe_softmax(scores)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ v


def log_sum(scores: Tensor, blind: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials over keys; -inf for queries that see none."""
    sums: Tensor = scores.masked_fill(blind, 0).logsumexp(-1)
    return sums.masked_fill(blind.squeeze(-1), -math.inf)


def safe_softmax(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The weights of keys, zeros for a query that sees none; and which queries these are."""
    blind = (scores == -math.inf).all(-1, True)
    weights = FUNCTIONS["softmax"](scores.masked_fill(blind, 0), -1).masked_fill(blind, 0)
    return weights, blind


def check_heads(heads: int, fewer: int, enable_gqa: bool) -> None:
    """ValueError where the heads of keys and values don't fit the *heads* of queries."""
    if not enable_gqa and heads != fewer:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={fewer}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % fewer:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={fewer}."
        )


def for_each_head(x: Tensor, query: Tensor) -> Tensor:
    """The heads of keys or values, each as often as there are heads of queries for it."""
    if x.dim() < 3 or query.dim() < 3 or query.shape[-3] % x.shape[-3]:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, but got "
            f"shapes {list(x.shape)} and {list(query.shape)}, whose heads are dimension -3"
        )
    times = query.shape[-3] // x.shape[-3]
    return x if times == 1 else x.repeat_interleave(times, -3)


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> None:
    if WAYS.none:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to "
            "turning off both the math kernel and the fused kernels."
        )
    three = query, key, value
    if any(t.dim() < 2 for t in three):
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    for what, told in (("device type", "device"), ("dtype", "dtype")):
        found = [t.device.type if told == "device" else t.dtype for t in three]
        if len(set(found)) > 1:
            q, k, v = found
            raise RuntimeError(
                f"Expected query, key, and value to have the same {what}, but got query.{told}: "
                f"{q} key.{told}: {k} and value.{told}: {v} instead."
            )
    if not query.is_floating_point():
        raise RuntimeError(
            f"Expected query, key, and value to be floating point, but got {query.dtype}"
        )
    if mask is not None and mask.dtype not in (dtypes.bool, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} instead."
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
