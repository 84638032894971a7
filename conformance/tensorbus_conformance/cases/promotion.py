"""Level 2: which dtype a result has where operands differ, and what is refused in place.

Expected dtypes come from the suite's own table of PyTorch's rules; values are those of the op's
reference over operands brought to the common dtype. A case goes through all second dtypes that
the device claims, but for ``add``, which has a case for each pair.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, promotion_rules
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import Op, Sample, T, wide
from tensorbus_conformance.promotion_rules import can_cast, common
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial

NUMBERS: tuple[Any, ...] = (True, 2, 2.5, 2j)
"""Numbers that every dtype of their category holds exactly."""

_PAIRWISE = "add"


def cases() -> Iterator[Case]:
    for op in all_ops():
        if op.promotes and any(len(free(s)) > 1 for s in op.samples):
            yield from _cases_of(op)


def _cases_of(op: Op) -> Iterator[Case]:
    sample = mixed_sample(op)
    family = op.family or "ops"
    for first in formats.ALL:
        if not any(common([first, d]) in op.dtypes for d in formats.ALL):
            continue
        stem = f"L2/{op.name}/{first.name}"
        seconds = formats.ALL
        free_ranks = direct(sample) and op.promotes != "dims"
        for how in ("dims", "scalar") if free_ranks else ("dims",):
            if op.name == _PAIRWISE:
                for second in seconds:
                    check = functools.partial(_pairs, op, sample, first, (second,), how)
                    id = f"{stem}-{second.name}/promotion-{how}"
                    yield Case(id, family, check, tuple({first: 0, second: 0}))
            else:
                check = functools.partial(_pairs, op, sample, first, seconds, how)
                yield Case(f"{stem}/promotion-{how}", family, check, (first,))
        if takes_number(op):
            check = functools.partial(_numbers, op, sample, first)
            yield Case(f"{stem}/promotion-numbers", family, check, (first,))
        if op.name in _OPERATORS:
            swapped = Sample("swapped", (free(sample)[1], free(sample)[0]))
            check = functools.partial(_numbers, _reflected(op), swapped, first)
            yield Case(f"{stem}/promotion-reflected", family, check, (first,))
        if not op.inplace or not direct(sample):
            continue
        if sample.args[0] in sample.operands()[:1] and _method(op) is not None:
            check = functools.partial(_in_place, op, sample, first)
            yield Case(f"{stem}/promotion-in-place", family, check, (first,))
        if first in _TARGETS and _takes_out(op):
            check = functools.partial(_out, op, sample, first)
            yield Case(f"{stem}/promotion-out", family, check, (first,))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "lt": operator.lt, "ge": operator.ge, "eq": operator.eq,
}  # fmt: skip


def _reflected(op: Op) -> Op:
    """The op of a tensor and a number as ``number OPERATOR tensor``."""
    operate = _OPERATORS[op.name]
    return dataclasses.replace(
        op,
        call=lambda x, y: operate(y, x),
        reference=lambda x, y: op.reference(y, x),
        scale=None if op.scale is None else (lambda x, y: op.scale(y, x)),  # type: ignore[misc]
    )


_TARGETS = (formats.BOOL, formats.INT64, formats.FLOAT32, formats.COMPLEX64)


def _method(op: Op) -> Any:
    return None if "." in op.name else getattr(tensorbus.Tensor, f"{op.name}_", None)


def _takes_out(op: Op) -> bool:
    import inspect

    try:
        return "out" in inspect.signature(op.function()).parameters
    except (ValueError, AttributeError):
        return False


# -- which samples ---------------------------------------------------------------------------
def mixed_sample(op: Op) -> Sample:
    """The first sample with two operands in the case's dtype; ValueError where there is none."""
    for sample in op.samples:
        if len(free(sample)) > 1 and not any(0 in t.shape or t.of == "wide" for t in free(sample)):
            return sample
    raise ValueError(f"{op.name} promotes, but has no sample of two operands")


def free(sample: Sample) -> list[T]:
    """The operands whose dtype is the case's."""
    return [t for t in sample.operands() if t.dtype is None]


def direct(sample: Sample) -> bool:
    """Whether the two operands are arguments themselves, not elements of a list."""
    return all(any(t is a for a in sample.args) for t in free(sample)[:2])


def takes_number(op: Op) -> bool:
    """Whether some sample has a Python number where the second operand stands."""
    sample = mixed_sample(op)
    if not direct(sample) or op.promotes == "dims":
        return False
    position = next(i for i, a in enumerate(sample.args) if a is free(sample)[1])
    return any(
        len(s.args) > position and isinstance(s.args[position], (int, float)) and free(s)
        for s in op.samples
    )


_REFUSE_BOOL = ("sub", "subtract", "rsub", "nn.functional.l1_loss")
"""They refuse truth values beside whatever dtype; others bring them to the common dtype."""


# -- one call --------------------------------------------------------------------------------
def _host(t: T, d: Dtype, *key: object) -> np.ndarray:
    """Values of an operand in its own dtype; truth values are true where 0 is not allowed."""
    found = t.make(d, *key)
    if d is formats.BOOL and t.of not in ("spread", "ties", "unit"):
        return np.ones_like(found)
    return found


def _as(host: np.ndarray, d: Dtype) -> np.ndarray:
    """Values as the reference gets them, once they are brought to a dtype."""
    if d in formats.FLOATS or d in formats.COMPLEX:
        return wide(np.asarray(formats.round_to(host, d)), d)
    return np.asarray(host).astype(formats.value_dtype(d))


def _hosts(op: Op, sample: Sample, first: Dtype, second: Dtype, how: str) -> list[Any]:
    """(dtype, values) of each operand: the second one in another dtype, or of no dimensions."""
    found: list[Any] = []
    seen = 0
    for position, t in enumerate(sample.operands()):
        d = t.dtype
        if d is None:
            d, seen = (second if seen == 1 else first), seen + 1
        host = _host(t, d, op.name, sample.variant, position)
        if how == "scalar" and t.dtype is None and seen == 2:
            host = host.reshape(-1)[-1:].reshape(())
        found.append((d, host))
    return found


def _call(
    bench: Bench, op: Op, sample: Sample, operands: Sequence[Any], together: Dtype
) -> tuple[list[Any], dict[str, Any], Any, Any]:
    """(arguments, keyword arguments, expected result, scale) for operands or Python numbers."""
    tensors, values = [], []
    result = op.result_dtypes(together, 1)[0]
    if _rounds(result) and (together in formats.COMPLEX) <= (result in formats.COMPLEX):
        together = result  # it is converted once: to what the op computes in
    declared = sample.operands()
    for t, (d, host) in zip(declared, operands, strict=True):
        if d is None:
            tensors.append(host)
            values.append(_as(np.asarray(host), together))
        else:
            tensors.append(bench.place(host, d).tensor)
            values.append(_as(host, together) if t.dtype is None else wide(host, d))
    rest = iter(tensors)
    args, kwargs = sample.replace(lambda _: next(rest), dtype=together, device=bench.device)
    want = bench.reference(op, sample, values)
    scale = None
    if op.scale is not None:
        scale = bench.reference(dataclasses.replace(op, reference=op.scale), sample, values)
    return args, kwargs, want, scale


def _claimed(t: Trial, *dtypes: Dtype) -> bool:
    return all(d in t.capabilities.dtypes for d in dtypes)


def _each(
    op: Op,
    t: Trial,
    together: Dtype,
    operands: Sequence[Any],
    check: Callable[[], None],
    text: Callable[[], str],
) -> None:
    """Run one combination, unless the op or the device has no such dtype; say which one failed."""
    if together not in op.dtypes or not _claimed(t, together, *op.result_dtypes(together, 1)):
        return
    if op.name in _REFUSE_BOOL and any(d is formats.BOOL or x is True for d, x in operands):
        return
    try:
        check()
    except Mismatch as wrong:
        raise Mismatch(f"{text()}: {wrong}") from None
    except Exception as error:
        raise Mismatch(f"{text()}: raised {type(error).__name__}: {error}") from error


# -- the cases -------------------------------------------------------------------------------
def _pairs(
    op: Op, sample: Sample, first: Dtype, seconds: Sequence[Dtype], how: str, t: Trial
) -> None:
    bench = Bench(t)
    for second in seconds:
        if not _claimed(t, second):
            continue
        together = _together(sample, first, second, how)
        operands = _hosts(op, sample, first, second, how)

        def check(operands: Any = operands, together: Dtype = together) -> None:
            args, kwargs, want, scale = _call(bench, op, sample, operands, together)
            bench.check(op.function()(*args, **kwargs), want, op, together, scale)

        def text(second: Dtype = second) -> str:
            return f"{first.name} with {second.name} ({how})"

        _each(op, t, together, operands, check, text)


def _together(sample: Sample, first: Dtype, second: Dtype, how: str) -> Dtype:
    if how == "dims":
        return common([first, second])
    return common([first], [second]) if free(sample)[0].shape else common([], [first, second])


def _numbers(op: Op, sample: Sample, first: Dtype, t: Trial) -> None:
    bench = Bench(t)
    operands = _hosts(op, sample, first, first, "dims")
    position = next(i for i, x in enumerate(sample.operands()) if x is free(sample)[1])
    for number in NUMBERS:
        together = common([first], [], [promotion_rules.of_number(number)])
        given = [(None, number) if i == position else o for i, o in enumerate(operands)]

        def check(given: Any = given, together: Dtype = together) -> None:
            args, kwargs, want, scale = _call(bench, op, sample, given, together)
            bench.check(op.function()(*args, **kwargs), want, op, together, scale)

        def text(number: Any = number) -> str:
            return f"{first.name} with the number {number!r}"

        _each(op, t, together, given, check, text)


def _refused(d: Dtype, target: Dtype) -> str:
    names = [x.legacy.removesuffix("Tensor") for x in (d, target)]
    return f"result type {names[0]} can't be cast to the desired output type {names[1]}"


def _in_place(op: Op, sample: Sample, first: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for second in formats.ALL:
        together = common([first, second])
        if not _claimed(t, second):
            continue
        operands = _hosts(op, sample, first, second, "dims")

        def check(second: Dtype = second, operands: Any = operands) -> None:
            together = common([first, second])
            result = op.result_dtypes(together, 1)[0]
            args, kwargs, want, scale = _call(bench, op, sample, operands, together)

            def call() -> Any:
                return getattr(args[0], f"{op.name}_")(*args[1:], **kwargs)

            if can_cast(result, first):
                call()
                _converted(bench, op, args[0], want, (result, first), scale)
            else:
                _expect(call, _refused(result, first))

        def text(second: Dtype = second) -> str:
            return f"{first.name} in place with {second.name}"

        _each(op, t, together, operands, check, text)
    for number in NUMBERS if takes_number(op) else ():
        _number_in_place(bench, op, sample, first, number)


def _number_in_place(bench: Bench, op: Op, sample: Sample, first: Dtype, number: Any) -> None:
    """A number of a higher category than the tensor's is refused, as a tensor of it would be."""
    together = common([first], [], [promotion_rules.of_number(number)])
    operands = _hosts(op, sample, first, first, "dims")
    position = next(i for i, x in enumerate(sample.operands()) if x is free(sample)[1])
    given = [(None, number) if i == position else o for i, o in enumerate(operands)]

    def check() -> None:
        result = op.result_dtypes(together, 1)[0]
        args, kwargs, want, scale = _call(bench, op, sample, given, together)

        def call() -> Any:
            return getattr(args[0], f"{op.name}_")(*args[1:], **kwargs)

        if can_cast(result, first):
            call()
            _converted(bench, op, args[0], want, (result, first), scale)
        else:
            _expect(call, _refused(result, first))

    def text() -> str:
        return f"{first.name} in place with the number {number!r}"

    _each(op, bench.trial, together, given, check, text)


def _out(op: Op, sample: Sample, target: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for second in formats.ALL:
        if not _claimed(t, second):
            continue
        operands = _hosts(op, sample, second, second, "dims")

        def check(second: Dtype = second, operands: Any = operands) -> None:
            result = op.result_dtypes(second, 1)[0]
            args, kwargs, want, scale = _call(bench, op, sample, operands, second)
            out = tensorbus.empty(np.shape(want), dtype=target, device=bench.device)

            def call() -> Any:
                return op.function()(*args, **kwargs, out=out)

            if can_cast(result, target):
                if call() is not out:
                    raise Mismatch("another tensor than out was returned")
                _converted(bench, op, out, want, (result, target), scale)
            else:
                _expect(call, _refused(result, target))

        def text(second: Dtype = second) -> str:
            return f"{second.name} into {target.name}"

        _each(op, t, second, operands, check, text)


def _rounds(d: Dtype) -> bool:
    return d in formats.FLOATS or d in formats.COMPLEX


def _converted(
    bench: Bench, op: Op, got: Any, want: Any, dtypes: tuple[Dtype, Dtype], scale: Any
) -> None:
    """A result that was computed in one dtype and written in another."""
    result, target = dtypes
    if target is not result:
        # Rounded twice: to the result's dtype, then to the target's, which may be the coarser.
        want = formats.round_to(want, result)
        if not _rounds(target):
            want = np.asarray(want).astype(formats.value_dtype(target))
    bound, units = op.ulp, 1.0
    if target is not result and _rounds(target):
        coarse = formats.unit_roundoff(result) if _rounds(result) else 0.0
        units = max(coarse / formats.unit_roundoff(target), 1.0)
        bound = (op.ulp + 1.0) * units
    before, bench.trial.ulp = bench.trial.ulp, None
    bench.check(got, want, dataclasses.replace(op, result=target, ulp=bound), target, scale)
    if bench.trial.ulp is not None:  # reported in units of the dtype it was computed in
        bench.trial.ulp = max(before or 0.0, bench.trial.ulp / units)


def _expect(call: Callable[[], Any], text: str) -> None:
    raised = expect_raises(call, RuntimeError)
    if str(raised) != text:
        raise Mismatch(f"the message is {str(raised)!r}, expected {text!r}")
