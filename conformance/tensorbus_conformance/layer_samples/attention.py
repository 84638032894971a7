"""Attention with several heads, and the Transformer made of it, without dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, State
from tensorbus_conformance.op import S, T
from tensorbus_conformance.samples.nn_attention import multihead

_SIZE, _HEADS, _WITHIN = 4, 2, 6
Array = np.ndarray


def _part(state: State, prefix: str) -> dict[str, Array]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def _attend(state: State, x: Array, to: Array, mask: Array | None = None) -> list[Array]:
    return multihead(
        x, to, to, _SIZE, _HEADS, state["in_proj_weight"], state.get("in_proj_bias"), None, None,
        False, 0.0, state["out_proj.weight"], state.get("out_proj.bias"), mask,
    )  # fmt: skip


def _norm(state: State, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return unit * state["weight"] + state["bias"]


def _network(state: State, x: Array) -> Array:
    within = np.maximum(x @ state["linear1.weight"].T + state["linear1.bias"], 0)
    return within @ state["linear2.weight"].T + state["linear2.bias"]


def _encoder_layer(state: State, x: Array) -> Array:
    x = _norm(_part(state, "norm1."), x + _attend(_part(state, "self_attn."), x, x)[0])
    return _norm(_part(state, "norm2."), x + _network(state, x))


def _decoder_layer(state: State, x: Array, memory: Array) -> Array:
    x = _norm(_part(state, "norm1."), x + _attend(_part(state, "self_attn."), x, x)[0])
    other = _attend(_part(state, "multihead_attn."), x, memory)[0]
    x = _norm(_part(state, "norm2."), x + other)
    return _norm(_part(state, "norm3."), x + _network(state, x))


def _decoder(state: State, x: Array, memory: Array) -> Array:
    return _decoder_layer(_part(state, "layers.0."), x, memory)


def _transformer(state: State, src: Array, tgt: Array) -> Array:
    memory = _encoder_layer(_part(state, "encoder.layers.0."), src)
    memory = _norm(_part(state, "encoder.norm."), memory)
    made = _decoder(_part(state, "decoder."), tgt, memory)
    return _norm(_part(state, "decoder.norm."), made)


def _layer(
    name: str, args: tuple[Any, ...], reference: Any, *inputs: T, gradient: bool = True
) -> Layer:
    return Layer(name, "plain", S("", *args), inputs, reference, ulp=128.0, gradient=gradient)


_X, _MEMORY = T(3, 2, _SIZE), T(5, 2, _SIZE)
_BOUND = math.sqrt(6 / (4 * _SIZE))
LAYERS = [
    Layer(
        "MultiheadAttention", "plain", S("", _SIZE, _HEADS), (_X, _MEMORY, _MEMORY),
        lambda state, q, k, v: multihead(
            q, k, v, _SIZE, _HEADS, state["in_proj_weight"], state["in_proj_bias"], None, None,
            False, 0.0, state["out_proj.weight"], state["out_proj.bias"],
        ),
        initial={"in_proj_weight": (-_BOUND, _BOUND), "in_proj_bias": 0.0, "out_proj.bias": 0.0},
        ulp=32.0,
    ),
    _layer("TransformerEncoderLayer", (_SIZE, _HEADS, _WITHIN, 0.0), _encoder_layer, _X),
    _layer("TransformerDecoderLayer", (_SIZE, _HEADS, _WITHIN, 0.0), _decoder_layer, _X, _MEMORY),
    # Of the whole, differences are too coarse: its layers are differentiated.
    _layer(
        "Transformer", (_SIZE, _HEADS, 1, 1, _WITHIN, 0.0), _transformer, _MEMORY, _X,
        gradient=False,
    ),
]  # fmt: skip
