"""Attention within sequences of any lengths that lie one behind the other."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import tensorbus
from tensorbus._base import dtypes
from tensorbus._base.page import show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.attention import (
    check_heads,
    for_each_head,
    in_a_block,
    log_sum,
    rows_at_a_time,
    safe_softmax,
)

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What ``varlen_attn`` is to return besides the output."""

    lse: bool = False


def varlen_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Any:
    """Attention of each sequence's queries to its own keys; sequences lie one behind the other.

    Shapes: query (T, H, E), key (S, Hkv, E) and value (S, Hkv, V) to (T, H, V). Sequence i has the
    queries from ``cu_seq_q[i]`` to ``cu_seq_q[i + 1]``, and its keys by *cu_seq_k*; these numbers
    are read on the host. *window_size* (left, right) bounds how many keys before and behind a query
    it sees, where the last query of a sequence lies at its last key; -1 is no bound, and (-1, 0) is
    causal. *scale* is 1/sqrt(E) unless given. With *enable_gqa* each head of key and value serves
    several of the query. *seqused_k* says how many of each sequence's keys count; *block_table*
    (sequences, pages) says which pages of key and value (pages, size, Hkv, E) hold them; both are
    without gradients. *return_aux* asks for the logarithm of the sum of exponentials (H, T) too.
    *max_q*, *max_k* and *num_splits* change nothing.

    ValueError for heads that do not fit; RuntimeError for gradients with *seqused_k* or
    *block_table*.

    Example:
        >>> x, ends = tensorbus.ones(5, 2, 4), tensorbus.tensor([0, 2, 5])
        >>> varlen_attn(x, x, x, ends, ends, 3, 3, window_size=(-1, 0)).shape
        torch.Size([5, 2, 4])

    Source: https://docs.pytorch.org/docs/stable/nn.attention.varlen.html
    """
    heads = query.size(1)
    check_heads(heads, key.size(-2), enable_gqa)
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    recording = tensorbus.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    for name, given in (("seqused_k", seqused_k), ("block_table", block_table)):
        if given is not None and recording:
            raise RuntimeError(f"{name} is an inference-only parameter.")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    outs, sums = [], []
    ends = cu_seq_q.tolist()
    for i, (start, stop) in enumerate(itertools.pairwise(ends)):
        k, v = _keys_of(i, key, value, cu_seq_k, seqused_k, block_table)
        q = query[start:stop].transpose(0, 1)
        out, lse = _one(q, for_each_head(k, q), for_each_head(v, q), factor, window_size)
        outs.append(out.transpose(0, 1))
        sums.append(lse)
    made = tensorbus.cat(outs) if outs else query.new_zeros((0, heads, value.shape[-1]))
    if return_aux is not None and return_aux.lse:
        return made, tensorbus.cat(sums, 1) if sums else query.new_zeros((heads, 0))
    return made


def varlen_attn_out(
    out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Any:
    """``varlen_attn`` that writes its output into *out*, without gradients."""
    with tensorbus.no_grad():
        made, lse = varlen_attn(
            query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux=AuxRequest(True),
            scale=scale, window_size=window_size, enable_gqa=enable_gqa, seqused_k=seqused_k,
            block_table=block_table, num_splits=num_splits,
        )  # fmt: skip
        out.copy_(made)
    return (out, lse) if return_aux is not None and return_aux.lse else out


def _keys_of(
    i: int,
    key: Tensor,
    value: Tensor,
    cu_seq_k: Tensor | None,
    seqused_k: Tensor | None,
    block_table: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Keys and values (heads, length, size) of a sequence."""
    if block_table is not None:
        pages = block_table[i].long()
        found = [x.index_select(0, pages).flatten(0, 1) for x in (key, value)]
    elif cu_seq_k is not None:
        start, stop = cu_seq_k[i : i + 2].tolist()
        found = [x[start:stop] for x in (key, value)]
    else:
        raise ValueError("varlen_attn: cu_seq_k is needed where there is no block_table")
    used = found[0].shape[0] if seqused_k is None else int(seqused_k[i])
    k, v = (x[:used].transpose(0, 1) for x in found)
    return k, v


def _one(
    q: Tensor, k: Tensor, v: Tensor, factor: float, window: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """The output and lse of one sequence's queries (heads, length, size), in blocks."""
    heads, length, _ = q.shape
    shift = k.shape[1] - length
    rows = rows_at_a_time(heads * k.shape[1])
    wide = dtypes.float32 if q.dtype in dtypes.HALVES else q.dtype
    q, k, v, dtype = q.to(wide) * factor, k.to(wide), v.to(wide), q.dtype
    found = [
        in_a_block(_attend, q[:, start : start + rows], k, v, start + shift, *window)
        for start in range(0, max(length, 1), rows)
    ]
    outs, sums = zip(*found, strict=True)
    return tensorbus.cat(outs, 1).to(dtype), tensorbus.cat(sums, 1)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, first: int, left: int, right: int
) -> tuple[Tensor, Tensor]:
    """*first* is the key at which the first query lies."""
    scores = q @ k.transpose(-2, -1)
    if left >= 0 or right >= 0:
        ones = q.new_ones(scores.shape[1:], dtype=dtypes.bool)
        if right >= 0:
            ones = ones.tril(first + right)
        if left >= 0:
            ones = ones.triu(first - left)
        scores = scores.masked_fill(~ones, -math.inf)
    weights, blind = safe_softmax(scores)
    lse = log_sum(scores, blind)
    return weights @ v, lse


show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
