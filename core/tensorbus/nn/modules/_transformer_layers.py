"""The layers of encoders and decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn.functional.multihead import canonical_mask
from tensorbus.nn.modules.attention import MultiheadAttention
from tensorbus.nn.modules.dropout import Dropout
from tensorbus.nn.modules.linear import Linear
from tensorbus.nn.modules.module import Module
from tensorbus.nn.modules.normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """What the layers of both stacks share: attention of a sequence to itself, and a small network
    for each element.
    """

    _attends_to_memory = False

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            return MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **options
            )

        self.self_attn = attention()
        if self._attends_to_memory:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        parts = range(1, 4 if self._attends_to_memory else 3)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, **options))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _around(self, norm: Any, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        """A block that adds to its input, normalised before it or after."""
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _attended(self, attention: Any, x: Tensor, to: Tensor, *masks: Any) -> Tensor:
        mask, padding, is_causal = masks
        return attention(
            x, to, to, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal,
            need_weights=False,
        )[0]  # fmt: skip

    def _sa_block(self, x: Tensor, mask: Any, padding: Any, is_causal: bool = False) -> Tensor:
        return self.dropout1(self._attended(self.self_attn, x, x, mask, padding, is_causal))

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    return _get_activation_fn(given) if isinstance(given, str) else given


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """The function of that name; RuntimeError for others than 'relu' and 'gelu'."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a network for each element; each is added to its
    input.

    Args:
        d_model: size of an element.
        nhead: heads of the attention.
        dim_feedforward: size within the network.
        dropout: how likely an element is zeroed while training.
        activation: ``"relu"``, ``"gelu"`` or a function of one tensor.
        layer_norm_eps: ``eps`` of the normalisations.
        batch_first: whether input and output are (N, S, d_model) and not (S, N, d_model).
        norm_first: whether each block normalises its input and not the sum.
        bias: whether projections and normalisations learn a bias.

    Shapes: ``src`` (S, N, d_model), or without N; ``src_mask`` (S, S) or (N * nhead, S, S) and
    ``src_key_padding_mask`` (N, S) as of ``MultiheadAttention``; the output is like ``src``.

    Example:
        >>> nn.TransformerEncoderLayer(8, 2, 16)(tensorbus.ones(5, 3, 8)).shape
        torch.Size([5, 3, 8])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        mask, padding = masks_to_add(src, src_mask, src_key_padding_mask, "src_mask")
        x = self._around(self.norm1, src, lambda x: self._sa_block(x, mask, padding, is_causal))
        return self._around(self.norm2, x, self._ff_block)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._network(x))


class TransformerDecoderLayer(_Layer):
    """As ``TransformerEncoderLayer``, with attention to the encoder's output in between.

    Shapes: ``tgt`` (T, N, d_model) and ``memory`` (S, N, d_model), or without N; ``tgt_mask``
    (T, T), ``memory_mask`` (T, S), ``tgt_key_padding_mask`` (N, T) and ``memory_key_padding_mask``
    (N, S); the output is like ``tgt``.

    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
        >>> layer(tensorbus.ones(4, 3, 8), tensorbus.ones(5, 3, 8)).shape
        torch.Size([4, 3, 8])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TransformerDecoderLayer.html
    """

    _attends_to_memory = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._around(self.norm1, tgt, lambda x: self._sa_block(x, *own))
        x = self._around(self.norm2, x, lambda x: self._mha_block(x, memory, *other))
        return self._around(self.norm3, x, self._ff_block)

    def _mha_block(self, x: Tensor, memory: Tensor, *masks: Any) -> Tensor:
        return self.dropout2(self._attended(self.multihead_attn, x, memory, *masks))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._network(x))


def masks_to_add(src: Tensor, mask: Any, padding: Any, name: str) -> tuple[Any, Any]:
    """Both as numbers that are added."""
    other = None if mask is None else mask.dtype
    padding = canonical_mask(padding, "src_key_padding_mask", other, name, src.dtype)
    return canonical_mask(mask, name, None, "", src.dtype, check_other=False), padding
