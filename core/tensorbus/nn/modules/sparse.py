"""Look-up tables."""

from __future__ import annotations

from typing import Any, Self

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn import functional as F
from tensorbus.nn import init
from tensorbus.nn.modules.module import Module
from tensorbus.nn.parameter import Parameter
from tensorbus.op_engine.signatures import hide_private


class _Table(Module):
    """A learnt table of rows, one of which may stand for what is not there."""

    weight: Tensor

    def _fill_table(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        trained: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        if padding_idx is not None and padding_idx < 0:
            padding_idx += num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            table = tensorbus.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=trained)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(weight, requires_grad=trained)

    def reset_parameters(self) -> None:
        """Draw new rows; the padding row becomes zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tensorbus.no_grad():
                self.weight[self.padding_idx].fill_(0)


def _check_padding(padding_idx: int | None, num_embeddings: int, text: str) -> None:
    if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
        raise AssertionError(text)


def _shape_of_table(embeddings: Tensor) -> tuple[int, ...]:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return tuple(embeddings.shape)


class Embedding(_Table):
    """Replaces each index by its row of a learnt table.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: columns of the table.
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm: rows with a larger norm are scaled to it when they are looked up.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether gradients are divided by how often a row was looked up.
        sparse: whether the gradient of the table is a sparse tensor.

    Shapes: integers (*) to (*, embedding_dim). The table is ``weight``, drawn from N(0, 1).

    Example:
        >>> nn.Embedding(10, 3)(tensorbus.tensor([[1, 2, 4, 5]])).shape
        torch.Size([1, 4, 3])
    """

    @hide_private
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_padding(padding_idx, num_embeddings, "Padding_idx must be within num_embeddings")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._fill_table(
            num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Make a layer around a given table, which is not trained unless *freeze* is False."""
        rows, columns = _shape_of_table(embeddings)
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, default in (
            ("padding_idx", None),
            ("max_norm", None),
            ("norm_type", 2),
            ("scale_grad_by_freq", False),
        ):
            value = getattr(self, name)
            if value != default:
                parts.append(f"{name}={value}")
        if self.sparse:
            parts.append("sparse=True")
        return ", ".join(parts)


class EmbeddingBag(_Table):
    """The sum, mean or max over each bag of rows of a learnt table, without making the rows.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: columns of the table.
        max_norm: rows with a larger norm are scaled to it when they are looked up.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether gradients are divided by how often a row was looked up.
        mode: ``sum``, ``mean`` or ``max``.
        sparse: whether the gradient of the table is a sparse tensor.
        include_last_offset: whether the offsets end with the end of the last bag.
        padding_idx: a row that starts at zero and is in no bag.

    Shapes: integers (B, N), or (N) and offsets (B), to (B, embedding_dim). The table is ``weight``,
    drawn from N(0, 1).

    Example:
        >>> bags = nn.EmbeddingBag(10, 3, mode="sum")
        >>> bags(tensorbus.tensor([1, 2, 4, 5]), tensorbus.tensor([0, 3])).shape
        torch.Size([2, 3])

    Source: https://pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html
    """

    @hide_private
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_padding(padding_idx, num_embeddings, "padding_idx must be within num_embeddings")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._fill_table(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Make a layer around a given table, which is not trained unless *freeze* is False."""
        rows, columns = _shape_of_table(embeddings)
        made = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, default in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if (value := getattr(self, name)) != default:
                parts.append(f"{name}={value}")
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)
