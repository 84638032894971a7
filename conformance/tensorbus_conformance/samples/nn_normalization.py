"""Normalisation over batches, layers, groups and instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.activations import functional

_F = "nn.functional."


def _over(
    x: np.ndarray, dims: tuple[int, ...], eps: float, weight: Any, bias: Any, size: bool
) -> Any:
    """The normalised values, scaled and shifted; or the *size* of what was subtracted."""
    mean = x.mean(dims, keepdims=True)
    root = np.sqrt(((x - mean) ** 2).mean(dims, keepdims=True) + eps)
    if size:
        return (np.abs(x) + np.abs(mean)) / root * np.abs(weight) + np.abs(bias)
    return (x - mean) / root * weight + bias


def _channels(values: np.ndarray | None, rank: int, default: float) -> Any:
    return default if values is None else values.reshape(1, -1, *(1,) * (rank - 2))


def batch(size: bool) -> Callable[..., Any]:
    def reference(
        x: np.ndarray,
        running_mean: np.ndarray | None,
        running_var: np.ndarray | None,
        weight: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Any:
        w, b = _channels(weight, x.ndim, 1.0), _channels(bias, x.ndim, 0.0)
        if training:
            dims = tuple(d for d in range(x.ndim) if d != 1)
            return _over(x, dims, eps, w, b, size)
        mean, var = _channels(running_mean, x.ndim, 0), _channels(running_var, x.ndim, 1)
        if size:
            return (np.abs(x) + np.abs(mean)) / np.sqrt(var + eps) * np.abs(w) + np.abs(b)
        return (x - mean) / np.sqrt(var + eps) * w + b

    return reference


def batch_norm_running(
    x: np.ndarray,
    running_mean: np.ndarray,
    running_var: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, ...]:
    """(result, running mean, running variance) of a step of training."""
    dims = tuple(d for d in range(x.ndim) if d != 1)
    mean = (1 - momentum) * running_mean + momentum * x.mean(dims)
    var = (1 - momentum) * running_var + momentum * x.var(dims, ddof=1)
    y = batch(False)(x, None, None, weight, bias, True, 0.0, eps)
    return y, mean, var


def _running_size(x: np.ndarray, mean: np.ndarray, var: np.ndarray, *rest: Any, **_: Any) -> Any:
    weights = rest[:2] if len(rest) > 1 else ()
    y = batch(True)(x, None, None, *weights, training=True)
    dims = tuple(d for d in range(x.ndim) if d != 1)
    return y, np.abs(mean) + np.abs(x).max(dims), var + (np.abs(x).max(dims)) ** 2


def _call_running(
    x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, momentum: float = 0.1
) -> tuple[Any, ...]:
    mean, var = mean.clone(), var.clone()
    y = functional("batch_norm")(x, mean, var, weight, bias, True, momentum)
    return y, mean, var


def _instance_running(
    x: np.ndarray, running_mean: np.ndarray, running_var: np.ndarray, momentum: float = 0.1
) -> tuple[Any, ...]:
    dims = tuple(range(2, x.ndim))
    mean = (1 - momentum) * running_mean + momentum * x.mean(dims).mean(0)
    var = (1 - momentum) * running_var + momentum * x.var(dims, ddof=1).mean(0)
    return _instance(False)(x), mean, var


def _instance_running_size(
    x: np.ndarray, running_mean: np.ndarray, running_var: np.ndarray, momentum: float = 0.1
) -> tuple[Any, ...]:
    largest = np.abs(x).max((0, *range(2, x.ndim)))
    return _instance(True)(x), np.abs(running_mean) + largest, running_var + largest**2


def _call_instance_running(x: Any, mean: Any, var: Any, momentum: float = 0.1) -> tuple[Any, ...]:
    mean, var = mean.clone(), var.clone()
    return functional("instance_norm")(x, mean, var, momentum=momentum), mean, var


def layer(size: bool) -> Callable[..., Any]:
    def reference(
        x: np.ndarray,
        normalized_shape: Sequence[int],
        weight: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        eps: float = 1e-5,
    ) -> Any:
        dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
        w, b = (1.0 if weight is None else weight), (0.0 if bias is None else bias)
        return _over(x, dims, eps, w, b, size)

    return reference


def group(size: bool) -> Callable[..., Any]:
    def reference(
        x: np.ndarray,
        num_groups: int,
        weight: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        eps: float = 1e-5,
    ) -> Any:
        grouped = x.reshape(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups)
        plain = _over(grouped, (2,), eps, 1.0, 0.0, size).reshape(x.shape)
        w, b = _channels(weight, x.ndim, 1.0), _channels(bias, x.ndim, 0.0)
        return plain * np.abs(w) + np.abs(b) if size else plain * w + b

    return reference


def _instance(size: bool) -> Callable[..., Any]:
    def reference(
        x: np.ndarray,
        running_mean: np.ndarray | None = None,
        running_var: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        use_input_stats: bool = True,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Any:
        if not use_input_stats:
            return batch(size)(x, running_mean, running_var, weight, bias, eps=eps)
        return group(size)(x, x.shape[1], weight, bias, eps)

    return reference


def rms_norm(
    x: np.ndarray,
    normalized_shape: Sequence[int],
    weight: np.ndarray | None = None,
    eps: float = 0.0,
) -> np.ndarray:
    """The values over their root mean square; the default of *eps* is beneath notice."""
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    unit = x / np.sqrt((x**2).mean(dims, keepdims=True) + eps)
    return np.asarray(unit if weight is None else unit * weight)


_SETTINGS: dict[str, Any] = {"ulp": 2, "grad_ulp": 8, "family": "nn"}
_POSITIVE = T(3, of="positive", grad=False)
"""A running variance."""
_MEAN = T(3, grad=False)

OPS = [
    Op(
        _F + "batch_norm",
        batch(False),
        [
            S("plain", T(4, 3), None, None, T(3), T(3), True),
            S("planes", T(2, 3, 2, 2), None, None, T(3), T(3), True),
            S("sequence", T(2, 3, 4), None, None, training=True),
            S("volumes", T(2, 2, 1, 2, 2), None, None, None, T(2), True),
            S("no-bias", T(4, 3), None, None, T(3), None, True, 0.1, 0.1),
            S("offset", T(6, 2, of=(99.0, 101.0), grad=False), None, None, training=True),
            S("eval", T(4, 3), _MEAN, _POSITIVE, T(3), T(3)),
            S("eval-planes", T(2, 3, 2, 2), _MEAN, _POSITIVE, T(3), None, False, 0.1, 0.3),
            S("eval-plain", T(4, 3), _MEAN, _POSITIVE),
            S("eval-empty", T(0, 3), _MEAN, _POSITIVE),
        ],
        scale=batch(True),
        errors=[
            E(
                "complex",
                NotImplementedError,
                "\"batch_norm\" not implemented for 'ComplexFloat'",
                T(4, 3),
                None,
                None,
                training=True,
                dtype=formats.COMPLEX64,
            ),
            E(
                "running-mean",
                RuntimeError,
                "running_mean should contain 3 elements not 2",
                T(4, 3),
                T(2),
                T(3),
            ),
            E(
                "weight",
                RuntimeError,
                "weight should contain 3 elements not 4",
                T(4, 3),
                None,
                None,
                T(4),
                training=True,
            ),
            E(
                "not-training",
                RuntimeError,
                "running_mean must be defined in evaluation mode",
                T(4, 3),
                None,
                None,
            ),
            E(
                "one",
                ValueError,
                r"Expected more than 1 value per channel when training, got input size "
                r"torch\.Size\(\[1, 3\]\)",
                T(1, 3),
                None,
                None,
                training=True,
            ),
        ],
        **_SETTINGS,
    ),
    Op(
        _F + "batch_norm-running",
        batch_norm_running,
        [
            S("plain", T(4, 3), _MEAN, _POSITIVE, T(3), T(3)),
            S("momentum", T(2, 3, 2, 2), _MEAN, _POSITIVE, None, None, 0.4),
            S("average", T(2, 3, 4), _MEAN, _POSITIVE, momentum=1.0),
        ],
        scale=_running_size,
        gradient=False,
        call=_call_running,
        **_SETTINGS,
    ),
    Op(
        _F + "layer_norm",
        layer(False),
        [
            S("plain", T(3, 4), (4,), T(4), T(4)),
            S("two-dims", T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)),
            S("no-bias", T(2, 3, 4), [4], T(4)),
            S("no-weight", T(3, 4), (4,), None, T(4)),
            S("bare", T(3, 4), (4,), eps=0.2),
            S("whole", T(6), (6,)),
            S("offset", T(2, 6, of=(99.0, 101.0), grad=False), (6,)),
            S("empty", T(0, 4), (4,), T(4), T(4)),
        ],
        scale=layer(True),
        errors=[
            E(
                "complex",
                NotImplementedError,
                "\"LayerNormKernelImpl\" not implemented for 'ComplexFloat'",
                T(3, 4),
                (4,),
                dtype=formats.COMPLEX64,
            ),
            E(
                "shape",
                RuntimeError,
                r"Given normalized_shape=\[3\], expected input with shape \[\*, 3\], but got input "
                r"of size\[3, 4\]",
                T(3, 4),
                (3,),
            ),
            E(
                "weight",
                RuntimeError,
                r"Expected weight to be of same shape as normalized_shape, but got weight of shape "
                r"\[3\] and normalized_shape = \[4\]",
                T(3, 4),
                (4,),
                T(3),
            ),
        ],
        **_SETTINGS,
    ),
    Op(
        _F + "group_norm",
        group(False),
        [
            S("plain", T(2, 4, 3), 2, T(4), T(4)),
            S("one-group", T(2, 4), 1, T(4), T(4)),
            S("planes", T(2, 4, 2, 2), 4, T(4)),
            S("bare", T(2, 4, 2), 2, eps=0.2),
            S("no-weight", T(2, 4, 2), 2, None, T(4)),
            S("no-batch", T(0, 4, 2), 2, T(4), T(4)),
            S("no-places", T(2, 4, 0), 2, T(4), T(4)),
            S("no-channels", T(2, 0, 3), 2),
        ],
        scale=group(True),
        errors=[
            E(
                "complex",
                NotImplementedError,
                "\"GroupNormKernelImpl\" not implemented for 'ComplexFloat'",
                T(2, 4),
                2,
                dtype=formats.COMPLEX64,
            ),
            E(
                "groups",
                RuntimeError,
                r"Expected number of channels in input to be divisible by num_groups, but got "
                r"input of shape \[2, 4, 3\] and num_groups=3",
                T(2, 4, 3),
                3,
            ),
        ],
        **_SETTINGS,
    ),
    Op(
        _F + "instance_norm",
        _instance(False),
        [
            S("plain", T(2, 3, 4), weight=T(3), bias=T(3)),
            S("planes", T(2, 2, 2, 3), eps=0.2),
            S("running", T(2, 3, 4), _MEAN, _POSITIVE, T(3), T(3), False),
        ],
        scale=_instance(True),
        **_SETTINGS,
    ),
    Op(
        _F + "instance_norm-running",
        _instance_running,
        [
            S("plain", T(2, 3, 4), _MEAN, _POSITIVE),
            S("momentum", T(2, 3, 2, 2), _MEAN, _POSITIVE, 0.4),
        ],
        scale=_instance_running_size,
        gradient=False,
        call=_call_instance_running,
        **_SETTINGS,
    ),
    Op(
        _F + "rms_norm",
        rms_norm,
        [
            S("plain", T(3, 4), (4,), T(4), 1e-5),
            S("two-dims", T(2, 3, 4), (3, 4), T(3, 4), 0.1),
            S("bare", T(3, 4), (4,), eps=0.3),
        ],
        scale=lambda x, *args, **kwargs: np.abs(rms_norm(x, *args, **kwargs)),
        **_SETTINGS,
    ),
    Op(
        _F + "rms_norm-default",
        lambda x: rms_norm(x, (4,), eps=2.0**-23),
        [S("plain", T(data=[[0.01, 0.02, -0.03, 0.04]]))],
        # The machine precision of what halves are computed in; float64 has one of its own.
        dtypes=(formats.FLOAT16, formats.BFLOAT16, formats.FLOAT32),
        gradient=False,
        call=lambda x: functional("rms_norm")(x, (4,)),
        **_SETTINGS,
    ),
]
