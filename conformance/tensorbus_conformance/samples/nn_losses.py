"""Losses of values and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tensorbus_conformance.formats import COMPLEX64
from tensorbus_conformance.op import E, ErrorSample, Op, S, Sample, T

_F = "nn.functional."


def reduce(loss: np.ndarray, reduction: str) -> Any:
    """The losses themselves, their mean or their sum."""
    if reduction == "none":
        return loss
    return np.asarray(loss.mean() if reduction == "mean" else loss.sum())


def _reduced(loss: np.ndarray, reduction: str, weight: Any, weighted_mean: bool) -> Any:
    if reduction == "batchmean":
        return np.asarray(loss.sum() / loss.shape[0])
    if weight is None:
        return reduce(loss, reduction)
    if weighted_mean and reduction == "mean":
        return np.asarray((loss * weight).sum() / weight.sum())
    return reduce(loss * weight, reduction)


def loss_op(
    name: str,
    each: Callable[..., np.ndarray],
    operands: Callable[[], tuple[T, ...]],
    *more: Sample,
    ulp: float = 4,
    errors: list[ErrorSample] | None = None,
    grad_ulp: float = 16,
    scale: Callable[..., np.ndarray] | None = None,
    weighted_mean: bool = False,
    promotes: bool = False,
    refused: str = "is not a valid value for reduction",
) -> Op:
    """A loss whose elements *each* gives; every reduction of *operands*, and *more* samples.

    *refused*: what is said of an unknown reduction.
    """

    def reference(*args: Any, reduction: str = "mean", weight: Any = None, **kwargs: Any) -> Any:
        return _reduced(each(*args, **kwargs), reduction, weight, weighted_mean)

    def magnitude(*args: Any, reduction: str = "mean", weight: Any = None, **kwargs: Any) -> Any:
        terms = np.abs((scale or each)(*args, **kwargs))
        return _reduced(terms, reduction, weight, weighted_mean)

    samples = [
        S("mean", *operands()),
        S("sum", *operands(), reduction="sum"),
        S("none", *operands(), reduction="none"),
        *more,
    ]
    wrong = E(
        "reduction",
        ValueError,
        f"average {refused}",
        *operands(),
        reduction="average",
    )
    return Op(
        _F + name,
        reference,
        samples,
        ulp=ulp,
        scale=magnitude,
        grad_ulp=grad_ulp,
        promotes=promotes,
        errors=[wrong, *(errors or ())],
        family="nn",
    )


def _two() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(-3.0, 3.0))


def apart() -> tuple[T, ...]:
    """Operands that are nowhere near to one another."""
    far = np.resize([2.1, -1.9, 1.8, -2.3, -2.2], (3, 4))
    return T(3, 4), T(data=far)


def signs(*shape: int) -> T:
    """Targets 1 and -1."""
    return T(data=np.resize([1.0, -1.0, -1.0], shape), grad=False)


def _smooth(x: np.ndarray, y: np.ndarray, beta: float = 1.0) -> np.ndarray:
    d = np.abs(x - y)
    return np.where(d < beta, d**2 / (2 * beta or 1), d - beta / 2)


def _huber(x: np.ndarray, y: np.ndarray, delta: float = 1.0) -> np.ndarray:
    d = np.abs(x - y)
    return np.where(d <= delta, d**2 / 2, delta * (d - delta / 2))


def _absolute(x: np.ndarray, y: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    return np.abs(x) + np.abs(y)


def _squared(x: np.ndarray, y: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    """What the rounding of a difference makes of its square."""
    return (np.abs(x) + np.abs(y)) ** 2


def _entropy(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -(y * np.maximum(np.log(p), -100) + (1 - y) * np.maximum(np.log(1 - p), -100))


def _entropy_scale(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 - p rounds before the logarithm is taken."""
    return np.maximum(_entropy(p, y), 1 / np.maximum(1 - p, 1e-3))


def _with_logits(x: np.ndarray, y: np.ndarray, pos_weight: Any = None) -> np.ndarray:
    factor = 1 if pos_weight is None else pos_weight
    return -(factor * y * special.log_expit(x) + (1 - y) * special.log_expit(-x))


def _with_logits_scale(x: np.ndarray, y: np.ndarray, pos_weight: Any = None) -> np.ndarray:
    factor = 1 if pos_weight is None else pos_weight
    return np.abs(x) * (1 + factor * y) + np.logaddexp(0, np.abs(x))


def _divergence(x: np.ndarray, y: np.ndarray, log_target: bool = False) -> np.ndarray:
    if log_target:
        return np.exp(y) * (y - x)
    return special.xlogy(y, y) - y * x


def _divergence_scale(x: np.ndarray, y: np.ndarray, log_target: bool = False) -> np.ndarray:
    weight = np.exp(y) if log_target else y
    return weight * (np.abs(x) + np.abs(y if log_target else special.xlogy(1, y + (y == 0))))


def _poisson(
    x: np.ndarray, y: np.ndarray, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> np.ndarray:
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        big = np.maximum(y, 1.01)
        stirling = big * np.log(big) - big + np.log(2 * np.pi * big) / 2
        loss = loss + np.where(y > 1, stirling, 0)
    return loss


def _poisson_scale(
    x: np.ndarray, y: np.ndarray, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> np.ndarray:
    loss = np.exp(x) + np.abs(y * x) if log_input else x + np.abs(y * np.log(x + eps))
    if full:
        loss = loss + np.where(y > 1, y * np.log(y + 1) + y + 2, 0)
    return loss


VALUES = [
    loss_op(
        "mse_loss",
        lambda x, y: (x - y) ** 2,
        _two,
        S("weight", *_two(), weight=T(3, 4, of="positive", grad=False)),
        S("scalar", T(), T()),
        S("empty", T(0, 3), T(0, 3), reduction="sum"),
        S("empty-mean", T(0, 3), T(0, 3)),
        S("batch", T(2, 3, 4), T(2, 3, 4, of="unit")),
        promotes=True,
        scale=_squared,
        weighted_mean=True,
        errors=[
            E(
                "complex",
                NotImplementedError,
                "\"mse_cpu\" not implemented for 'ComplexFloat'",
                T(3),
                T(3),
                dtype=COMPLEX64,
            ),
        ],
    ),
    loss_op(
        "l1_loss",
        lambda x, y: np.abs(x - y),
        apart,
        S("weight", *apart(), weight=T(3, 4, of="positive", grad=False), reduction="none"),
        S("scalar", T(), T(of=(3.0, 4.0))),
        S("empty", T(0, 3), T(0, 3), reduction="none"),
        promotes=True,
        scale=_absolute,
        weighted_mean=True,
    ),
    loss_op(
        "smooth_l1_loss",
        _smooth,
        _two,
        S("beta", *_two(), beta=0.4),
        S("beta-zero", *_two(), beta=0.0),
        S("scalar", T(), T()),
        promotes=True,
        scale=lambda x, y, beta=1.0: _absolute(x, y) * 2 / max(min(beta, 1), 0.4),
        errors=[
            E(
                "beta",
                RuntimeError,
                r"smooth_l1_loss does not support negative values for beta\.",
                T(3),
                T(3),
                beta=-1.0,
            )
        ],
    ),
    loss_op(
        "huber_loss",
        _huber,
        _two,
        S("delta", *_two(), delta=0.4),
        S("delta-wide", *_two(), reduction="none", delta=2.3),
        S("weight", *_two(), weight=T(3, 4, of="positive", grad=False)),
        scale=lambda x, y, delta=1.0: _absolute(x, y) * max(delta, 1) * 2,
        errors=[
            E(
                "delta",
                RuntimeError,
                r"huber_loss does not support non-positive values for delta\.",
                T(3),
                T(3),
                delta=0.0,
            )
        ],
    ),
]


def _probabilities() -> tuple[T, ...]:
    return T(3, 4, of=(0.2, 0.8)), T(3, 4, of="fraction")


def _logits() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of="fraction")


def _log_probabilities() -> tuple[T, ...]:
    return T(3, 4, of=(-3.0, -0.2)), T(3, 4, of="fraction")


def _counts() -> tuple[T, ...]:
    return T(3, 4), T(3, 4, of=(0.2, 0.9))


PROBABILITIES = [
    loss_op(
        "binary_cross_entropy",
        _entropy,
        _probabilities,
        S("weight", *_probabilities(), weight=T(3, 4, of="positive", grad=False)),
        S("broadcast", *_probabilities(), weight=T(4, of="positive", grad=False), reduction="sum"),
        S(
            "certain",
            T(data=[0.0, 0.0, 1.0, 1.0], grad=False),
            T(data=[0.0, 1.0, 0.0, 1.0], grad=False),
            reduction="none",
        ),
        scale=_entropy_scale,
        errors=[
            E(
                variant,
                RuntimeError,
                "all elements of input should be between 0 and 1",
                T(data=[0.5, value]),
                T(2, of="fraction"),
                trait="host_sync",
            )
            for variant, value in (("above-one", 1.5), ("negative", -0.5), ("nan", np.nan))
        ],
    ),
    loss_op(
        "binary_cross_entropy_with_logits",
        _with_logits,
        _logits,
        S("weight", *_logits(), weight=T(3, 4, of="positive", grad=False)),
        S("pos-weight", *_logits(), pos_weight=T(4, of="positive", grad=False)),
        S(
            "both",
            *_logits(),
            weight=T(4, of="positive", grad=False),
            reduction="none",
            pos_weight=T(4, of="positive", grad=False),
        ),
        S(
            "large",
            T(data=[-300.0, -20.0, 0.0, 20.0, 300.0], grad=False),
            T(5, of="fraction", grad=False),
            reduction="none",
        ),
        scale=_with_logits_scale,
        errors=[
            E(
                "shapes",
                ValueError,
                r"Target size \(torch\.Size\(\[4\]\)\) must be the same as input size "
                r"\(torch\.Size\(\[3\]\)\)",
                T(3),
                T(4),
            )
        ],
    ),
    loss_op(
        "kl_div",
        _divergence,
        _log_probabilities,
        S("batchmean", *_log_probabilities(), reduction="batchmean"),
        S("log-target", T(3, 4, of=(-3.0, -0.2)), T(3, 4, of=(-3.0, -0.2)), log_target=True),
        S(
            "zero-target",
            T(3, of=(-3.0, -0.2), grad=False),
            T(data=[0.0, 0.5, 0.0], grad=False),
            reduction="none",
        ),
        scale=_divergence_scale,
    ),
    loss_op(
        "poisson_nll_loss",
        _poisson,
        _counts,
        S("linear", T(3, 4, of="positive"), T(3, 4, of="positive"), log_input=False),
        S("eps", T(3, 4, of="positive"), T(3, 4, of="positive"), log_input=False, eps=0.1),
        S("full", T(3, 4), T(data=np.arange(12.0).reshape(3, 4) / 2 + 0.2), full=True),
        S("zero-count", T(3), T(data=[0.0, 1.0, 3.0], grad=False), full=True, reduction="none"),
        scale=_poisson_scale,
    ),
    loss_op(
        "soft_margin_loss",
        lambda x, y: np.logaddexp(0, -y * x),
        lambda: (T(3, 4), signs(3, 4)),
        scale=lambda x, y: 1 + np.abs(x),
    ),
]


OPS = [*VALUES, *PROBABILITIES]
