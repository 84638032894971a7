"""The Transformer: its encoder, its decoder, and both together."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import tensorbus
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import names_of as _names_of
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules._transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    masks_to_add,
)
from tensorbus.nn.modules.activation import GELU, ReLU
from tensorbus.nn.modules.container import ModuleList
from tensorbus.nn.modules.module import Module
from tensorbus.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _get_clones(module: Module, N: int) -> ModuleList:
    """Copies of *module*, *N* of them."""
    return ModuleList(copy.deepcopy(module) for _ in range(N))


class TransformerEncoder(Module):
    """*num_layers* copies of an encoder's layer, one after the other, and *norm* at last.

    The copies begin with the same parameters. *enable_nested_tensor* and *mask_check* change no
    result: padding is masked. A UserWarning says, as in PyTorch, why a layer takes no nested
    tensors where they are enabled, which is the default. Shapes as of ``TransformerEncoderLayer``;
    ``is_causal`` says that ``mask`` is the causal one.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> nn.TransformerEncoder(layer, 2)(tensorbus.ones(3, 5, 8)).shape
        torch.Size([3, 5, 8])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        reason = _takes_no_nested_tensors(encoder_layer)
        if enable_nested_tensor and reason:
            self.use_nested_tensor = False
            warn_user(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"encoder_layer{reason}"
            )
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        mask, padding = masks_to_add(src, mask, src_key_padding_mask, "mask")
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=padding)
        return x if self.norm is None else self.norm(x)


def _takes_no_nested_tensors(layer: Module) -> str:
    """What follows "encoder_layer" in PyTorch's words for why, or nothing where it takes them."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)":
            not attention.batch_first,
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not _is_relu_or_gelu(layer.activation),
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }  # fmt: skip
    return next((reason for reason, holds in reasons.items() if holds), "")


def _is_relu_or_gelu(activation: Any) -> bool:
    return activation in (F.relu, F.gelu) or isinstance(activation, ReLU | GELU)


class TransformerDecoder(Module):
    """*num_layers* copies of a decoder's layer, one after the other, and *norm* at last.

    The copies begin with the same parameters. Shapes as of ``TransformerDecoderLayer``.

    Example:
        >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> decoder(tensorbus.ones(4, 3, 8), tensorbus.ones(5, 3, 8)).shape
        torch.Size([4, 3, 8])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.TransformerDecoder.html
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        for layer in self.layers:
            x = layer(
                x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that attends to what it made.

    Args:
        d_model: size of an element of both sequences.
        nhead: heads of each attention.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        custom_encoder: what stands for the encoder.
        custom_decoder: what stands for the decoder.

    The other arguments are those of ``TransformerEncoderLayer``; so are the shapes, with ``src``
    (S, N, d_model), ``tgt`` (T, N, d_model), and the output like ``tgt``. Matrices begin with
    Glorot's uniform values. RuntimeError where batches or sizes of elements differ.

    Example:
        >>> net = nn.Transformer(8, 2, 1, 1, 16)
        >>> mask = net.generate_square_subsequent_mask(4)
        >>> net(tensorbus.ones(5, 3, 8), tensorbus.ones(4, 3, 8), tgt_mask=mask).shape
        torch.Size([4, 3, 8])

    Source: Vaswani et al., Attention is all you need (2017), and
    https://pytorch.org/docs/stable/generated/torch.nn.Transformer.html
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, norm()
        )  # fmt: skip
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, norm()
        )  # fmt: skip
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): -inf above the diagonal, else 0.

        Example:
            >>> nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return tensorbus.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


if not TYPE_CHECKING:  # what PyTorch's module of this path has from others
    __getattr__ = _attributes(
        __name__, others=_names_of("tensorbus.nn.modules._transformer_layers", "tensorbus.nn.init")
    )
