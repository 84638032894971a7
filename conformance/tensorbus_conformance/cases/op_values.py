"""Levels 2 and 4: each op through the frontend, in every dtype and layout, and its other forms.

Level 2 has the ops that are views or primitives, level 4 those that are composed of others.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import (
    Bench,
    Operand,
    expect_raises,
    flatten,
    lays_out,
    on_hosts,
    require,
)
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import ErrorSample, Op, Sample
from tensorbus_conformance.profile import MAIN_DTYPES
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.timing import relative_to_cpu
from tensorbus_conformance.trial import Trial

LAID_OUT = (formats.FLOAT32, formats.INT64, formats.BOOL, formats.COMPLEX64)
"""Other layouts than row-major are tried in these dtypes: a kernel reads strides alike in all."""


def cases() -> Iterator[Case]:
    for op in all_ops():
        stem = f"{level(op)}/{op.name}"
        family = op.family or "ops"
        for dtype in op.dtypes:
            for sample in (s for s in op.samples if s.takes(dtype)):
                for layout in layouts_of(op, sample, dtype):
                    suffix = "" if layout == "contiguous" else f"-{layout}"
                    yield Case(
                        f"{stem}/{dtype.name}/{sample.variant}{suffix}",
                        family,
                        functools.partial(_timed, op, sample, dtype, layout),
                        tuple(dict.fromkeys([*needed(op, dtype), *fixed(sample)])),
                    )
        yield from _forms(op, stem, family)
        for error in op.errors:
            yield Case(
                f"{stem}/errors/{error.variant}",
                family,
                functools.partial(_raises, op, error),
                tuple(dict.fromkeys([*needed(op, error.dtype), *fixed(error)])),
            )


def needed(op: Op, dtype: Dtype) -> tuple[Dtype, ...]:
    """The dtypes a device must have: that of the case, of the results, and of what is computed."""
    within = () if op.computes is None else (op.computes(dtype),)
    if isinstance(op.result, str):
        return (dtype, *within)
    rules = len(op.result) if isinstance(op.result, tuple) else 1
    return tuple(dict.fromkeys([dtype, *op.result_dtypes(dtype, rules), *within]))


def fixed(call: Sample | ErrorSample) -> Iterator[Dtype]:
    """The dtypes of operands that have one of their own."""
    if isinstance(call, ErrorSample):
        call = Sample(call.variant, call.args, call.kwargs)
    return (t.dtype for t in call.operands() if t.dtype is not None)


def level(op: Op) -> str:
    """L2 where the op is a view or a primitive of the contract, else L4."""
    from tensorbus.plugin import PRIMITIVES, VIEWS

    return "L2" if op.view or op.name in (*PRIMITIVES, *VIEWS) else "L4"


def layouts_of(op: Op, sample: Sample, dtype: Dtype) -> tuple[str, ...]:
    """The layouts in which a sample is tried for a dtype."""
    chosen = [d for d in LAID_OUT if d in op.dtypes] or op.dtypes[:1]
    others = op.layouts if dtype in (*chosen, *op.laid_out) else ()
    return ("contiguous", *(layout for layout in others if lays_out(sample, layout)))


def values(op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial) -> None:
    """The op's results for a sample are those of the reference, and lie where they should."""
    bench = Bench(t)
    args, kwargs, placed = bench.operands(sample, dtype, layout, op.name)
    want = bench.expected(op, sample, placed)
    got = op.function()(*args, **kwargs)
    bench.check(got, want, op, dtype, scale_of(op, sample, placed))
    _memory(bench, op, got, placed)
    bench.untouched(placed)


def _timed(op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial) -> None:
    values(op, sample, dtype, layout, t)
    if layout == "contiguous" and sample is next(iter(op.samples)) and dtype in MAIN_DTYPES:
        t.relative = relative_to_cpu(op, sample, dtype, t)


def scale_of(op: Op, sample: Sample, placed: list[Operand]) -> Any:
    """The magnitudes at which the op's error is measured, where it says so."""
    return op.scale and on_hosts(op.scale, sample, [p.wide() for p in placed])


def _memory(bench: Bench, op: Op, got: Any, placed: list[Operand]) -> None:
    """Views lie in their operand's storage, other results in none; and their order in memory."""
    for leaf in flatten(got):
        if not isinstance(leaf, tensorbus.Tensor) or not placed:
            continue
        if op.view:
            if 0 not in leaf.shape and not bench.shares(leaf, placed[0]):
                raise Mismatch("the result is a copy, expected a view of the first operand")
        elif op.fresh:
            for position, operand in enumerate(placed):
                if bench.shares(leaf, operand):
                    raise Mismatch(f"the result shares the storage of operand {position}")
            if op.keeps_order:
                _keeps_order(leaf, placed)


def _keeps_order(result: Any, placed: list[Operand]) -> None:
    """The dimensions of a pointwise result lie in memory as those of its operands do."""
    shape = tuple(result.shape)
    if 0 in shape or any(tuple(p.tensor.shape) not in (shape, ()) for p in placed):
        return
    strides = {p.tensor.stride() for p in placed if p.tensor.shape}
    if len(strides) != 1 or 0 in next(iter(strides), (0,)):
        return
    first = next(iter(strides))
    order = sorted((d for d, n in enumerate(shape) if n > 1), key=lambda d: -first[d])
    step, want = 1, [0] * len(shape)
    for d in reversed(order):
        want[d], step = step, step * shape[d]
    found = [s if n > 1 else 0 for s, n in zip(result.stride(), shape, strict=True)]
    if found != want:
        raise Mismatch(f"the result's strides are {result.stride()}, expected {tuple(want)}")


# -- methods, in place, out= -----------------------------------------------------------------
def _forms(op: Op, stem: str, family: str) -> Iterator[Case]:
    """The op as a method, in place and with ``out=``, where the library has these forms."""
    sample = next((s for s in op.samples if s.args and 0 not in _shape(s)), None)
    if "." in op.name or op.call is not None or sample is None or not sample.operands():
        return
    dtypes = [d for d in op.dtypes if sample.takes(d)]
    dtype = formats.FLOAT32 if formats.FLOAT32 in dtypes else dtypes[0]
    first_is_operand = sample.args[0] in sample.operands()
    if first_is_operand and callable(getattr(tensorbus.Tensor, op.name, None)):
        yield Case(
            f"{stem}/{dtype.name}/method",
            family,
            functools.partial(_method, op, sample, dtype),
            needed(op, dtype),
        )
    if not op.inplace:
        return
    if first_is_operand and hasattr(tensorbus.Tensor, f"{op.name}_"):
        for layout in ("contiguous", "strided"):
            yield Case(
                f"{stem}/{dtype.name}/in-place-{layout}",
                family,
                functools.partial(_in_place, op, sample, dtype, layout),
                needed(op, dtype),
            )
        if hasattr(tensorbus, f"{op.name}_"):
            yield Case(
                f"{stem}/{dtype.name}/in-place-function",
                family,
                functools.partial(_in_place, op, sample, dtype, "contiguous", function=True),
                needed(op, dtype),
            )
    if _takes_out(op):
        for layout in ("contiguous", "strided", "resized"):
            yield Case(
                f"{stem}/{dtype.name}/out-{layout}",
                family,
                functools.partial(_out, op, sample, dtype, layout),
                needed(op, dtype),
            )


def _shape(sample: Sample) -> tuple[int, ...]:
    return tuple(n for t in sample.operands() for n in t.shape)


def _takes_out(op: Op) -> bool:
    try:
        return "out" in inspect.signature(op.function()).parameters
    except (ValueError, AttributeError):
        return False


def _method(op: Op, sample: Sample, dtype: Dtype, t: Trial) -> None:
    bench = Bench(t)
    args, kwargs, placed = bench.operands(sample, dtype, "contiguous", op.name)
    got = getattr(args[0], op.name)(*args[1:], **kwargs)
    bench.check(got, bench.expected(op, sample, placed), op, dtype, scale_of(op, sample, placed))


def _in_place(
    op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial, function: bool = False
) -> None:
    bench = Bench(t)
    args, kwargs, placed = bench.operands(sample, dtype, layout, op.name)
    want = bench.expected(op, sample, placed)
    target, version = args[0], args[0]._version
    call = functools.partial(getattr(tensorbus.Tensor, f"{op.name}_"), target)
    if function:
        call = functools.partial(getattr(tensorbus, f"{op.name}_"), target)
    got = call(*args[1:], **kwargs)
    if got is not target:
        raise Mismatch(f"{op.name}_ returned another tensor than its own")
    if target._version <= version:
        raise Mismatch(f"{op.name}_ left the version of the tensor at {version}")
    same = Op(op.name, op.reference, (), result="same", ulp=op.ulp, measure=op.measure)
    bench.check(
        target, want.astype(placed[0].host.dtype), same, dtype, scale_of(op, sample, placed)
    )
    if not op.view:
        _only_elements_changed(bench, placed[0])
    bench.untouched(placed[1:])


def _only_elements_changed(bench: Bench, operand: Operand) -> None:
    now = bench.read(operand.flat).copy()
    flat = bench.send(now, operand.dtype)
    inside = flat.as_strided(
        operand.tensor.shape, operand.tensor.stride(), operand.tensor.storage_offset()
    )
    inside.copy_(bench.send(operand.host, operand.dtype))
    if not np.array_equal(
        bench.read(flat).view(np.uint8), np.asarray(operand.buffer).view(np.uint8)
    ):
        raise Mismatch("bytes outside the tensor's elements were written")


def _out(op: Op, sample: Sample, dtype: Dtype, layout: str, t: Trial) -> None:
    bench = Bench(t)
    args, kwargs, placed = bench.operands(sample, dtype, "contiguous", op.name)
    want = bench.expected(op, sample, placed)
    wanted = flatten(want)
    if not all(isinstance(w, (np.ndarray, np.generic)) for w in wanted):
        return
    outs = []
    for w, kind in zip(wanted, op.result_dtypes(dtype, len(wanted)), strict=True):
        if layout == "resized":
            outs.append(tensorbus.empty(0, dtype=kind, device=bench.device))
        else:
            filler = np.zeros(np.shape(w), formats.value_dtype(kind))
            outs.append(bench.place(filler, kind, layout).tensor)
    out = tuple(outs) if isinstance(want, (tuple, list)) else outs[0]
    got = op.function()(*args, **kwargs, out=out)
    if any(g is not o for g, o in zip(flatten(got), outs, strict=True)):
        raise Mismatch(f"{op.name}(out=...) returned another tensor than out")
    bench.check(out, want, op, dtype, scale_of(op, sample, placed))
    bench.untouched(placed)


# -- errors ----------------------------------------------------------------------------------
def _raises(op: Op, error: ErrorSample, t: Trial) -> None:
    import re

    bench = Bench(t)
    require(
        not error.trait or getattr(t.traits, error.trait),
        f"trait {error.trait} is False: the device need not raise",
    )
    sample = Sample(error.variant, error.args, error.kwargs)
    args, kwargs, _ = bench.operands(sample, error.dtype, "contiguous", op.name)
    raised = expect_raises(lambda: op.function()(*args, **kwargs), error.error)
    first = (str(raised).splitlines() or [""])[0]
    if not re.fullmatch(error.text, first):
        raise Mismatch(f"the message is {first!r}, expected {error.text!r}")
