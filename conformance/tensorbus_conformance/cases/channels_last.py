"""Ops of planes keep the channels last: PyTorch's strides, and the values of row-major planes.

That those values are right is what the ops' own cases judge; here the same planes lie otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.nn import functional as F
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import expect
from tensorbus_conformance.trial import Trial

FAMILY = "channels last"
SHAPE = (2, 4, 6, 5)
LAST = (120, 1, 20, 4)

Program = Callable[[Any, Any], Any]

PROGRAMS: dict[str, tuple[Program, tuple[int, ...]]] = {
    "clone": (lambda x, w: x.clone(), LAST),
    "add": (lambda x, w: x + x, LAST),
    "sum": (lambda x, w: x.sum(1, keepdim=True), (30, 30, 5, 1)),
    "cat": (lambda x, w: tensorbus.cat([x, x], 1), (240, 1, 40, 8)),
    "stack": (lambda x, w: tensorbus.stack([x, x], 1), (240, 4, 1, 40, 8)),
    "index": (lambda x, w: x[[1, 0]], LAST),
    "flip": (lambda x, w: x.flip(2), LAST),
    "pad": (lambda x, w: F.pad(x, (1, 0, 0, 1)), (168, 1, 24, 4)),
    "conv2d": (lambda x, w: F.conv2d(x, w), (60, 1, 12, 3)),
    "conv2d-weight": (
        lambda x, w: F.conv2d(
            x.contiguous(), w.to(memory_format=tensorbus.channels_last), stride=2
        ),
        (18, 1, 6, 3),
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1).contiguous()),
        (126, 1, 18, 3),
    ),
    "max_pool2d": (lambda x, w: F.max_pool2d(x, 2), (24, 1, 8, 4)),
    "avg_pool2d": (lambda x, w: F.avg_pool2d(x, 2), (24, 1, 8, 4)),
    "adaptive_avg_pool2d": (lambda x, w: F.adaptive_avg_pool2d(x, 2), (16, 1, 8, 4)),
    "batch_norm": (lambda x, w: F.batch_norm(x, None, None, training=True), LAST),
    "group_norm": (lambda x, w: F.group_norm(x, 2), LAST),
}
"""What is computed of x (channels last) and of a kernel w (row-major): the result's strides."""


def cases() -> Iterator[Case]:
    for name in PROGRAMS:
        yield Case(
            f"L5/channels_last/float32/{name}",
            FAMILY,
            functools.partial(_kept, name),
            (formats.FLOAT32,),
        )
    yield Case("L5/channels_last/float32/made", FAMILY, _made, (formats.FLOAT32,))


def _planes(bench: Bench) -> tuple[Any, Any]:
    x = values.plain(formats.FLOAT32, SHAPE, "planes")
    w = values.plain(formats.FLOAT32, (3, 4, 2, 2), "kernel")
    return (tensorbus.tensor(array, device=bench.device) for array in (x, w))  # type: ignore


def _kept(name: str, t: Trial) -> None:
    """The result's strides are PyTorch's, its values and gradients those of row-major planes."""
    bench = Bench(t)
    program, strides = PROGRAMS[name]
    found = []
    for format in (tensorbus.channels_last, tensorbus.contiguous_format):
        x, w = _planes(bench)
        x = x.to(memory_format=format).requires_grad_()
        y = program(x, w)
        if format is tensorbus.channels_last:
            expect(y.stride() == strides, f"strides {y.stride()}, expected {strides}")
        (y * y).sum().backward()
        expect(x.grad.stride() == x.stride(), f"the gradient lies as {x.grad.stride()}")
        found.append((bench.read(y.detach()), bench.read(x.grad)))
    for what, last, plain in zip(("values", "gradients"), *found, strict=True):
        close = np.allclose(last, plain, rtol=1e-4, atol=1e-4)
        expect(close, f"other {what} than those of row-major planes")


def _made(t: Trial) -> None:
    """Formats that are asked for: strides, values, and what counts as contiguous."""
    bench = Bench(t)
    x, _ = _planes(bench)
    host = bench.read(x)
    last = tensorbus.channels_last
    for made in (
        x.to(memory_format=last),
        x.contiguous(memory_format=last),
        x.clone(memory_format=last),
        tensorbus.empty_like(x, memory_format=last).copy_(x),
        tensorbus.empty(*SHAPE, memory_format=last, device=bench.device).copy_(x),
    ):
        expect(made.stride() == LAST, f"strides {made.stride()}, expected {LAST}")
        expect(np.array_equal(bench.read(made), host), "the values moved")
        expect(made.is_contiguous(memory_format=last), "it is not contiguous in its format")
        expect(not made.is_contiguous(), "it counts as row-major")
        back = made.contiguous()
        expect(back.stride() == (120, 30, 5, 1), f"strides {back.stride()} of the copy back")
        expect(np.array_equal(bench.read(back), host), "the values moved on the way back")
