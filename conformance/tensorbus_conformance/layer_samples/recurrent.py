"""Recurrent layers and cells, against loops over steps in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, State
from tensorbus_conformance.op import S, T

_INPUTS, _HIDDEN = 3, 4
_BOUND = 1 / math.sqrt(_HIDDEN)
Array = np.ndarray


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _gates(state: State, x: Array, h: Array, suffix: str) -> tuple[Array, Array]:
    """What the input and the hidden state give to all gates."""
    of_x, of_h = x @ state[f"weight_ih{suffix}"].T, h @ state[f"weight_hh{suffix}"].T
    if f"bias_ih{suffix}" in state:
        of_x, of_h = of_x + state[f"bias_ih{suffix}"], of_h + state[f"bias_hh{suffix}"]
    return of_x, of_h


def _rnn(state: State, x: Array, h: Array, c: Array, suffix: str) -> tuple[Array, Array]:
    a, b = _gates(state, x, h, suffix)
    return np.tanh(a + b), c


def _gru(state: State, x: Array, h: Array, c: Array, suffix: str) -> tuple[Array, Array]:
    a, b = (np.split(part, 3, -1) for part in _gates(state, x, h, suffix))
    r, z = _sigmoid(a[0] + b[0]), _sigmoid(a[1] + b[1])
    return (1 - z) * np.tanh(a[2] + r * b[2]) + z * h, c


def _lstm(state: State, x: Array, h: Array, c: Array, suffix: str) -> tuple[Array, Array]:
    a, b = _gates(state, x, h, suffix)
    i, f, g, o = np.split(a + b, 4, -1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    h = _sigmoid(o) * np.tanh(c)
    return (h @ state[f"weight_hr{suffix}"].T if f"weight_hr{suffix}" in state else h), c


_STEPS = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def _network(name: str) -> Any:
    def reference(state: State, x: Array, first: Array | None = None) -> Any:
        last: list[tuple[Array, Array]] = []
        layers = sum(key.startswith("weight_ih") and "reverse" not in key for key in state)
        for layer in range(layers):
            found = []
            for suffix in (f"_l{layer}", f"_l{layer}_reverse"):
                if f"weight_ih{suffix}" not in state:
                    continue
                outputs = state[f"weight_hh{suffix}"].shape[1]
                h = np.zeros((x.shape[1], outputs)) if first is None else first[len(last)]
                c = np.zeros((x.shape[1], _HIDDEN))
                back = suffix.endswith("reverse")
                steps = []
                for step in x[::-1] if back else x:
                    h, c = _STEPS[name](state, step, h, c, suffix)
                    steps.append(h)
                found.append(np.stack(steps[::-1] if back else steps))
                last.append((h, c))
            x = np.concatenate(found, -1)
        states = [np.stack(part) for part in zip(*last, strict=True)]
        return [x, *states] if name == "LSTM" else [x, states[0]]

    return reference


def _cell(name: str) -> Any:
    def reference(state: State, x: Array, h: Array | None = None) -> Any:
        h = np.zeros((len(x), _HIDDEN)) if h is None else h
        h, c = _STEPS[name](state, x, h, np.zeros_like(h), "")
        return [h, c] if name == "LSTM" else h

    return reference


def _weights(layers: int, kinds: str) -> list[str]:
    return [f"{kind}_l{layer}" for layer in range(layers) for kind in kinds.split()]


_PLAIN = "weight_ih weight_hh bias_ih bias_hh"


def _layer(name: str, variant: str, names: list[str], *inputs: T, **options: Any) -> Layer:
    of = _cell(name.removesuffix("Cell")) if name.endswith("Cell") else _network(name)
    return Layer(
        name, variant, S("", _INPUTS, _HIDDEN, **options), inputs, of,
        initial=dict.fromkeys(names, (-_BOUND, _BOUND)),
    )  # fmt: skip


_X = T(5, 2, _INPUTS)
LAYERS = [
    _layer("RNN", "one-layer", _weights(1, _PLAIN), _X),
    _layer("RNN", "states", _weights(1, _PLAIN), _X, T(1, 2, _HIDDEN)),
    _layer("GRU", "two-layers", _weights(2, _PLAIN), _X, T(2, 2, _HIDDEN), num_layers=2),
    _layer("GRU", "both-ways", _weights(1, _PLAIN), _X, bidirectional=True),
    _layer("LSTM", "two-layers-both-ways", _weights(2, _PLAIN), _X, num_layers=2,
           bidirectional=True),
    _layer("LSTM", "projection", _weights(1, _PLAIN + " weight_hr"), _X, proj_size=2),
    _layer("LSTM", "no-bias", _weights(1, "weight_ih weight_hh"), _X, bias=False),
    _layer("RNNCell", "states", _PLAIN.split(), T(2, _INPUTS), T(2, _HIDDEN)),
    _layer("GRUCell", "states", _PLAIN.split(), T(2, _INPUTS), T(2, _HIDDEN)),
    _layer("LSTMCell", "no-states", _PLAIN.split(), T(2, _INPUTS)),
]  # fmt: skip
