"""Attention with several heads and their projections."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.attention import scaled_dot_product_attention
from tensorbus.nn.functional.dropout import dropout
from tensorbus.nn.functional.linear import linear
from tensorbus.nn.functional.windows import pad
from tensorbus.op_engine.names import FUNCTIONS


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers that are added: -inf where it is true.

    AssertionError, as PyTorch's, for a mask of integers.
    """
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            stacklevel=3,
        )
    if mask.dtype is dtypes.bool:
        zeros = FUNCTIONS["zeros_like"](mask, dtype=target_type)
        return zeros.masked_fill(mask, -math.inf)
    return mask


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What ``nn.MultiheadAttention`` computes of (L, N, E), (S, N, Ek) and (S, N, Ev).

    Returns the output (L, N, E) and, with *need_weights*, the weights (N, L, S), or (N, heads, L,
    S) unless *average_attn_weights*; else None. *key_padding_mask* (N, S) and *attn_mask* (L, S) or
    (N * heads, L, S) are true where attention is forbidden, or numbers that are added; *is_causal*
    says that *attn_mask* is the causal one. Inputs and results may lack the batch. AssertionError
    and RuntimeError, as PyTorch's, for shapes that do not fit.

    >>> x, w = tensorbus.ones(3, 2, 4), tensorbus.ones(12, 4)
    >>> output, weights = tensorbus.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, tensorbus.eye(4), None
    ... )
    >>> output.shape, weights.shape
    (torch.Size([3, 2, 4]), torch.Size([2, 3, 3]))

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """
    batched = check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    other = None if attn_mask is None else attn_mask.dtype
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", other, "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if causal else canonical_mask(
        attn_mask, "attn_mask", None, "", query.dtype, check_other=False
    )  # fmt: skip
    head = _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    else:
        weights = [None] * 3 if in_proj_weight is None else [*in_proj_weight.chunk(3)]
    for name, weight in zip("qkv", weights, strict=True):
        if weight is None:
            told = f"{name}_proj_weight" if use_separate_proj_weight else "in_proj_weight"
            raise AssertionError(
                f"use_separate_proj_weight is {use_separate_proj_weight} but {told} is None"
            )
    biases = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    if query is key and key is value and not use_separate_proj_weight:
        assert in_proj_weight is not None
        q, k, v = linear(query, in_proj_weight, in_proj_bias).chunk(3, -1)
    else:
        q, k, v = map(linear, (query, key, value), weights, biases)  # type: ignore[arg-type]
    mask = _shaped_mask(attn_mask, batch * num_heads, length, key.shape[0])
    if (bias_k is None) != (bias_v is None):
        given, lacking = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {lacking} is None")
    added = 0
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        k, v = (FUNCTIONS["cat"]([x, b.repeat(1, batch, 1)]) for x, b in ((k, bias_k), (v, bias_v)))
        added += 1
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    k = _heads(k, static_k, "static_k", batch * num_heads, head)
    v = _heads(v, static_v, "static_v", batch * num_heads, head)
    if add_zero_attn:
        k, v = (FUNCTIONS["cat"]([x, x.new_zeros(x.shape[0], 1, head)], 1) for x in (k, v))
        added += 1
    if added:
        mask = None if mask is None else pad(mask, (0, added))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, added))
    sources = k.shape[1]
    if key_padding_mask is not None:
        for d, n in enumerate((batch, sources)):
            if key_padding_mask.shape[d] != n:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{d}] to be {n}, but got "
                    f"{key_padding_mask.shape[d]}"
                )
        of_keys = key_padding_mask.view(batch, 1, 1, sources).expand(-1, num_heads, -1, -1)
        of_keys = of_keys.reshape(batch * num_heads, 1, sources)
        mask = of_keys if mask is None else mask + of_keys
    dropout_p = dropout_p if training else 0.0
    found = None
    if need_weights:
        scores = (q * math.sqrt(1 / head)) @ k.transpose(-2, -1)
        found = FUNCTIONS["softmax"](scores if mask is None else scores + mask, -1)
        found = dropout(found, dropout_p) if dropout_p else found
        output = found @ v
        found = found.view(batch, num_heads, length, sources)
        found = found.mean(1) if average_attn_weights else found
        found = found if batched else found.squeeze(0)
    else:
        output = scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    output = output.transpose(0, 1).reshape(length, batch, size)
    output = linear(output, out_proj_weight, out_proj_bias)
    return output if batched else output.squeeze(1), found


def _heads(x: Tensor, static: Tensor | None, name: str, count: int, head: int) -> Tensor:
    """(S, N, E) as (N * heads, S, E / heads), or what was given in its place."""
    if static is None:
        return x.reshape(x.shape[0], count, head).transpose(0, 1)
    for d, n in ((0, count), (2, head)):
        if static.shape[d] != n:
            raise AssertionError(f"expecting {name}.size({d}) of {n}, but got {static.shape[d]}")
    return static


def _shaped_mask(mask: Tensor | None, heads: int, length: int, sources: int) -> Tensor | None:
    if mask is None:
        return None
    wanted = (length, sources) if mask.dim() == 2 else (heads, length, sources)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask if mask.dim() == 3 else mask.unsqueeze(0)


def check_ranks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    told = f"For {'batched (3' if dims == 3 else 'unbatched (2'}-D) `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{told} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{told} `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{told} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
            "instead"
        )
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}"
            )
    return dims == 3


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, size: int, num_heads: int, separate: bool
) -> int:
    """The size of a head."""
    if query.shape[-1] != size:
        raise AssertionError(
            f"was expecting embedding dimension of {size}, but got {query.shape[-1]}"
        )
    if size % num_heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return size // num_heads
