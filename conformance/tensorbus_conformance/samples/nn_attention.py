"""Attention, from its definition."""

from __future__ import annotations

import math

import numpy as np

from tensorbus_conformance.op import FLOATING, Op, S, T

_F = "nn.functional."


def _weights(scores: np.ndarray) -> np.ndarray:
    """Softmax along the last dimension; zeros where all are -inf."""
    most = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> np.ndarray:
    """Each query's mean of the values."""
    if enable_gqa:
        times = q.shape[-3] // k.shape[-3]
        k, v = (np.repeat(x, times, -3) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    return _weights(scores) @ v


def multihead(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    size: int,
    heads: int,
    w_in: np.ndarray,
    b_in: np.ndarray | None,
    bias_k: None,
    bias_v: None,
    add_zero_attn: bool,
    dropout_p: float,
    w_out: np.ndarray,
    b_out: np.ndarray | None,
    mask: np.ndarray | None = None,
) -> list[np.ndarray]:
    """(L, N, size) and the mean of the heads' weights (N, L, S)."""
    weights = np.split(w_in, 3)
    biases = [0.0] * 3 if b_in is None else np.split(b_in, 3)
    parts = []
    for x, w, b in zip((query, key, value), weights, biases, strict=True):
        y = x @ w.T + b  # (L, N, E)
        parts.append(y.reshape(*y.shape[:2], heads, size // heads).transpose(1, 2, 0, 3))
    q, k, v = parts
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(size // heads)
    found = _weights(scores if mask is None else scores + mask)
    y = (found @ v).transpose(2, 0, 1, 3).reshape(query.shape)
    return [y @ w_out.T + (0.0 if b_out is None else b_out), found.mean(1)]


def _two(*shapes: tuple[int, ...]) -> list[T]:
    return [T(*shape) for shape in shapes]


_SEEN = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
OPS = [
    Op(
        _F + "scaled_dot_product_attention",
        attention,
        [
            S("plain", *_two((2, 3, 4), (2, 4, 4), (2, 4, 5))),
            S("matrices", *_two((3, 4), (4, 4), (4, 2)), scale=0.3),
            S("causal", *_two((2, 4, 3), (2, 4, 3), (2, 4, 3)), is_causal=True),
            S("truth", *_two((2, 3, 4), (2, 4, 4), (2, 4, 5)), T(data=_SEEN, grad=False)),
            S("numbers", *_two((2, 3, 4), (2, 4, 4), (2, 4, 5), (3, 4))),
            S("heads", *_two((1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)), enable_gqa=True),
        ],
        FLOATING,
        ulp=16.0,
        measure="norm",
        family="attention",
    ),
    Op(
        _F + "multi_head_attention_forward",
        multihead,
        [
            S("plain", *_two((3, 2, 4), (5, 2, 4), (5, 2, 4)), 4, 2, T(12, 4), T(12), None, None,
              False, 0.0, T(4, 4), T(4)),
        ],
        FLOATING,
        ulp=32.0,
        measure="norm",
        family="attention",
    ),
]  # fmt: skip
