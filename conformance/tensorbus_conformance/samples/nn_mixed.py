"""Norms of half widths beside parameters in float32, as mixed precision has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import Op, S, T
from tensorbus_conformance.samples.activations import functional
from tensorbus_conformance.samples.nn_normalization import batch, group, layer, rms_norm

_F = "nn.functional."
_SINGLE = T(3, of="positive", dtype=formats.FLOAT32)
"""A parameter in float32, beside an input of half the width."""
_MIXED: dict[str, Any] = {"dtypes": (formats.FLOAT16, formats.BFLOAT16), "ulp": 4, "family": "nn"}

OPS = [
    Op(
        _F + "batch_norm-mixed",
        batch(False),
        [
            S("plain", T(4, 3), None, None, _SINGLE, _SINGLE, True),
            S("eval", T(4, 3), _SINGLE, _SINGLE, _SINGLE, _SINGLE),
        ],
        scale=batch(True),
        call=lambda *args: functional("batch_norm")(*args),
        **_MIXED,
    ),
    Op(
        _F + "layer_norm-mixed",
        layer(False),
        [S("plain", T(4, 3), (3,), _SINGLE, _SINGLE)],
        scale=layer(True),
        call=lambda *args: functional("layer_norm")(*args),
        **_MIXED,
    ),
    Op(
        _F + "group_norm-mixed",
        group(False),
        [S("plain", T(2, 3, 4), 1, _SINGLE, _SINGLE)],
        scale=group(True),
        call=lambda *args: functional("group_norm")(*args),
        **_MIXED,
    ),
    Op(
        _F + "rms_norm-mixed",
        rms_norm,
        [S("plain", T(4, 3), (3,), _SINGLE, 1e-3)],
        scale=lambda *args: np.abs(rms_norm(*args)),
        call=lambda *args: functional("rms_norm")(*args),
        **_MIXED,
    ),
]
