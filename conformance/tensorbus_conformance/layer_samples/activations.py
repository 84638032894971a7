"""Activations: each layer is a function of ``nn.functional`` with its arguments kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus_conformance.layer import Layer, plain, weighted
from tensorbus_conformance.op import S, T
from tensorbus_conformance.samples import activations, activations_along

_FUNCTIONS = {op.name: op.reference for op in (*activations.OPS, *activations_along.OPS)}


def function(name: str) -> Callable[..., Any]:
    """The reference of a function of ``nn.functional``."""
    return _FUNCTIONS[f"nn.functional.{name}"]


def _layer(name: str, of: str, x: T | None = None, variant: str = "plain", *args: Any) -> Layer:
    """A layer whose arguments are those of the function."""
    reference = plain(function(of), *args)
    return Layer(name, variant, S("", *args), (x or T(3, 4),), reference)


_WIDE = T(data=[[-4.1, -3.4, -2.3, -0.7], [0.3, 1.9, 2.6, 3.7], [5.3, 6.6, 9.0, -1.2]])

LAYERS = [
    _layer("ReLU", "relu"),
    _layer("ReLU6", "relu6", _WIDE),
    _layer("SELU", "selu"),
    _layer("SiLU", "silu"),
    _layer("Mish", "mish"),
    _layer("Hardswish", "hardswish", _WIDE),
    _layer("Hardsigmoid", "hardsigmoid", _WIDE),
    _layer("Hardtanh", "hardtanh"),
    _layer("Hardtanh", "hardtanh", None, "limits", -0.55, 0.95),
    _layer("Threshold", "threshold", None, "plain", 0.2, 20.0),
    _layer("LeakyReLU", "leaky_relu"),
    _layer("LeakyReLU", "leaky_relu", None, "slope", 0.3),
    Layer("RReLU", "plain", S("", 0.3, 0.3), (T(3, 4),), plain(function("leaky_relu"), 0.3)),
    _layer("ELU", "elu", None, "alpha", 0.7),
    _layer("CELU", "celu", None, "alpha", 1.7),
    _layer("GELU", "gelu"),
    Layer("GELU", "tanh", S("", "tanh"), (T(3, 4),), plain(function("gelu"), approximate="tanh")),
    _layer("Sigmoid", "sigmoid"),
    _layer("Tanh", "tanh"),
    _layer("LogSigmoid", "logsigmoid"),
    _layer("Softsign", "softsign"),
    _layer("Tanhshrink", "tanhshrink"),
    _layer("Softplus", "softplus"),
    _layer("Softplus", "softplus", None, "threshold", 2.0, 2.5),
    _layer("Hardshrink", "hardshrink", None, "lambd", 0.9),
    _layer("Softshrink", "softshrink"),
    Layer(
        "PReLU",
        "plain",
        S(""),
        (T(3, 4),),
        weighted(function("prelu"), names=("weight",)),
        initial={"weight": 0.25},
    ),
    Layer(
        "PReLU",
        "channels",
        S("", 3, init=0.4),
        (T(2, 3, 2),),
        weighted(function("prelu"), names=("weight",)),
        initial={"weight": 0.4},
    ),
    _layer("GLU", "glu"),
    _layer("GLU", "glu", T(4, 3), "dim", 0),
    _layer("Softmax", "softmax", None, "plain", 1),
    _layer("LogSoftmax", "log_softmax", None, "plain", 0),
    _layer("Softmin", "softmin", None, "plain", -1),
    Layer("Softmax2d", "plain", S(""), (T(2, 3, 2, 2),), plain(function("softmax"), 1)),
    Layer("Softmax2d", "unbatched", S(""), (T(3, 2, 2),), plain(function("softmax"), 0)),
]
