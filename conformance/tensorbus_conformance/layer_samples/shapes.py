"""Layers without weights: pools, borders, reorderings, distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.layer import Layer, plain
from tensorbus_conformance.op import I, S, T
from tensorbus_conformance.samples import nn_pooling, nn_volume_pools
from tensorbus_conformance.samples.nn_columns import fold, unfold
from tensorbus_conformance.samples.nn_margins import cosine, distance
from tensorbus_conformance.samples.nn_rearranged import (
    channel_shuffle,
    pad,
    pixel_shuffle,
    pixel_unshuffle,
)
from tensorbus_conformance.samples.nn_resampling import interpolate, local_response_norm

_POOLS = {
    op.name.removeprefix("nn.functional."): op.reference
    for op in (*nn_pooling.OPS, *nn_volume_pools.OPS)
}


def _pool(name: str, of: str, x: T, variant: str = "plain", *args: Any, **kwargs: Any) -> Layer:
    return Layer(name, variant, S("", *args, **kwargs), (x,), plain(_POOLS[of], *args, **kwargs))


def _pad(name: str, x: T, widths: Any, mode: str = "constant", variant: str = "plain",
         value: float | None = None) -> Layer:  # fmt: skip
    dims = int(name[-2])
    whole = (widths,) * 2 * dims if isinstance(widths, int) else widths
    made = S("", widths) if value is None else S("", widths, value)
    return Layer(name, variant, made, (x,), plain(pad, whole, mode, value))


def _reshaped(*shape: int) -> Any:
    return plain(np.reshape, shape)


LAYERS = [
    _pool("MaxPool1d", "max_pool1d", T(2, 3, 6), "plain", 2),
    _pool("MaxPool1d", "max_pool1d", T(2, 3, 7), "strided", 3, 2, 1),
    _pool("MaxPool2d", "max_pool2d", T(2, 3, 4, 6), "plain", 2),
    _pool("MaxPool2d", "max_pool2d", T(1, 2, 6, 7), "ceil", (3, 2), 2, 1, ceil_mode=True),
    _pool("MaxPool2d", "max_pool2d", T(1, 2, 4, 4), "indices", 2, return_indices=True),
    _pool("AvgPool1d", "avg_pool1d", T(2, 3, 6), "plain", 2),
    _pool("AvgPool1d", "avg_pool1d", T(2, 3, 7), "padded", 3, 2, 1, count_include_pad=False),
    _pool("AvgPool2d", "avg_pool2d", T(2, 3, 4, 6), "plain", 2),
    _pool("AvgPool2d", "avg_pool2d", T(1, 2, 6, 7), "padded", 3, 2, 1, True, False),
    _pool("AvgPool2d", "avg_pool2d", T(1, 2, 4, 4), "divisor", 2, divisor_override=3),
    _pool("AdaptiveAvgPool1d", "adaptive_avg_pool1d", T(2, 3, 7), "plain", 3),
    _pool("AdaptiveAvgPool2d", "adaptive_avg_pool2d", T(1, 2, 5, 7), "plain", (3, None)),
    _pool("AdaptiveAvgPool2d", "adaptive_avg_pool2d", T(1, 2, 4, 4), "one", 1),
    _pool("AdaptiveMaxPool1d", "adaptive_max_pool1d", T(2, 3, 7), "plain", 3),
    _pool("AdaptiveMaxPool2d", "adaptive_max_pool2d", T(1, 2, 5, 7), "plain", (3, 4)),
    _pool(
        "AdaptiveMaxPool2d", "adaptive_max_pool2d", T(1, 2, 5, 7), "indices", 2, return_indices=True
    ),
    _pool("MaxPool3d", "max_pool3d", T(1, 1, 4, 5, 2), "plain", (2, 3, 1), 2),
    _pool("AvgPool3d", "avg_pool3d", T(1, 1, 4, 5, 2), "plain", (2, 3, 1), 2),
    _pool("AvgPool3d", "avg_pool3d", T(1, 1, 3, 3, 3), "divisor", 2, divisor_override=3),
    _pool("AdaptiveAvgPool3d", "adaptive_avg_pool3d", T(1, 1, 4, 5, 2), "plain", (2, None, 1)),
    _pool("AdaptiveMaxPool3d", "adaptive_max_pool3d", T(1, 1, 4, 5, 2), "plain", (2, None, 1)),
    *(
        _pool(f"LPPool{n}d", f"lp_pool{n}d", T(1, 2, *(4, 3, 2)[:n], of="positive"), "plain", 2, 2)
        for n in (1, 2, 3)
    ),
    *(
        Layer(
            f"MaxUnpool{n}d",
            "plain",
            S("", 2),
            (T(1, 1, *(2,) * n), I(np.arange(2**n).reshape(1, 1, *(2,) * n) * 2)),
            plain(_POOLS[f"max_unpool{n}d"], 2),
        )
        for n in (1, 2, 3)
    ),
    *(  # one window, which lies at the end
        Layer(
            f"FractionalMaxPool{n}d",
            "plain",
            S("", 2, 1),
            (T(1, 2, *(3,) * n),),
            lambda state, x: (
                x[..., 1:, 1:, 1:].max((2, 3, 4), keepdims=True)
                if x.ndim == 5
                else x[..., 1:, 1:].max((2, 3), keepdims=True)
            ),
        )
        for n in (2, 3)
    ),
    Layer(
        "Upsample",
        "plain",
        S("", scale_factor=2, mode="bilinear"),
        (T(1, 2, 3, 4),),
        plain(interpolate, scale_factor=2, mode="bilinear"),
    ),
    Layer("Upsample", "size", S("", 7), (T(1, 2, 3),), plain(interpolate, 7)),
    Layer("UpsamplingNearest2d", "plain", S("", 5), (T(1, 2, 3, 4),), plain(interpolate, 5)),
    Layer(
        "UpsamplingBilinear2d",
        "plain",
        S("", (5, 3)),
        (T(1, 2, 3, 4),),
        plain(interpolate, (5, 3), None, "bilinear", True),
    ),
    Layer(
        "LocalResponseNorm",
        "plain",
        S("", 3, 0.5),
        (T(1, 4, 3),),
        plain(local_response_norm, 3, 0.5),
    ),
    Layer(
        "CrossMapLRN2d",
        "plain",
        S("", 3, 0.5, 0.6, 1.5),
        (T(1, 2, 2, 3),),
        plain(local_response_norm, 3, 0.5, 0.6, 1.5),
    ),
    _pad("ZeroPad1d", T(2, 3, 4), 2),
    _pad("ZeroPad2d", T(1, 2, 3, 4), (1, 2, 0, -1)),
    _pad("ZeroPad3d", T(1, 1, 2, 2, 3), 1),
    _pad("ConstantPad1d", T(2, 3, 4), (1, 2), value=1.5),
    _pad("ConstantPad2d", T(1, 2, 3, 3), 1, value=-0.5),
    _pad("ConstantPad3d", T(1, 1, 2, 2, 2), (1, 0, 0, 1, 2, 0), value=2.5),
    _pad("ReflectionPad1d", T(2, 3, 4), (3, 1), "reflect"),
    _pad("ReflectionPad2d", T(1, 2, 3, 4), 2, "reflect"),
    _pad("ReflectionPad3d", T(1, 1, 2, 3, 2), 1, "reflect"),
    _pad("ReplicationPad3d", T(1, 1, 2, 2, 3), (1, 2, 0, 1, 1, 0), "replicate"),
    _pad("CircularPad3d", T(1, 1, 2, 2, 3), 1, "circular"),
    _pad("ReplicationPad1d", T(2, 3, 4), (2, 5), "replicate"),
    _pad("ReplicationPad2d", T(1, 2, 3, 3), (1, 2, 0, 4), "replicate"),
    _pad("CircularPad1d", T(2, 3, 4), (4, 2), "circular"),
    _pad("CircularPad2d", T(1, 2, 3, 3), (1, 2, 3, 0), "circular"),
    Layer("Flatten", "plain", S(""), (T(2, 3, 2),), _reshaped(2, 6)),
    Layer("Flatten", "dims", S("", 0, 1), (T(2, 3, 2),), _reshaped(6, 2)),
    Layer("Unflatten", "plain", S("", 1, (2, 3)), (T(2, 6),), _reshaped(2, 2, 3)),
    Layer("Unflatten", "open", S("", -1, (2, -1)), (T(2, 6),), _reshaped(2, 2, 3)),
    Layer("Unfold", "plain", S("", 2, 1, 1, 2), (T(1, 2, 4, 3),), plain(unfold, 2, 1, 1, 2)),
    Layer(
        "Fold",
        "plain",
        S("", 4, (2, 3), padding=(0, 1)),
        (T(1, 6, 12),),
        plain(fold, 4, (2, 3), padding=(0, 1)),
    ),
    Layer("ChannelShuffle", "plain", S("", 2), (T(2, 6, 2, 2),), plain(channel_shuffle, 2)),
    Layer("PixelShuffle", "plain", S("", 2), (T(1, 8, 2, 2),), plain(pixel_shuffle, 2)),
    Layer("PixelUnshuffle", "plain", S("", 2), (T(1, 2, 4, 2),), plain(pixel_unshuffle, 2)),
    Layer(
        "CosineSimilarity",
        "plain",
        S("", dim=0),
        (T(3, 4), T(3, 4, of=(0.2, 2.0))),
        plain(cosine, 0),
    ),
    Layer("PairwiseDistance", "plain", S(""), (T(3, 4), T(3, 4, of=(2.0, 4.0))), plain(distance)),
    Layer(
        "PairwiseDistance",
        "p1",
        S("", 1.0, 0.1, keepdim=True),
        (T(3, 4), T(3, 4, of=(2.0, 4.0))),
        plain(distance, 1.0, 0.1, True),
    ),
]
