"""Level 4: ops that backends have kernels of their own for, where such kernels go wrong.

All parameters of a convolution at once, NaN and infinities through it, lines of nothing but -inf,
and more elements than the samples have.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.op_values import level, scale_of
from tensorbus_conformance.op import Op, S, Sample, T
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.sharp_values import anywhere
from tensorbus_conformance.trial import Trial

D = formats.FLOAT32
_F = "nn.functional."
_NAN, _INF = float("nan"), float("inf")
_LONG = 100
"""Errors are measured at the largest magnitude where sums have more terms than this."""


def _given(array: Any) -> T:
    return T(data=np.asarray(array, np.float32).astype(np.float64), grad=False)


def _drawn(shape: tuple[int, ...], *key: object) -> np.ndarray:
    return values.rng("fused", shape, *key).uniform(-2, 2, shape)


# -- convolutions ------------------------------------------------------------------------------
def _convolutions(dims: int) -> Iterator[Sample]:
    """Strides, paddings and dilations that differ between dimensions, with and without groups."""
    size, kernel = ((7, 8), (2, 3)) if dims == 2 else ((9,), (3,))
    ones = (1,) * dims
    strides = [ones, (2, 1)[-dims:] if dims == 2 else (2,)]
    paddings: list[Any] = [0, (1, 0), (0, 2), "same"] if dims == 2 else [0, 2, "same"]
    dilations = [ones, (1, 2), (2, 1), (3, 2)] if dims == 2 else [ones, (2,), (3,)]
    for s, p, d, g in itertools.product(strides, paddings, dilations, (1, 2)):
        if p == "same" and s != ones:
            continue
        x, w = _drawn((2, 4, *size), "x"), _drawn((6, 4 // g, *kernel), "w")
        yield S("", _given(x), _given(w), _given(_drawn((6,), "b")), s, p, d, g)


def _transposes(dims: int) -> Iterator[Sample]:
    size, kernel = ((4, 3), (2, 3)) if dims == 2 else ((5,), (3,))
    for s, p, e, d, g in itertools.product((1, 2, 3), (0, 1), (0, 1), (1, 2), (1, 2)):
        if e >= max(s, d):
            continue
        x, w = _drawn((2, 4, *size), "x"), _drawn((4, 3, *kernel), "w")
        yield S("", _given(x), _given(w), _given(_drawn((3 * g,), "b")), s, p, e, g, d)


def _marked_convolutions() -> Iterator[Sample]:
    """NaN and infinities in the image, in the weights and beside the padding; zeros beside them."""
    for mark in (_NAN, _INF, -_INF):
        for padding, dilation, groups in ((0, 1, 1), ((1, 0), 1, 2), (2, (1, 2), 1)):
            for place in ((0, 0, 0, 0), (1, 3, 2, 5), (0, 1, 6, 7)):
                x, w = _drawn((2, 4, 7, 8), "x"), _drawn((4, 4 // groups, 2, 3), "w")
                x[place] = mark
                w[1, 0, 0, 1] = 0
                yield S("", _given(x), _given(w), None, 1, padding, dilation, groups)
        x, w = _drawn((1, 2, 4, 5), "x"), _drawn((2, 2, 2, 2), "w")
        w[1, 0, 1, 0] = mark
        x[0, 0, 1:3] = 0
        yield S("", _given(x), _given(w), None, 1, 1)
        yield S("", _given(x), _given(np.zeros((2, 2, 2, 2))), _given([mark, 1.0]))


def _large_convolution() -> tuple[Sample, np.ndarray]:
    x, w = _drawn((2, 2, 191, 190), "x"), _drawn((2, 2, 3, 3), "w")
    x, w = x.astype(np.float32).astype(np.float64), w.astype(np.float32).astype(np.float64)
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return S("", _given(x), _given(w)), np.einsum("nchwij,ocij->nohw", seen, w)


# -- pools ---------------------------------------------------------------------------------------
def _max_pools() -> Iterator[Sample]:
    x = _drawn((2, 3, 9, 8), "pool")
    marked = x.copy()
    marked[0, 0, 3, 3], marked[1, 2, 0, 0], marked[1, 1] = _NAN, _INF, -_INF
    for image in (x, marked):
        for kernel, stride, padding, dilation, ceil in itertools.product(
            ((2, 3), 3), (None, (2, 1)), (0, (1, 0), 1), (1, (1, 2)), (False, True)
        ):
            yield S("", _given(image), kernel, stride, padding, dilation, ceil)


def _average_pools() -> Iterator[Sample]:
    x = _drawn((2, 3, 9, 8), "pool")
    marked = x.copy()
    marked[0, 0, 3, 3], marked[1, 2, 0, 0] = _NAN, _INF
    for image in (x, marked):
        for kernel, stride, padding, ceil, counts, divisor in itertools.product(
            ((2, 3), 3), (None, (2, 1)), (0, (1, 0), 1), (False, True), (True, False), (None, 5)
        ):
            yield S("", _given(image), kernel, stride, padding, ceil, counts, divisor)


# -- lines -----------------------------------------------------------------------------------
def _lines() -> np.ndarray:
    marks = [_INF, -_INF, _NAN, 0.0, 3e38, -3e38, 88.0, -104.0]
    found = [np.full(5, m) for m in marks]
    for m, other in itertools.permutations(marks, 2):
        line = np.full(5, m)
        line[2] = other
        found.append(line)
    return np.array(found)


def _along() -> Iterator[Sample]:
    """A function along a dimension: all -inf, one infinity, NaN; long lines and many."""
    lines = _lines()
    yield S("", _given(lines), 1)
    yield S("", _given(lines.T), 0)
    yield S("", _given(lines[:, :1]), 1)
    yield S("", _given(_drawn((3, 5_003), "long")), 1)
    yield S("", _given(_drawn((5_003, 3), "long")), 0)
    yield S("", _given(_drawn((70_001, 3), "many")), 1)


def _normal() -> Iterator[np.ndarray]:
    """Constant lines, a mean far from zero, an infinity, NaN, long lines and many."""
    yield np.full((3, 6), 2.5)
    yield 1e4 + _drawn((4, 6), "far")
    marked = _drawn((6, 6), "marked")
    marked[1, 2], marked[3, 0], marked[5] = _INF, _NAN, 0
    yield marked
    yield _drawn((3, 5_003), "long")
    four = values.rng("many").permuted(np.tile([-2.0, -0.75, 0.75, 2.0], (20_011, 1)), axis=1)
    yield four * (1 + np.arange(20_011) % 2)[:, None]


_ONE = ("neg sign ceil trunc rsqrt square reciprocal exp2 log2 log10 tan asin acos atan sinh cosh "
        "asinh acosh atanh isnan isinf isfinite logical_not sigmoid relu erf").split()  # fmt: skip
_TWO = "gt ge remainder hypot copysign".split()

_TABLE: dict[str, tuple[tuple[str, Callable[[], Iterator[Sample]]], ...]] = {
    _F + "conv2d": (("together", lambda: _convolutions(2)), ("marked", _marked_convolutions)),
    _F + "conv1d": (("together", lambda: _convolutions(1)),),
    _F + "conv_transpose2d": (("together", lambda: _transposes(2)),),
    _F + "conv_transpose1d": (("together", lambda: _transposes(1)),),
    _F + "max_pool2d": (("together", _max_pools),),
    _F + "avg_pool2d": (("together", _average_pools),),
    **dict.fromkeys(
        ("softmax", "log_softmax", "logsumexp", "logcumsumexp"), (("lines", _along),)
    ),
    _F + "layer_norm": (
        ("lines", lambda: (S("", _given(x), (x.shape[1],)) for x in _normal())),
    ),
    _F + "rms_norm": (
        ("lines", lambda: (S("", _given(x), (x.shape[1],), eps=1e-5) for x in _normal())),
    ),
    _F + "group_norm": (
        ("lines", lambda: (S("", _given(x[:64]), 1) for x in _normal())),
    ),
}  # fmt: skip


def cases() -> Iterator[Case]:
    ops = {op.name: op for op in all_ops()}
    part = functools.partial
    for name, rows in _TABLE.items():
        op = ops[name]
        for variant, samples in rows:
            check = part(_check, op, samples)
            yield Case(f"{level(op)}/{name}/float32/{variant}", op.family or "ops", check, (D,))
    conv = ops[_F + "conv2d"]
    yield Case(
        f"L4/{conv.name}/float32/large", conv.family or "ops", part(_check_large, conv), (D,)
    )
    for name in (*_ONE, *_TWO):
        check = part(_check, ops[name], part(_pointwise, name))
        yield Case(f"L4/{name}/float32/large", ops[name].family or "ops", check, (D,))


def _pointwise(name: str) -> Iterator[Sample]:
    drawn = [anywhere(D, (263, 509), (name, k)).astype(np.float64) for k in range(2)]
    yield S("", *[_given(x) for x in drawn[: 1 if name in _ONE else 2]])


def _check(op: Op, samples: Callable[[], Iterator[Sample]], t: Trial) -> None:
    for sample in samples():
        _one(op, sample, None, t)


def _check_large(op: Op, t: Trial) -> None:
    sample, want = _large_convolution()
    _one(op, sample, want, t)


def _one(op: Op, sample: Sample, want: Any, t: Trial) -> None:
    bench = Bench(t)
    args, kwargs, placed = bench.operands(sample, D, "contiguous", op.name)
    scale = None
    if want is None:
        want, scale = bench.expected(op, sample, placed), scale_of(op, sample, placed)
    if op.name not in (*_ONE, *_TWO) and max(np.shape(want), default=0) > _LONG:
        # Errors of a long sum are all over the line.
        scale = np.full(np.shape(want), np.abs(want).max())
    bench.check(op.function()(*args, **kwargs), want, op, D, scale)
    bench.untouched(placed)
