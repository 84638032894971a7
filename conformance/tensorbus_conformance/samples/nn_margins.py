"""Losses of distances with a margin, and the distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.nn_losses import apart, loss_op, signs

_F = "nn.functional."


def _hinge(x: np.ndarray, y: np.ndarray, margin: float = 1.0) -> np.ndarray:
    return np.where(y == 1, x, np.maximum(margin - x, 0))


def _ranking(a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float = 0) -> np.ndarray:
    return np.maximum(-y * (a - b) + margin, 0)


def _ranking_scale(a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float = 0) -> np.ndarray:
    return np.abs(a) + np.abs(b) + margin


def cosine(a: np.ndarray, b: np.ndarray, dim: int = 1, eps: float = 1e-8) -> np.ndarray:
    """The cosine of the angle between vectors, each at least *eps* long."""
    lengths = [np.maximum(np.sqrt((v**2).sum(dim)), eps) for v in (a, b)]
    return np.asarray((a * b).sum(dim) / (lengths[0] * lengths[1]))


def _cosine_embedding(a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float = 0) -> np.ndarray:
    squares = [(v**2).sum(-1) + 1e-12 for v in (a, b)]
    c = (a * b).sum(-1) / np.sqrt(squares[0] * squares[1])
    return np.where(y == 1, 1 - c, np.maximum(c - margin, 0))


def _ones(a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float = 0) -> np.ndarray:
    return np.ones(y.shape)


def distance(
    a: np.ndarray, b: np.ndarray, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> np.ndarray:
    """The p-norm of the difference along the last dimension."""
    d = np.abs(a - b + eps)
    if p == np.inf:
        return np.asarray(d.max(-1, keepdims=keepdim))
    return np.asarray((d**p).sum(-1, keepdims=keepdim) ** (1 / p))


def _triplet(
    anchor: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
) -> np.ndarray:
    far = distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, distance(positive, negative, p, eps))
    return np.maximum(distance(anchor, positive, p, eps) - far + margin, 0)


def _triplet_scale(
    anchor: np.ndarray, positive: np.ndarray, negative: np.ndarray, *_: Any, **__: Any
) -> np.ndarray:
    return sum((np.abs(v).sum(-1) for v in (anchor, positive, negative)), np.ones(()))


def _vectors() -> tuple[T, ...]:
    # In float16 eps is 0, in PyTorch too: a vector of zeros has no direction.
    return T(3, 4, of="nonzero"), T(3, 4, of=(0.2, 2.0))


def _triple() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(-2.0, 2.0)), T(3, 4, of=(0.0, 2.0))


MARGINS = [
    loss_op(
        "hinge_embedding_loss",
        _hinge,
        lambda: (T(3, 4), signs(3, 4)),
        S("margin", T(3, 4), signs(3, 4), 0.45),
        scale=lambda x, y, margin=1.0: np.abs(x) + margin,
    ),
    loss_op(
        "margin_ranking_loss",
        _ranking,
        lambda: (T(6), T(6, of=(-2.0, 2.0)), signs(6)),
        S("margin", T(6), T(6, of=(-2.0, 2.0)), signs(6), 0.7),
        scale=_ranking_scale,
    ),
    loss_op(
        "cosine_embedding_loss",
        _cosine_embedding,
        lambda: (*_vectors(), signs(3)),
        S("margin", *_vectors(), signs(3), 0.2),
        S("one", T(4, of="nonzero"), T(4, of=(0.2, 2.0)), T(data=1.0, grad=False)),
        scale=_ones,
        ulp=8,
    ),
    loss_op(
        "triplet_margin_loss",
        _triplet,
        _triple,
        S("p1", *apart(), T(data=np.full((3, 4), -2.6)), p=1.0, margin=9.0),
        S("swap", *_triple(), swap=True),
        S("eps", *_triple(), eps=0.1, reduction="none"),
        scale=_triplet_scale,
    ),
]


def _pairs(x: np.ndarray, p: float = 2.0) -> np.ndarray:
    return np.array(
        [np.linalg.norm(a - b, p) for i, a in enumerate(x) for b in x[i + 1 :]], x.dtype
    )


DISTANCES = [
    Op(
        _F + "cosine_similarity",
        cosine,
        [
            S("plain", T(3, 4, of="nonzero"), T(3, 4, of="nonzero")),
            S("dim0", T(3, 4, of="nonzero"), T(3, 4, of="nonzero"), 0),
            S("last", T(2, 3, 4, of="nonzero"), T(2, 3, 4, of=(0.2, 2.0)), -1),
            S("broadcast", T(3, 4, of="nonzero"), T(1, 4, of=(0.2, 2.0))),
            # Below eps the gradients are not those of the values: the table of kinks has them.
            S("eps", T(3, 4, grad=False), T(3, 4, of=(0.2, 2.0), grad=False), eps=2.5),
            S("zeros", T(data=np.zeros((2, 3)), grad=False), T(2, 3, grad=False), eps=0.01),
            S("vector", T(4), T(4, of=(0.2, 2.0)), 0),
        ],
        ulp=8,
        scale=lambda a, b, dim=1, eps=0: cosine(np.abs(a), np.abs(b), dim),
        family="nn",
    ),
    Op(
        _F + "pairwise_distance",
        distance,
        [
            S("plain", T(3, 4, of="nonzero"), T(3, 4, of="nonzero")),
            S("p1", *apart(), 1.0),
            S("p3", T(3, 4), T(3, 4, of=(-2.0, 2.0)), 3.0, keepdim=True),
            S("infinity", T(3, 4), T(3, 4, of=(-2.0, 2.0)), np.inf),
            S("eps", T(3, 4), T(3, 4, of=(-2.0, 2.0)), eps=0.5),
            S("broadcast", T(3, 4), T(4, of=(-2.0, 2.0))),
            S("vector", T(4), T(4, of=(-2.0, 2.0))),
        ],
        ulp=4,
        scale=lambda a, b, p=2.0, eps=1e-6, keepdim=False: distance(
            np.abs(a), -np.abs(b), p, eps, keepdim
        ),
        family="nn",
    ),
    Op(
        _F + "pdist",
        _pairs,
        [
            S("plain", T(4, 3)),
            S("p1", T(data=[[0.5, -1.0], [1.25, 2.0], [-0.75, 0.25]]), 1.0),
            S("p3", T(3, 4), 3.0),
            S("infinity", T(data=[[0.5, -1.0], [1.25, 2.0], [-0.75, 0.5]]), np.inf),
            S("one", T(1, 3)),
            S("none", T(0, 3)),
        ],
        ulp=4,
        errors=[
            E("rank", RuntimeError, "pdist only supports 2D tensors, got: 1D", T(3)),
            E("p", RuntimeError, "pdist only supports non-negative p values", T(3, 2), -1.0),
        ],
        family="nn",
    ),
]

OPS = [*MARGINS, *DISTANCES]
