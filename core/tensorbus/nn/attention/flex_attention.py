"""Attention whose scores a program modifies, and whose masks skip whole blocks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypedDict

import tensorbus
from tensorbus._base import dtypes
from tensorbus._base.page import show_pages
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.attention.block_mask import (
    BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401
)
from tensorbus.nn.attention.block_mask import (
    BlockMask,
    Mod,
    _sliced_mask_mod_error,
    and_masks,
    create_block_mask,
    create_mask,
    for_all,
    noop_mask,
    or_masks,
)
from tensorbus.nn.functional.attention import (
    check_heads,
    for_each_head,
    in_a_block,
    log_sum,
    rows_at_a_time,
    safe_softmax,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")


class FlexKernelOptions(TypedDict, total=False):
    """Options of kernels that PyTorch compiles; there are none here, so they change nothing."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    BACKEND: str


class AuxRequest(NamedTuple):
    """What ``flex_attention`` is to return besides the output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What ``flex_attention`` returns besides the output; None for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Mod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with ``score_mod(score, b, h, q_idx, kv_idx)`` in the place of each score.

    Shapes: (B, Hq, L, E), (B, Hkv, S, E) and (B, Hkv, S, V) to (B, Hq, L, V); key and value may
    have a batch of 1 where *block_mask* has that of the query. *score_mod* gets a score and its
    place as 0-dimensional tensors, may use tensors of its own, which get gradients, and returns a
    score; *block_mask* says which scores count. *scale* is 1/sqrt(E) unless given. With
    *enable_gqa* each head of key and value serves several of the query. Scores are computed in
    blocks of queries, and again for gradients, so memory grows with L. *return_aux* asks for the
    logarithm of the sum of exponentials (B, Hq, L) and the largest score, beside the output;
    *return_lse* is an older form of it. *kernel_options* are checked, and change nothing.

    ValueError for sizes that do not fit, NotImplementedError for other ranks than 4.

    Example:
        >>> q = tensorbus.ones(1, 2, 4, 8)
        >>> def nearer(score, b, h, q_idx, kv_idx):
        ...     return score - (q_idx - kv_idx).abs()
        >>> flex_attention(q, q, q, nearer).shape
        torch.Size([1, 2, 4, 8])

    Source: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
    """
    _check(query, key, value, block_mask, enable_gqa)
    _check_options(kernel_options or {}, return_aux)
    if return_lse:
        if return_aux is not None:
            raise ValueError(
                "Cannot specify both return_lse and return_aux. return_lse is deprecated, please "
                "use return_aux=AuxRequest(lse=True) instead."
            )
        warn_user(
            "return_lse is deprecated and will be removed in v2.10. Please use "
            "return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
        )
    key, value = (for_each_head(x, query).expand(query.shape[0], -1, -1, -1) for x in (key, value))
    wide = dtypes.float64 if query.dtype is dtypes.float64 else dtypes.float32
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    q, k = query.to(wide), key.to(wide).transpose(-2, -1) * factor
    batch, heads, length = q.shape[:3]
    rows = rows_at_a_time(batch * heads * key.shape[-2])
    found = []
    for start in range(0, max(length, 1), rows):
        part = q[:, :, start : start + rows]
        found.append(
            in_a_block(_attend, part, k, value.to(query.dtype), score_mod, block_mask, start)
        )
    joined = [t[0] if len(t) == 1 else tensorbus.cat(t, 2) for t in zip(*found, strict=True)]
    out, lse, largest = joined
    if return_aux is not None:
        wanted = lse if return_aux.lse else None, largest if return_aux.max_scores else None
        return out, AuxOutput(*wanted)
    return (out, lse) if return_lse else out


def _attend(
    q: Tensor,
    k: Tensor,
    value: Tensor,
    score_mod: Mod | None,
    block_mask: BlockMask | None,
    start: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The output, lse and largest score of queries from *start* on."""
    scores = q @ k
    sizes = [*scores.shape[:2], scores.shape[3]]
    b, h, n = (tensorbus.arange(size, device=q.device) for size in sizes)
    m = tensorbus.arange(start, start + q.shape[2], device=q.device)
    if score_mod is not None:
        scores = for_all(score_mod, b, h, m, n, scores=scores).to(q.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~_seen(block_mask, b, h, m, n), -math.inf)
    weights, blind = safe_softmax(scores)
    lse = log_sum(scores, blind)
    largest = scores.amax(-1) if scores.shape[-1] else scores.new_full(lse.shape, -math.inf)
    return weights.to(value.dtype) @ value, lse, largest


def _seen(mask: BlockMask, b: Tensor, h: Tensor, m: Tensor, n: Tensor) -> Tensor:
    """Which scores count: those that the mask's function lets be seen, in the mask's blocks."""
    rows, columns = (
        at.div(size, rounding_mode="floor")
        for at, size in zip((m, n), mask.BLOCK_SIZE, strict=True)
    )

    def of_scores(blocks: Tensor) -> Tensor:
        return blocks.bool().index_select(-2, rows).index_select(-1, columns)

    counts = of_scores(mask.to_dense())
    seen = counts & for_all(mask.mask_mod, b, h, m, n)
    full = mask.full_blocks()
    return seen if full is None else seen | of_scores(full)


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: BlockMask | None, enable_gqa: bool
) -> None:
    three = query, key, value
    if len({t.device for t in three}) > 1:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if any(t.dim() != 4 for t in three):
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    check_heads(query.size(1), key.size(1), enable_gqa)
    batch, other = query.size(0), key.size(0)
    if batch != other:
        told = f"Bq={batch}, Bkv={other}"
        if mask is None:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, "
                f"but got block_mask=None, Bq={batch}, and Bkv={other}."
            )
        if mask.kv_num_blocks.size(0) != batch:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or block_mask and query "
                f"to have the same batch size, but got {told}, "
                f"B_block_mask={mask.kv_num_blocks.size(0)}."
            )
        if other != 1:
            raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={batch} and Bkv={other}")
    if mask is not None:
        _check_mask(query, key, mask)


def _check_mask(query: Tensor, key: Tensor, mask: BlockMask) -> None:
    if mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    length, sources = query.size(-2), key.size(-2)
    rows, columns = mask.shape[-2:]
    told = (
        f"block_mask was created for block_mask.shape={mask.shape} but got q_len={length} and "
        f"kv_len={sources}. As the block mask was created for a"
    )
    if length > rows or sources > columns:
        raise ValueError(
            f"{told} smaller length than you're using it for, you likely need to create a new "
            "block mask."
        )
    if (length, sources) != (rows, columns):
        raise ValueError(
            f"{told} larger length than you're using it for, you can either 1. create a new block "
            "mask with the correct length, or 2. 'adjust' the existing block mask to the correct "
            "length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the "
            "block mask to the upper left corner, which does not work for all mask_mods!"
        )
    if query.device != mask.kv_num_blocks.device:
        raise RuntimeError(
            f"Expect q/k/v and block_mask to be on the same device but got {query.device} and "
            f"{mask.kv_num_blocks.device}."
        )


def _check_options(options: Any, aux: AuxRequest | None) -> None:
    backend = options.get("BACKEND", "AUTO")
    if "BACKEND" in options and options.get("FORCE_USE_FLEX_ATTENTION", False):
        raise RuntimeError(
            "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. BACKEND supersedes "
            "the legacy knob; please drop FORCE_USE_FLEX_ATTENTION and only specify the desired "
            "BACKEND."
        )
    if backend not in _BACKENDS:
        raise ValueError(f"Invalid BACKEND value '{backend}'. Must be one of {_BACKENDS}")
    if backend == "FLASH" and aux is not None and aux.max_scores:
        raise NotImplementedError(
            "Returning max scores is not supported with BACKEND='FLASH'. Use "
            "return_aux=AuxRequest(lse=True) or omit max_scores."
        )


show_in(__name__, [(_n, globals()[_n]) for _n in __all__])
show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
