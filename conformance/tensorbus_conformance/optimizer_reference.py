"""Optimisers over NumPy in float64, step by step from their published formulas.

Each function takes the parameter, its gradient, the state (a dict, empty at first) and the number
of the step, from 1, and returns the new parameter. Names in the state are those of checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

State = dict[str, Any]


def _prepared(p: Any, g: Any, maximize: bool, weight_decay: float) -> Any:
    """The gradient to follow downwards, with the decay that is part of it."""
    return (-g if maximize else g) + weight_decay * p


def _mean(state: State, name: str, value: Any, beta: float) -> Any:
    """The running mean under a name, begun at 0."""
    state[name] = beta * state.get(name, 0.0) + (1 - beta) * value
    return state[name]


def sgd(
    p: Any, g: Any, s: State, t: int, lr: float, momentum: float = 0, dampening: float = 0,
    weight_decay: float = 0, nesterov: bool = False, maximize: bool = False,
) -> Any:  # fmt: skip
    """Gradient descent with momentum."""
    g = _prepared(p, g, maximize, weight_decay)
    if momentum:
        first = "momentum_buffer" not in s
        s["momentum_buffer"] = g if first else momentum * s["momentum_buffer"] + (1 - dampening) * g
        g = g + momentum * s["momentum_buffer"] if nesterov else s["momentum_buffer"]
    return p - lr * g


def adam(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, maximize: bool = False,
    decoupled_weight_decay: bool = False,
) -> Any:  # fmt: skip
    """Kingma and Ba, 2014; amsgrad: Reddi et al., 2018; decoupled: Loshchilov and Hutter, 2017."""
    g = _prepared(p, g, maximize, 0 if decoupled_weight_decay else weight_decay)
    if decoupled_weight_decay:
        p = p - lr * weight_decay * p
    m = _mean(s, "exp_avg", g, betas[0])
    v = _mean(s, "exp_avg_sq", g * g, betas[1])
    if amsgrad:
        v = s["max_exp_avg_sq"] = np.maximum(s.get("max_exp_avg_sq", 0.0), v)
    s["step"] = float(t)
    m, v = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
    return p - lr * m / (np.sqrt(v) + eps)


def adamw(p: Any, g: Any, s: State, t: int, weight_decay: float = 1e-2, **options: Any) -> Any:
    """Adam with decoupled decay."""
    return adam(p, g, s, t, weight_decay=weight_decay, decoupled_weight_decay=True, **options)


def nadam(
    p: Any, g: Any, s: State, t: int, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
    decoupled_weight_decay: bool = False, maximize: bool = False,
) -> Any:  # fmt: skip
    """Dozat, 2016."""
    g = _prepared(p, g, maximize, 0 if decoupled_weight_decay else weight_decay)
    if decoupled_weight_decay:
        p = p - lr * weight_decay * p
    now = betas[0] * (1 - 0.96 ** (t * momentum_decay) / 2)
    following = betas[0] * (1 - 0.96 ** ((t + 1) * momentum_decay) / 2)
    product = s["mu_product"] = s.get("mu_product", 1.0) * now
    m = _mean(s, "exp_avg", g, betas[0])
    v = _mean(s, "exp_avg_sq", g * g, betas[1])
    s["step"] = float(t)
    ahead = following * m / (1 - product * following) + (1 - now) * g / (1 - product)
    return p - lr * ahead / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def radam(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False,
    maximize: bool = False,
) -> Any:  # fmt: skip
    """Liu et al., 2019."""
    g = _prepared(p, g, maximize, 0 if decoupled_weight_decay else weight_decay)
    if decoupled_weight_decay:
        p = p - lr * weight_decay * p
    m = _mean(s, "exp_avg", g, betas[0]) / (1 - betas[0] ** t)
    v = _mean(s, "exp_avg_sq", g * g, betas[1])
    s["step"] = float(t)
    longest = 2 / (1 - betas[1]) - 1
    length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
    if length <= 5:
        return p - lr * m
    r = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return p - lr * m * math.sqrt(r) * math.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)


def adagrad(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-2, lr_decay: float = 0,
    weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10,
    maximize: bool = False,
) -> Any:  # fmt: skip
    """Duchi et al., 2011."""
    g = _prepared(p, g, maximize, weight_decay)
    s["sum"] = s.get("sum", initial_accumulator_value) + g * g
    s["step"] = float(t)
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)


def adadelta(
    p: Any, g: Any, s: State, t: int, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
    weight_decay: float = 0, maximize: bool = False,
) -> Any:  # fmt: skip
    """Zeiler, 2012."""
    g = _prepared(p, g, maximize, weight_decay)
    v = _mean(s, "square_avg", g * g, rho)
    change = np.sqrt(s.get("acc_delta", 0.0) + eps) / np.sqrt(v + eps) * g
    _mean(s, "acc_delta", change * change, rho)
    s["step"] = float(t)
    return p - lr * change


def rmsprop(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
    weight_decay: float = 0, momentum: float = 0, centered: bool = False, maximize: bool = False,
) -> Any:  # fmt: skip
    """Hinton's lecture; centred: Graves, 2013."""
    g = _prepared(p, g, maximize, weight_decay)
    v = _mean(s, "square_avg", g * g, alpha)
    if centered:
        v = v - _mean(s, "grad_avg", g, alpha) ** 2
    change = g / (np.sqrt(v) + eps)
    s["step"] = float(t)
    if momentum:
        change = s["momentum_buffer"] = momentum * s.get("momentum_buffer", 0.0) + change
    return p - lr * change


def adamax(
    p: Any, g: Any, s: State, t: int, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8, weight_decay: float = 0, maximize: bool = False,
) -> Any:  # fmt: skip
    """Kingma and Ba, 2014, with the infinity norm."""
    g = _prepared(p, g, maximize, weight_decay)
    m = _mean(s, "exp_avg", g, betas[0])
    s["exp_inf"] = np.maximum(betas[1] * s.get("exp_inf", 0.0), np.abs(g) + eps)
    s["step"] = float(t)
    return p - lr / (1 - betas[0] ** t) * m / s["exp_inf"]


def rprop(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
    step_sizes: tuple[float, float] = (1e-6, 50), maximize: bool = False,
) -> Any:  # fmt: skip
    """Riedmiller and Braun, 1993."""
    g = _prepared(p, g, maximize, 0)
    agreement = np.sign(g * s.get("prev", 0.0))
    factor = np.where(agreement > 0, etas[1], np.where(agreement < 0, etas[0], 1.0))
    size = s.get("step_size", np.full_like(g, lr))
    s["step_size"] = np.clip(size * factor, *step_sizes)
    g = s["prev"] = np.where(agreement < 0, 0.0, g)
    s["step"] = float(t)
    return p - np.sign(g) * s["step_size"]


def asgd(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
    t0: float = 1e6, weight_decay: float = 0, maximize: bool = False,
) -> Any:  # fmt: skip
    """Polyak and Juditsky, 1992."""
    g = _prepared(p, g, maximize, weight_decay)
    eta, mu = s.get("eta", lr), s.get("mu", 1.0)
    p = p * (1 - lambd * eta) - eta * g
    s["ax"] = s.get("ax", 0.0) + mu * (p - s.get("ax", 0.0))
    s["eta"] = lr / (1 + lambd * lr * t) ** alpha
    s["mu"] = 1 / max(1, t - t0)
    s["step"] = float(t)
    return p


def adafactor(
    p: Any, g: Any, s: State, t: int, lr: float = 1e-2, beta2_decay: float = -0.8,
    eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0,
    maximize: bool = False,
) -> Any:  # fmt: skip
    """Shazeer and Stern, 2018, with a largest rate and decoupled decay."""
    g = -g if maximize else g
    lowest, beta = eps[0] or 0.0, 1 - t**beta2_decay
    size = max(eps[1], np.sqrt((p * p).mean())) * min(lr, t**-0.5)
    p = p - lr * weight_decay * p
    s["step"] = float(t)
    if g.ndim > 1:
        rows = _mean(s, "row_var", (g * g).mean(-1, keepdims=True), beta)
        columns = _mean(s, "col_var", (g * g).mean(-2, keepdims=True), beta)
        moments = rows * columns / np.maximum(rows.mean(-2, keepdims=True), lowest)
    else:
        moments = _mean(s, "variance", g * g, beta)
    update = g / np.sqrt(np.maximum(moments, lowest**2))
    return p - size * update / max(1.0, np.sqrt((update * update).mean()) / d)


ALGORITHMS: dict[str, Callable[..., Any]] = {
    "SGD": sgd,
    "Adam": adam,
    "AdamW": adamw,
    "NAdam": nadam,
    "RAdam": radam,
    "Adagrad": adagrad,
    "Adadelta": adadelta,
    "RMSprop": rmsprop,
    "Adamax": adamax,
    "Rprop": rprop,
    "ASGD": asgd,
    "Adafactor": adafactor,
}


def lbfgs(
    value: Callable[[Any], tuple[float, Any]], p: Any, steps: int, lr: float, history: int
) -> Any:
    """L-BFGS with a fixed step (Nocedal and Wright, algorithm 7.4); the first one is shorter."""
    pairs: list[tuple[Any, Any]] = []
    _, g = value(p)
    scale = 1.0
    for k in range(steps):
        q = -g
        weights = []
        for s, y in reversed(pairs):
            a = s @ q / (s @ y)
            weights.append(a)
            q = q - a * y
        q = scale * q
        for (s, y), a in zip(pairs, reversed(weights), strict=True):
            q = q + (a - y @ q / (s @ y)) * s
        length = lr * (min(1.0, 1 / np.abs(g).sum()) if k == 0 else 1.0)
        new = p + length * q
        _, after = value(new)
        s, y = new - p, after - g
        pairs = [*pairs, (s, y)][-history:]
        scale = s @ y / (y @ y)
        p, g = new, after
    return p
