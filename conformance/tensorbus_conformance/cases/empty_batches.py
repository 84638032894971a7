"""Level 5: layers given a batch of nothing: an empty result, and gradients of zero."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import expect, present
from tensorbus_conformance.trial import Trial

FAMILY = "layers"

_Shape = tuple[int, ...]
_LAYERS: dict[str, tuple[Callable[[], Any], _Shape, _Shape]] = {
    "Linear": (lambda: nn.Linear(3, 2), (0, 3), (0, 2)),
    "Linear-places": (lambda: nn.Linear(3, 2), (2, 0, 3), (2, 0, 2)),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3), (0, 2, 5), (0, 4, 3)),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3, padding=1), (0, 2, 4, 5), (0, 4, 4, 5)),
    "Conv2d-groups": (lambda: nn.Conv2d(2, 4, 3, groups=2), (0, 2, 4, 5), (0, 4, 2, 3)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 3, 2), (0, 2, 4), (0, 3, 5)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 3, 2), (0, 2, 4, 4), (0, 3, 5, 5)),
    "LayerNorm": (lambda: nn.LayerNorm(3), (0, 3), (0, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (0, 4, 3), (0, 4, 3)),
    "PReLU": (lambda: nn.PReLU(3), (0, 3), (0, 3)),
}
"""The layer, the shape of what it is given, and that of its result."""


def cases() -> Iterator[Case]:
    for name, (make, given, wanted) in _LAYERS.items():
        layer, _, variant = name.partition("-")
        yield Case(
            f"L5/nn.{layer}/float32/empty{'-' * bool(variant)}{variant}",
            FAMILY,
            functools.partial(_check, make, given, wanted),
            (formats.FLOAT32,),
        )


def _check(make: Callable[[], Any], given: _Shape, wanted: _Shape, t: Trial) -> None:
    bench = Bench(t)
    layer = make().to(bench.device)
    x = tensorbus.zeros(given, device=bench.device, requires_grad=True)
    y = layer(x)
    expect(tuple(y.shape) == wanted, f"the result has shape {tuple(y.shape)}, expected {wanted}")
    y.sum().backward()
    gradient = tuple(present("the gradient", x.grad).shape)
    expect(gradient == given, f"the gradient has shape {gradient}")
    for name, p in layer.named_parameters():
        found = bench.read(p.grad)
        expect(
            found.shape == tuple(p.shape) and not np.any(found),
            f"the gradient of {name} is {found}, expected zeros of shape {tuple(p.shape)}",
        )
