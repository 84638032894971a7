"""Dropout where nothing is left to chance: nothing dropped, or all."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.op import E, Op, S, T

_F = "nn.functional."


def _dropped(x: np.ndarray, p: float = 0.5, training: bool = True) -> np.ndarray:
    """Where nothing is left to chance: nothing dropped, or all."""
    return x * 0 if training and p == 1 else x


def _dropout(name: str, shape: tuple[int, ...], *more: Any) -> Op:
    return Op(
        name,
        _dropped,
        [
            S("eval", T(*shape), 0.5, False),
            S("p0", T(*shape), 0.0, True),
            S("p1", T(*shape), 1.0, True),
            S("empty", T(0, *shape[1:]), 0.0, True),
            *more,
        ],
        ulp=0,
        fresh=False,
        errors=[
            E(
                "p",
                RuntimeError if name == "dropout" else ValueError,
                r"dropout probability has to be between 0 and 1, but got 1\.5",
                T(*shape),
                1.5,
                True,
            )
        ],
        family="nn",
    )


OPS = [
    _dropout("dropout", (3, 4)),
    _dropout(_F + "dropout", (3, 4)),
    _dropout(_F + "dropout1d", (2, 3, 4)),
    _dropout(_F + "dropout2d", (2, 3, 2, 2)),
    _dropout(_F + "dropout3d", (1, 2, 2, 2, 2)),
    _dropout(_F + "alpha_dropout", (3, 4)),
    _dropout(_F + "feature_alpha_dropout", (2, 3, 4)),
]
