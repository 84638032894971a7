"""Layers with weights, and those that normalise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, State, plain, weighted
from tensorbus_conformance.op import I, S, T
from tensorbus_conformance.samples import nn_normalization
from tensorbus_conformance.samples.nn_convolution import convolution, transposed
from tensorbus_conformance.samples.nn_misc import bilinear, linear

_FUNCTIONS = {op.name: op.reference for op in nn_normalization.OPS}


def _within(bound: float) -> tuple[float, float]:
    return -bound, bound


def _linear(variant: str, x: T, features: int, outputs: int, bias: bool = True) -> Layer:
    limits = _within(1 / math.sqrt(features))
    names = ("weight", "bias") if bias else ("weight",)
    return Layer(
        "Linear",
        variant,
        S("", features, outputs, bias),
        (x,),
        weighted(linear),
        initial=dict.fromkeys(names, limits),
    )


def _conv(name: str, variant: str, x: T, args: tuple[int, ...], **kwargs: Any) -> Layer:
    """A convolution: channels in, channels out, kernel; and what the reference knows as well."""
    dims = int(name[-2])
    kernel = args[2] ** dims
    fan = (args[1] if "Transpose" in name else args[0]) // kwargs.get("groups", 1) * kernel
    known = {k: v for k, v in kwargs.items() if k not in ("bias", "padding_mode")}
    names = ("weight", "bias") if kwargs.get("bias", True) else ("weight",)
    mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if "padding_mode" in kwargs:
        known["mode"] = mode[kwargs["padding_mode"]]
    return Layer(
        name,
        variant,
        S("", *args, **kwargs),
        (x,),
        weighted(transposed if "Transpose" in name else convolution, **known),
        initial=dict.fromkeys(names, _within(1 / math.sqrt(fan))),
    )


def _table(state: State, i: np.ndarray) -> np.ndarray:
    return np.asarray(state["weight"][i])


CONVOLUTIONS = [
    _conv("Conv1d", "plain", T(2, 2, 6), (2, 3, 3)),
    _conv("Conv1d", "strided", T(2, 4, 7), (4, 2, 3), stride=2, padding=1, groups=2),
    _conv("Conv1d", "circular", T(1, 2, 5), (2, 2, 3), padding=1, padding_mode="circular"),
    _conv("Conv2d", "plain", T(2, 2, 4, 5), (2, 3, 3)),
    _conv("Conv2d", "strided", T(1, 2, 5, 6), (2, 4, 3), stride=2, padding=1, bias=False),
    _conv("Conv2d", "depthwise", T(1, 3, 4, 4), (3, 3, 3), padding=1, groups=3),
    _conv("Conv2d", "dilated", T(1, 1, 6, 6), (1, 2, 2), dilation=3),
    _conv("Conv2d", "same", T(1, 1, 4, 5), (1, 2, 2), padding="same"),
    _conv("Conv2d", "valid", T(2, 4, 5), (2, 2, 2), padding="valid"),
    _conv("Conv2d", "reflect", T(1, 1, 4, 5), (1, 2, 3), padding=2, padding_mode="reflect"),
    _conv("Conv2d", "replicate", T(1, 1, 4, 5), (1, 2, 3), padding=1, padding_mode="replicate"),
    _conv(
        "Conv2d", "same-circular", T(1, 1, 4, 5), (1, 1, 2), padding="same", padding_mode="circular"
    ),
    _conv("ConvTranspose1d", "plain", T(2, 2, 4), (2, 3, 3)),
    _conv("ConvTranspose1d", "strided", T(1, 2, 4), (2, 2, 3), stride=2, padding=1),
    _conv("ConvTranspose2d", "plain", T(1, 2, 3, 4), (2, 3, 2)),
    _conv(
        "ConvTranspose2d", "strided", T(1, 4, 3, 3), (4, 2, 3), stride=2, padding=1,
        output_padding=1, groups=2,
    ),
    _conv("Conv3d", "plain", T(1, 2, 3, 3, 4), (2, 3, 2)),
    _conv("Conv3d", "strided", T(1, 2, 3, 4, 5), (2, 2, 3), stride=2, padding=1, groups=2),
    _conv("ConvTranspose3d", "strided", T(1, 2, 2, 2, 3), (2, 1, 2), stride=2, output_padding=1),
    Layer(
        "ConvTranspose2d",
        "output-size",
        S("", 2, 1, 3, stride=2),
        (T(1, 2, 3, 3),),
        weighted(transposed, stride=2, output_padding=(1, 0)),
        call={"output_size": (8, 7)},
    ),
]  # fmt: skip


def _norm(name: str, variant: str, function: str, x: T, made: Any, *args: Any, **kw: Any) -> Layer:
    names = kw.pop("names", ("weight", "bias"))
    start = {"weight": 1.0, "bias": 0.0}
    return Layer(
        name,
        variant,
        made,
        (x,),
        _normalised(_FUNCTIONS[f"nn.functional.{function}"], *args, **kw),
        initial={n: start[n] for n in names},
    )


def _normalised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    def reference(state: State, x: np.ndarray) -> Any:
        parameters = {n: state[n] for n in ("weight", "bias") if n in state}
        return function(x, *args, **parameters, **kwargs)

    return reference


def _batch(name: str, variant: str, x: T, made: Any, momentum: float = 0.1, eps: float = 1e-5,
           tracked: bool = True, names: tuple[str, ...] = ("weight", "bias")) -> Layer:  # fmt: skip
    reference = _FUNCTIONS["nn.functional.batch_norm"]

    def training(state: State, x: np.ndarray) -> Any:
        return reference(x, None, None, state.get("weight"), state.get("bias"), True, 0, eps)

    def evaluated(state: State, x: np.ndarray) -> Any:
        stats = state["running_mean"], state["running_var"]
        return reference(x, *stats, state.get("weight"), state.get("bias"), False, 0, eps)

    def after(state: State, x: np.ndarray) -> State:
        stats = state["running_mean"], state["running_var"]
        found = nn_normalization.batch_norm_running(x, *stats, momentum=momentum)
        count = state["num_batches_tracked"] + 1
        return {"running_mean": found[1], "running_var": found[2], "num_batches_tracked": count}

    start = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
    stats = ("running_mean", "running_var") if tracked else ()
    return Layer(
        name,
        variant,
        made,
        (x,),
        training,
        evaluated if tracked else None,
        after if tracked else None,
        {n: start[n] for n in (*names, *stats)},
    )


NORMS = [
    _batch("BatchNorm1d", "plain", T(4, 3), S("", 3)),
    _batch("BatchNorm1d", "sequence", T(2, 3, 4), S("", 3, momentum=0.3), 0.3),
    # The first batch of a plain average replaces what was there.
    _batch("BatchNorm1d", "average", T(4, 3), S("", 3, momentum=None), 1.0),
    _batch("BatchNorm2d", "plain", T(2, 3, 2, 3), S("", 3, eps=0.1), eps=0.1),
    _batch("BatchNorm2d", "bare", T(2, 3, 2, 2), S("", 3, affine=False), names=()),
    _batch("BatchNorm2d", "no-bias", T(2, 3, 2, 2), S("", 3, bias=False), names=("weight",)),
    _batch("BatchNorm2d", "untracked", T(2, 3, 2, 2), S("", 3, track_running_stats=False),
           tracked=False),
    _batch("BatchNorm3d", "plain", T(2, 2, 1, 2, 2), S("", 2)),
    _batch("SyncBatchNorm", "alone", T(2, 3, 2, 3), S("", 3, eps=0.1), eps=0.1),
    _norm("LayerNorm", "plain", "layer_norm", T(3, 4), S("", 4), (4,)),
    _norm("LayerNorm", "two-dims", "layer_norm", T(2, 3, 4), S("", (3, 4), eps=0.1), (3, 4),
          eps=0.1),
    _norm("LayerNorm", "no-bias", "layer_norm", T(3, 4), S("", 4, bias=False), (4,),
          names=("weight",)),
    _norm("LayerNorm", "bare", "layer_norm", T(3, 4), S("", [4], elementwise_affine=False), (4,),
          names=()),
    _norm("GroupNorm", "plain", "group_norm", T(2, 4, 3), S("", 2, 4), 2),
    _norm("GroupNorm", "bare", "group_norm", T(2, 4, 2, 2), S("", 4, 4, affine=False), 4, names=()),
    _norm("InstanceNorm1d", "plain", "instance_norm", T(2, 3, 5), S("", 3), names=()),
    _norm("InstanceNorm2d", "affine", "instance_norm", T(2, 3, 2, 3), S("", 3, affine=True)),
    _norm("InstanceNorm3d", "plain", "instance_norm", T(2, 2, 2, 2, 3), S("", 2, eps=0.1),
          eps=0.1, names=()),
    _norm("RMSNorm", "plain", "rms_norm", T(3, 4), S("", 4, eps=1e-3), (4,), eps=1e-3,
          names=("weight",)),
    _norm("RMSNorm", "default", "rms_norm", T(3, 4), S("", (3, 4)), (3, 4), names=("weight",)),
]  # fmt: skip

LAYERS = [
    _linear("plain", T(3, 4), 4, 2),
    _linear("no-bias", T(2, 3, 4), 4, 5, False),
    _linear("vector", T(4), 4, 3),
    Layer("Identity", "plain", S("", 54, unused=1), (T(3, 4),), plain(lambda x: x)),
    Layer(
        "Bilinear",
        "plain",
        S("", 2, 4, 3),
        (T(3, 2), T(3, 4)),
        weighted(bilinear),
        initial=dict.fromkeys(("weight", "bias"), _within(1 / math.sqrt(2))),
    ),
    Layer(
        "Bilinear",
        "no-bias",
        S("", 2, 3, 2, bias=False),
        (T(2, 2, 2), T(2, 2, 3)),
        weighted(bilinear),
    ),
    Layer("Embedding", "plain", S("", 5, 3), (I([[1, 0], [3, 1]]),), _table),
    Layer("Embedding", "padding", S("", 4, 3, padding_idx=2), (I([1, 0, 2]),), _table,
          gradient=False),
    *CONVOLUTIONS,
    *NORMS,
]  # fmt: skip
