"""Attention with several heads."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import init
from tensorbus.nn.functional.multihead import canonical_mask, multi_head_attention_forward
from tensorbus.nn.modules.linear import Linear
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter

__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear"]


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` under the name that PyTorch shows for the output's projection."""


_LinearWithBias = NonDynamicallyQuantizableLinear  # its name in 1.6 to 1.8


class MultiheadAttention(Module):
    """Attention of several heads, each with projections of its own.

    Args:
        embed_dim: size of the queries and of the output; of all heads together.
        num_heads: how many heads there are; it divides *embed_dim*.
        dropout: how likely a weight is zeroed while training.
        bias: whether the projections learn a bias.
        add_bias_kv: whether a learned key and value are put behind the others.
        add_zero_attn: whether a key and value of zeros are put behind the others.
        kdim: size of the keys, *embed_dim* unless given.
        vdim: size of the values, *embed_dim* unless given.
        batch_first: whether inputs and output are (N, L, size) and not (L, N, size).

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), or all without N.
    ``key_padding_mask`` (N, S) and ``attn_mask`` (L, S) or (N * num_heads, L, S) are true where
    attention is forbidden, or numbers that are added to the scores; ``is_causal`` says that
    ``attn_mask`` is the causal one. Returns the output (L, N, embed_dim) and, with
    ``need_weights``, the weights (N, L, S), or (N, num_heads, L, S) unless
    ``average_attn_weights``; else None. AssertionError, as PyTorch's, for sizes that do not fit.

    Example:
        >>> x = tensorbus.ones(5, 2, 8)
        >>> output, weights = nn.MultiheadAttention(8, 4)(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))

    Source: Vaswani et al., Attention is all you need (2017), and
    https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def made(*shape: int) -> Parameter:
            return Parameter(tensorbus.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = made(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = made(embed_dim, embed_dim)
            self.k_proj_weight = made(embed_dim, self.kdim)
            self.v_proj_weight = made(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = made(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = made(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = made(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new initial values: Glorot's of the projections, biases of zero."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            assert self.out_proj.bias is not None
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swaps = self.batch_first and query.dim() == 3
        if swaps:
            shared = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = (shared[id(x)] for x in (query, key, value))
        output, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads,
            self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return output.transpose(0, 1) if swaps else output, weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one that is added, and which it is of: 0 of queries, 1 of keys, 2 both."""
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", None, "", query.dtype, False
        )
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        if key_padding_mask is None:
            return attn_mask, 0
        batch, length = query.shape[:2]
        whole = attn_mask.view(-1, self.num_heads, length, length) if attn_mask.dim() == 3 else (
            attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        )  # fmt: skip
        return whole + key_padding_mask.view(batch, 1, 1, length), 2
