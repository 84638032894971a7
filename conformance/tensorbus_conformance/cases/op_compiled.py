"""Levels 3 and 4, compiled: what is composed may be one kernel once it has been called some times.

Each op that is composed of others, and its derivatives, is called until a plugin that compiles has
compiled it, with operands of other sizes where the op takes these, and is then held against the
reference: one kernel serves all sizes of a pattern. With NaN, infinities and zeros of both signs it
is held against its composition, for here references are conventions.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten, require
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_gradients, op_values
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import Op, Sample, T
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Device, Trial

CALLS = 3
"""Calls that a pattern of sizes needs before it is compiled."""

NOTHING = "the device compiles nothing of it"

Run = Callable[[Sample, str, Trial], Any]


def cases() -> Iterator[Case]:
    for op in all_ops():
        if op_values.level(op) == "L4":
            for dtype in op.dtypes:
                yield from _cases_of(op, dtype)


def _cases_of(op: Op, dtype: Dtype) -> Iterator[Case]:
    """All samples in all layouts in the dtype that programs compute in; of others the first."""
    first = formats.FLOAT32 if formats.FLOAT32 in op.dtypes else op.dtypes[0]
    family = op.family or "ops"
    needed = op_values.needed(op, dtype)
    for n, sample in enumerate(s for s in op.samples if s.takes(dtype)):
        if dtype is not first and n:
            return
        stem = f"{op.name}/{dtype.name}/{sample.variant}"
        stage = "compiled" if n == 0 and dtype is first else "compiled-more"
        layouts = op_values.layouts_of(op, sample, dtype) if dtype is first else ("contiguous",)
        for layout in layouts:
            variant = stage if layout == "contiguous" else f"compiled-{layout}"
            yield Case(
                f"L4/{stem}/{variant}",
                family,
                functools.partial(_values, op, sample, dtype, layout),
                tuple(dict.fromkeys([*needed, *op_values.fixed(sample)])),
            )
        more = "" if stage == "compiled" else "-more"
        special = dtype is first and dtype in formats.FLOATS
        if special:
            check = functools.partial(_special, op, sample, dtype, 0)
            yield Case(f"L4/{stem}/compiled-special{more}", family, check, needed)
        if n == 0 and dtype is first:
            check = functools.partial(_small, op, sample, dtype)
            yield Case(f"L4/{stem}/compiled-one", family, check, needed)
        if not (op.gradient and dtype in formats.FLOATS and op_gradients.differentiable(sample)):
            continue
        for order in (1, 2) if op.second and dtype is first else (1,):
            check = functools.partial(_slopes, op, sample, dtype, order)
            yield Case(f"L3/{stem}/{stage}-grad{order}", family, check, needed)
        if special:
            check = functools.partial(_special, op, sample, dtype, 1)
            yield Case(f"L3/{stem}/compiled-special{more}-grad1", family, check, needed)


def _values(op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial) -> None:
    def call(sample: Sample, layout: str, t: Trial) -> None:
        args, kwargs, _ = Bench(t).operands(sample, dtype, layout, op.name)
        op.function()(*args, **kwargs)

    check = functools.partial(op_values.values, op, sample, dtype, layout)
    _compiled(call, check, op, sample, dtype, layout, t)


def _slopes(op: Op, sample: Sample, dtype: Dtype, order: int, t: Trial) -> None:
    def call(sample: Sample, layout: str, t: Trial) -> None:
        s = op_gradients.Setting(op, sample, dtype, layout, t)
        found = s.gradients(s.cotangents(order == 2), create_graph=order == 2)
        recorded = [g.sum() for g in found if g is not None and g.requires_grad]
        if order == 2 and recorded:
            sum(recorded).backward()

    check = functools.partial(op_gradients.gradient, op, sample, dtype, "contiguous", order)
    _compiled(call, check, op, sample, dtype, "contiguous", t)


def _compiled(
    call: Run,
    check: Callable[[Trial], Any],
    op: Op,
    sample: Sample,
    dtype: Dtype,
    layout: str,
    t: Trial,
) -> None:
    """Call until there is a kernel, then check the results."""
    device = t.device.fused()
    require(device is not None, "the device compiles nothing, or fusion is off")
    assert device is not None
    trial = Trial(device)
    for warm in (resized(op, sample, dtype), sample):
        if warm is None:
            continue
        for _ in range(CALLS):
            call(warm, layout if warm is sample else "contiguous", trial)
        device.ran.clear()
        check(trial)
        t.ulp, t.notes = trial.ulp, trial.notes
        if device.ran:
            return
    require(False, NOTHING)


def _special(op: Op, sample: Sample, dtype: Dtype, order: int, t: Trial) -> None:
    """NaN and infinities stand where they stand in what is composed."""
    device = t.device.fused()
    require(device is not None, "the device compiles nothing, or fusion is off")
    assert device is not None
    if op.family == "linalg":  # decompositions of given matrices take as many rounds as they may
        require(all(t.data is None for t in sample.operands()), "its operands are given")
    device.ran.clear()
    refused: Exception | None = None
    for of in ("holes", "infinite", "zeros"):
        marked = _with(sample, functools.partial(_marked, of))
        try:
            wanted = _results(op, marked, dtype, order, t.device.uncompiled())
        except (RuntimeError, ValueError, IndexError) as error:
            refused = error
            continue
        for _ in range(CALLS):
            found = _results(op, marked, dtype, order, device)
        for n, (got, want) in enumerate(zip(found, wanted, strict=True)):
            near = max(1e-4, 64 * formats.unit_roundoff(dtype))
            _like(got, want, near, f"{of}: {'gradient' if order else 'result'} {n}")
    require(bool(device.ran), f"it does not take these values: {refused}" if refused else NOTHING)


def _small(op: Op, sample: Sample, dtype: Dtype, t: Trial) -> None:
    """A kernel for sizes of 1 is another one, and there is none for 0: that call is composed."""
    device = t.device.fused()
    require(device is not None, "the device compiles nothing, or fusion is off")
    assert device is not None
    one, none = (resized(op, sample, dtype, size) for size in (1, 0))
    require(one is not None, "it takes no operands of one element")
    assert one is not None
    device.ran.clear()
    for _ in range(CALLS):
        _results(op, one, dtype, 0, device)
    require(bool(device.ran), NOTHING)
    op_values.values(op, one, dtype, "contiguous", Trial(device))
    if none is not None:
        found = _results(op, none, dtype, 0, device)
        wanted = _results(op, none, dtype, 0, t.device.uncompiled())
        for got, want in zip(found, wanted, strict=True):
            _like(got, want, 0.0, "without elements")


def _results(op: Op, sample: Sample, dtype: Dtype, order: int, device: Device) -> list[np.ndarray]:
    """The float results of a call, or its gradients; what it draws is the same each time."""
    bench = Bench(Trial(device))
    tensorbus.manual_seed(0)
    if order:
        s = op_gradients.Setting(op, sample, dtype, "contiguous", Trial(device))
        found = s.gradients(s.cotangents(False), create_graph=False)
    else:
        args, kwargs, _ = bench.operands(sample, dtype, "contiguous", op.name)
        found = flatten(op.function()(*args, **kwargs))
    return [
        bench.read(x).astype(np.float64)
        for x in found
        if isinstance(x, tensorbus.Tensor) and x.dtype in formats.FLOATS
    ]


def _like(got: np.ndarray, want: np.ndarray, near: float, what: str) -> None:
    if got.shape != want.shape:
        raise Mismatch(f"{what}: shape is {got.shape}, composed {want.shape}")
    for name, is_so in (
        ("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf),
    ):  # fmt: skip
        differ = is_so(got) != is_so(want)
        if differ.any():
            at = tuple(int(i) for i in np.argwhere(differ)[0])
            raise Mismatch(f"{what}: at {at}: got {got[at]}, composed {want[at]}: one is {name}")
    zeros = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    if zeros.any():
        at = tuple(int(i) for i in np.argwhere(zeros)[0])
        raise Mismatch(f"{what}: at {at}: got {got[at]}, composed {want[at]}")
    finite = np.isfinite(want)
    scale = np.abs(want[finite]).max(initial=1.0)
    if np.abs(got[finite] - want[finite]).max(initial=0.0) > near * scale:
        raise Mismatch(f"{what}: finite elements differ from those that are composed")


def _marked(of: str, t: T) -> T:
    return T(*t.shape, of=t.of, data=t.data, dtype=t.dtype, grad=t.grad, marks=of)


def _with(sample: Sample, change: Callable[[T], T]) -> Sample:
    """The same call with other operands."""
    args, kwargs = sample.replace(change)
    return dataclasses.replace(sample, args=tuple(args), kwargs=kwargs)


@functools.lru_cache(maxsize=64)
def resized(op: Op, sample: Sample, dtype: Dtype, to: int | None = None) -> Sample | None:
    """The same call with operands of other sizes, those of 1 aside: one more each, so equal where
    the sample's are equal, or all *to*. None where that is no call that the op takes.
    """
    operands = sample.operands()
    if (to is None and any(t.data is not None for t in operands)) or not any(
        n > 1 for t in operands for n in t.shape
    ):
        return None

    def other(t: T) -> T:
        shape = [n if n < 2 else n + 1 if to is None else to for n in t.shape]
        data = None if t.data is None else t.data[tuple(slice(n) for n in shape)]
        return T(*shape, of=t.of, data=data, dtype=t.dtype, grad=t.grad)

    made = _with(sample, other)
    bench = Bench(Trial(Device(discovery.backend("cpu"))))
    try:
        args, kwargs, placed = bench.operands(made, dtype, "contiguous", op.name)
        bench.expected(op, made, placed)
        op.function()(*args, **kwargs)
    except Exception:  # whatever parameters that do not fit these sizes lead to
        return None
    return made
