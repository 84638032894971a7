"""Dropout: elements or whole channels that are zeroed at random while training."""

from __future__ import annotations

import math

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.activations import either
from tensorbus.op_engine.composed import composed
from tensorbus.ops.nn.activation import dropout as _dropout
from tensorbus.ops.nn.activation import masked


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability *p* while training, and scale the others."""
    if 0.0 <= p <= 1.0 and (p == 0.0 or not training):
        return input
    _check_probability(p)
    return _dropped(input, p, training, inplace)


@composed(node="MulBackward0", layout="order", operands=1)
def _dropped(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return either(input, _dropout, inplace, p, training)


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p != p:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _channels(input: Tensor, p: float, training: bool, inplace: bool, lead: int) -> Tensor:
    """Dropout with one draw for each index into the *lead* first dimensions."""
    _check_probability(p)
    if not training or p == 0.0:
        return input
    shape = _drawn(input, lead)
    return either(input, lambda x: masked(x, shape, p), inplace)


def _drawn(input: Tensor, lead: int) -> tuple[int, ...]:
    """The shape of the draws: one for each index into the *lead* first dimensions."""
    rank = len(input._s)
    if rank < lead:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input._s[:lead], *(1,) * (rank - lead))


def _warn_of_rank(name: str, rank: int, ranks: tuple[int, int]) -> None:
    if rank not in ranks:
        warn_user(
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in "
            f"an error in a future release. Please provide a {ranks[0]}-D or {ranks[1]}-D input.",
        )


@composed(node="MulBackward0", layout="order", operands=1)
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    if len(input._s) not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {len(input._s)}D input. It drops "
            "channels of one spatial dimension, with or without a batch"
        )
    return _channels(input, p, training, inplace, 2 if len(input._s) == 3 else 1)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
    rank = len(input._s)
    if rank == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. Please use dropout1d instead.",
        )
    _warn_of_rank("dropout2d", rank, (3, 4))
    return _channels(input, p, training, inplace, 2)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W)."""
    _warn_of_rank("dropout3d", len(input._s), (4, 5))
    return _channels(input, p, training, inplace, 2 if len(input._s) == 5 else 1)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps the mean and the variance of SELU's outputs (arXiv:1706.02515)."""
    return _alpha(input, p, training, inplace, None)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels, which are dimension 1."""
    return _alpha(input, p, training, inplace, 2)


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, lead: int | None) -> Tensor:
    """``alpha_dropout`` with one draw for each index into the first *lead* dimensions."""
    _check_probability(p)
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0
    low = -1.7580993408473766
    a = 1.0 / math.sqrt((1 - p) * (1 + p * low**2))
    shape = _drawn(input, len(input._s) if lead is None else lead)

    def drop(x: Tensor) -> Tensor:
        from tensorbus import ones_like

        kept = masked(ones_like(x), shape, p) * (1 - p)
        return (x * kept + low * (1 - kept)) * a - a * p * low

    return either(input, drop, inplace)


__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip
