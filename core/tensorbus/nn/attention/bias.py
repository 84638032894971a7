"""Causal biases of ``scaled_dot_product_attention`` that are never made as a tensor."""

from __future__ import annotations

import enum
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.attention import attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of a causal bias lies, for other numbers of keys than queries.

    ``UPPER_LEFT``: query i sees the keys up to i. ``LOWER_RIGHT``: the last query sees all keys.
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal bias for ``attn_mask``; any other operation sees its truth values.

    AssertionError for no ``CausalVariant``. A query of ``LOWER_RIGHT`` that sees no key, where
    there are more queries than keys, gets zeros.

    Example:
        >>> bias = tensorbus.nn.attention.bias.causal_lower_right(2, 3)
        >>> bias
        tensor([[ True,  True, False],
                [ True,  True,  True]])
        >>> q, k = tensorbus.ones(1, 2, 4), tensorbus.ones(1, 3, 4)
        >>> tensorbus.nn.functional.scaled_dot_product_attention(q, k, k, bias).shape
        torch.Size([1, 2, 4])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        return tensorbus.empty(0).as_subclass(cls)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warn_user(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv! Here these rows are zeros."
            )

    @property
    def _first(self) -> int:
        """The last key that the first query sees."""
        lower = self.variant is CausalVariant.LOWER_RIGHT
        return self.seq_len_kv - self.seq_len_q if lower else 0

    def _materialize(self, device: Any = None) -> Tensor:
        """The truth values: which query, a row, sees which key."""
        shape = (self.seq_len_q, self.seq_len_kv)
        return tensorbus.ones(shape, dtype=tensorbus.bool, device=device).tril(self._first)

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Any,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        wanted, found = (
            (attn_mask.seq_len_q, attn_mask.seq_len_kv),
            (query.shape[-2], key.shape[-2]),
        )
        first = attn_mask._first
        if attn_mask.variant is CausalVariant.LOWER_RIGHT and first and wanted != found:
            raise RuntimeError(
                f"The lower right causal bias is of {wanted[0]} queries and {wanted[1]} keys, but "
                f"there are {found[0]} and {found[1]}"
            )
        return attention(query, key, value, None, dropout_p, first, scale, enable_gqa)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is tensorbus.nn.functional.scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs)

        def plain(value: Any) -> Any:
            return value._materialize() if isinstance(value, CausalBias) else value

        return func(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return repr(self._materialize())


def _bias(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The causal bias of L queries and S keys in which query i sees the keys up to i."""
    return _bias("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal bias of L queries and S keys in which the last query sees all keys."""
    return _bias("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
