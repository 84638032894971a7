"""Exploration: calls of ops with operands that nobody wrote down, by hypothesis.

Each round takes an op's sample, gives its operands other sizes, values, dtypes and layouts, and
holds the result against the reference. What is wrong is shrunk to a small call.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from hypothesis.extra import numpy as hnp

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, fits
from tensorbus_conformance.cases import matches, op_values
from tensorbus_conformance.found import Found
from tensorbus_conformance.op import RANGES, Op, Sample, T, integer_range
from tensorbus_conformance.runner import find_backend, run_case
from tensorbus_conformance.trial import Device, Trial

EXAMPLES = 40
"""Calls of one op before the next has its turn."""

_LAYOUTS = ("transposed", "strided", "permuted", "offset")
_SIZES = (2, 6)


def explore(
    device: Device,
    ops: Sequence[Op],
    seconds: float,
    seed: int,
    progress: Callable[[str], None] = lambda name: None,
    examples: int = EXAMPLES,
    turns: int | None = None,
) -> Iterator[tuple[Found, str]]:
    """Yield each wrong call, shrunk, with what is wrong, until time or turns are over.

    An op is left alone once something was found in it. ``ImportError`` without hypothesis.
    """
    end = time.monotonic() + seconds
    waiting = list(ops)
    turn = 0
    while waiting and (turns is None or turn < turns * len(ops)) and time.monotonic() < end:
        for op in list(waiting):
            if time.monotonic() >= end:
                return
            progress(op.name)
            turn += 1
            wrong: list[tuple[Found, str]] = []
            try:
                hypothesis.seed(seed + turn)(_attempts(op, device, wrong, examples))()
            except AssertionError:
                waiting.remove(op)
                yield wrong[-1]  # hypothesis ends with the smallest
            except Unsatisfiable:
                waiting.remove(op)  # the device has none of its dtypes


def _attempts(
    op: Op, device: Device, wrong: list[tuple[Found, str]], examples: int
) -> Callable[[], None]:
    """A property of *op*: that no call is wrong. It keeps those that are."""

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @hypothesis.given(st.data())
    def attempt(data: Any) -> None:
        found = _draw(data, op, device)
        if found is None:
            hypothesis.reject()
        message = _judge(found, device)
        if message:
            wrong.append((found, message))
            raise AssertionError(message)

    return attempt


def explorable(pattern: str | None) -> list[Op]:
    """The ops whose values on a device are compared, chosen as cases are."""
    from tensorbus_conformance.samples import all_ops

    return [
        op
        for op in all_ops()
        if any(s.operands() for s in op.samples)
        and (not pattern or matches(op.name, pattern) or matches(_id(op), pattern))
    ]


def _id(op: Op) -> str:
    return f"{op_values.level(op)}/{op.name}/any/any"


def _draw(data: Any, op: Op, device: Device) -> Found | None:
    calls = [
        (sample, dtype)
        for sample in op.samples
        for dtype in op.dtypes
        if sample.operands() and sample.takes(dtype) and dtype in device.capabilities.dtypes
    ]
    if not calls:
        return None
    sample, dtype = data.draw(st.sampled_from(calls))
    sizes = _sizes(data, sample)
    hosts, layouts = [], []
    for t in sample.operands():
        shape = tuple(sizes.get(n, n) for n in t.shape)
        hosts.append(_values(data, t, shape, t.dtype or dtype))
        # What an op says of its operand's own memory holds for row-major ones.
        others = [x for x in _LAYOUTS if op.layouts and fits(x, shape)]
        layouts.append(data.draw(st.sampled_from(["contiguous", *others])))
    return Found(op, sample, dtype, tuple(hosts), tuple(layouts))


def _sizes(data: Any, sample: Sample) -> dict[int, int]:
    """Another size for each that the operands have; equal ones stay equal."""
    if any(t.data is not None for t in sample.operands()):
        return {}  # values that were written down point into the shapes that were
    present = sorted({n for t in sample.operands() for n in t.shape if n > 1})
    if not present or data.draw(st.booleans()):
        return {}
    return {n: data.draw(st.integers(*_SIZES)) for n in present}


def _values(data: Any, t: T, shape: tuple[int, ...], d: Dtype) -> np.ndarray:
    if t.data is not None:
        return t.make(d)
    kind = formats.value_dtype(d)
    if d is formats.BOOL:
        elements: Any = st.booleans()
    elif d in formats.INTS:
        low, high = RANGES.get(t.of, (-9, 9)) if isinstance(t.of, str) else t.of
        elements = st.integers(*integer_range(low, high, d))
        if t.of == "nonzero":
            elements = elements.filter(bool)
    else:
        low, high = RANGES.get(t.of, (-3.0, 3.0)) if isinstance(t.of, str) else t.of
        number = st.floats(low, high, allow_nan=False).map(
            lambda v: float(formats.round_to(np.array(v), d.to_real()))
        )
        number = number.filter(lambda v: v == 0 or abs(v) > 1e-3)
        if t.of == "nonzero":
            number = number.filter(bool)
        elements = number if d in formats.FLOATS else st.builds(complex, number, number)
    return np.asarray(data.draw(hnp.arrays(kind, shape, elements=elements)))


def _judge(found: Found, device: Device) -> str:
    """What is wrong with a call, or nothing.

    A call that the reference refuses is passed over, and so is one that the library refuses on
    every device alike: what it has to take and to refuse is said by samples, not by chance.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.expected()
        except Exception:
            return ""
    result = run_case(found.case(), device, watch=False)
    if not result.bad:
        return ""
    refused = _refusal(found, device.type)
    return "" if refused and refused == _refusal(found, "cpu") else result.message


def _refusal(found: Found, device: str) -> str:
    try:
        bench = Bench(Trial(Device(*find_backend(device), type=device.partition(":")[0])))
        args, kwargs, _ = found.place(bench)
        found.op.function()(*args, **kwargs)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return ""
