"""Recurrent networks and cells as functions of their weights, in both directions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance.op import COMPLEX, FLOATING, Op, S, Sample, T

Array = np.ndarray
_INPUTS, _HIDDEN, _BATCH, _STEPS = 3, 2, 2, 3
_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


# -- references --------------------------------------------------------------------------------
def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _step(name: str, x: Array, state: list[Array], w: Sequence[Array]) -> list[Array]:
    """One step, of weights for input and state, two biases, and maybe a projection's."""
    h = state[0]
    a, b = x @ w[0].T + w[2], h @ w[1].T + w[3]
    if name == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        c = _sigmoid(f) * state[1] + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        return [h @ w[4].T if len(w) > 4 else h, c]
    if name == "gru":
        (xr, xz, xn), (hr, hz, hn) = np.split(a, 3, -1), np.split(b, 3, -1)
        z = _sigmoid(xz + hz)
        return [(1 - z) * np.tanh(xn + _sigmoid(xr + hr) * hn) + z * h]
    return [np.maximum(a + b, 0) if name == "rnn_relu" else np.tanh(a + b)]


def _network(name: str) -> Any:
    def reference(x: Array, hx: Any, params: Sequence[Array], *rest: Any) -> tuple[Array, ...]:
        states = list(hx) if name == "lstm" else [hx]
        directions = len(states[0])
        each = len(params) // directions
        outputs, last = [], []
        for k in range(directions):
            state, found = [s[k] for s in states], []
            for step in x[::-1] if k else x:
                state = _step(name, step, state, params[k * each : (k + 1) * each])
                found.append(state[0])
            outputs.append(np.stack(found[::-1] if k else found))
            last.append(state)
        y = np.concatenate(outputs, -1)
        return (y, *(np.stack(parts) for parts in zip(*last, strict=True)))

    return reference


def _cell(name: str) -> Any:
    def reference(x: Array, hx: Any, *w: Array) -> Any:
        found = _step(name, x, list(hx) if name == "lstm" else [hx], w)
        return tuple(found) if name == "lstm" else found[0]

    return reference


# -- samples -----------------------------------------------------------------------------------
def _weights(name: str, projected: int, make: Callable[..., T]) -> list[T]:
    rows, out = _GATES[name] * _HIDDEN, projected or _HIDDEN
    found = [make(rows, _INPUTS), make(rows, out), make(rows), make(rows)]
    return [*found, make(projected, _HIDDEN)] if projected else found


def _states(name: str, make: Callable[..., T], *first: int, projected: int = 0) -> Any:
    h = make(*first, projected or _HIDDEN)
    return (h, make(*first, _HIDDEN)) if name == "lstm" else h


def _network_samples(name: str, make: Callable[..., T]) -> list[Sample]:
    forms = [("one-way", 1, 0), ("both-ways", 2, 0)]
    if name == "lstm":
        forms.append(("projected", 2, 1))
    found = []
    for variant, directions, projected in forms:
        hx = _states(name, make, directions, _BATCH, projected=projected)
        weights = _weights(name, projected, make) * directions
        options = (True, 1, 0.0, False, directions == 2)
        x = make(_STEPS, _BATCH, _INPUTS)
        found.append(S(variant, x, hx, weights, *options, False))
    return found


def _cell_samples(name: str, make: Callable[..., T]) -> list[Sample]:
    weights = _weights(name, 0, make)
    return [S("step", make(_BATCH, _INPUTS), _states(name, make, _BATCH), *weights)]


_Samples = Callable[[str, Callable[..., T]], list[Sample]]


def _op(name: str, suffix: str, reference: Any, samples: _Samples) -> Op:
    found = samples(name, T)
    dtypes: tuple[Dtype, ...] = FLOATING
    if name != "rnn_relu":
        # The tangent of a complex number has poles: small ones lie apart from them.
        small = samples(name, functools.partial(T, of=(-0.4, 0.4)))
        found = [s.only(*FLOATING) for s in found] + [s.only(*COMPLEX) for s in small]
        dtypes = (*FLOATING, *COMPLEX)
    return Op(
        f"{name}{suffix}", reference, found, ulp=8.0, measure="norm", family="nn",
        layouts=("transposed",), inplace=False, dtypes=dtypes,
    )  # fmt: skip


OPS = [
    *(_op(name, "", _network(name), _network_samples) for name in _GATES),
    *(_op(name, "_cell", _cell(name), _cell_samples) for name in _GATES),
]
