"""Levels 2 and 4: integers at the ends of their dtypes beside numbers, and divided by zero.

The samples of the ops try these between tensors. Here they stand beside a Python number on either
side, in place and with ``out=``, where the frontend or a kernel may take another way.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import PRIMITIVES
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench, Operand, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.pointwise_reference import reference
from tensorbus_conformance.primitives import DIVIDING
from tensorbus_conformance.trial import Trial

FAMILY = "whole numbers"

Call = Callable[..., Any]


def _in_place(name: str) -> Call:
    return lambda x, y: getattr(x, name)(y)


def _quotient(mode: str) -> dict[str, Call]:
    def right(x: Any, y: Any, **out: Any) -> Any:
        return tensorbus.div(x, y, rounding_mode=mode, **out)

    return {"right": right, "in-place": lambda x, y: x.div_(y, rounding_mode=mode), "out": right}


def _function(name: str) -> dict[str, Call]:
    function = getattr(tensorbus, name)
    return {"right": function, "in-place": _in_place(f"{name}_"), "out": function}


def _shift(name: str) -> dict[str, Call]:
    return {"right": getattr(operator, name), "in-place": getattr(operator, f"i{name}")}


_CALLS: dict[str, dict[str, Call]] = {
    "add": {**_function("add"), "left": operator.add},
    "sub": {**_function("sub"), "left": operator.sub},
    "mul": {**_function("mul"), "left": operator.mul},
    "pow": {**_function("pow"), "left": operator.pow},
    "floor_divide": {**_function("floor_divide"), "left": operator.floordiv},
    "remainder": {**_function("remainder"), "left": operator.mod},
    "fmod": _function("fmod"),
    "div-floor": _quotient("floor"),
    "div-trunc": _quotient("trunc"),
    "lshift": {**_shift("lshift"), "left": operator.lshift},
    "rshift": {**_shift("rshift"), "left": operator.rshift},
}
"""The ways to call each: with a number on the right or on the left, in place, with ``out=``."""

_DIVISIONS = (*DIVIDING, "remainder", "div-floor", "div-trunc")


def expected(name: str, d: Dtype, x: Any, y: Any) -> np.ndarray:
    """The results over Python's integers, wrapped into the dtype; 0 where *y* is 0."""

    def of(op: str, *operands: Any) -> np.ndarray:
        return reference(op, d, [np.asarray(a, formats.value_dtype(d)) for a in operands])

    if name == "remainder":
        return of("sub", x, of("mul", of("floor_divide", x, y), y)) * (y != 0)
    if name == "div-trunc":
        return of("floor_divide", of("sub", x, of("fmod", x, y)), y)
    return of("floor_divide" if name == "div-floor" else name, x, y)


def numbers(name: str, d: Dtype, way: str) -> list[int]:
    """Those of the dtype at which integers wrap or kernels take another way, and some beyond it."""
    low, high = formats.limits(d)
    found = [low, high, -1, 1, 2, 3, d.bits - 1, d.bits, d.bits + 1, -d.bits, low + 1, 100]
    found = [n for n in found if low <= n <= high]
    if name == "pow":  # which takes neither negative numbers nor what the dtype does not hold
        return found if way == "left" else [0, *(n for n in found if n >= 0)]
    beyond = [high + 1, low - 1, 300, -300, (1 << d.bits) + 3]
    found += [n for n in beyond if -(2**63) <= n < 2**63]
    if name in _DIVISIONS and way != "left":
        return [n for n in found if formats.wrap(n, d)]
    return [*found, 0]


def cases() -> Iterator[Case]:
    part = functools.partial
    for name, calls in _CALLS.items():
        level = "L2" if name in PRIMITIVES else "L4"
        for d in formats.INTS:
            stem = f"{level}/{name}/{d.name}"
            for way, call in calls.items():
                check = part(_beside_numbers, name, way, call, d)
                yield Case(f"{stem}/numbers-{way}", FAMILY, check, (d,))
            if name in _DIVISIONS:
                for way, call in calls.items():
                    check = part(_by_the_number_zero if way != "left" else _of_a_number, name, way,
                                 call, d)  # fmt: skip
                    yield Case(f"{stem}/zero-{way}", FAMILY, check, (d,))
                check = part(_by_zeros, name, calls["right"], d)
                yield Case(f"{stem}/zeros", FAMILY, check, (d,))
                check = part(_by_zeros_in_place, name, calls["in-place"], d)
                yield Case(f"{stem}/zeros-in-place", FAMILY, check, (d,))
    for d in formats.INTS:
        check = part(_truly_by_zero, d)
        yield Case(f"L2/div/{d.name}/zero", FAMILY, check, (d, formats.FLOAT32))


# -- beside numbers --------------------------------------------------------------------------
def _beside_numbers(name: str, way: str, call: Call, d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    host = values.edges(d)
    if name in _DIVISIONS and way == "left":
        host = np.where(host == 0, host.dtype.type(7), host)
    for n in numbers(name, d, way):
        given, held = bench.place(host, d), np.full(host.shape, formats.wrap(n, d), host.dtype)
        operands = (held, host) if way == "left" else (host, held)
        got = _called(bench, way, call, given, n)
        bench.same(got, expected(name, d, *operands), d, where=f"{n}: ")
        if way != "in-place":
            bench.untouched([given])


def _called(bench: Bench, way: str, call: Call, given: Operand, n: Any) -> Any:
    if way == "left":
        return call(n, given.tensor)
    if way == "out":
        out = bench.place(np.zeros_like(given.host), given.dtype, "strided")
        return call(given.tensor, n, out=out.tensor)
    return call(given.tensor, n)


# -- by zero ---------------------------------------------------------------------------------
def _refused(what: str, call: Callable[[], Any]) -> None:
    raised = expect_raises(call, RuntimeError)
    if str(raised).partition("\n")[0] != "ZeroDivisionError":
        raise Mismatch(f"{what}: the message is {str(raised)!r}, expected 'ZeroDivisionError'")


def _by_the_number_zero(name: str, way: str, call: Call, d: Dtype, t: Trial) -> None:
    """An error on every device, also for a number that wraps to zero, unless there is nothing."""
    bench = Bench(t)
    beyond = [n for n in (1 << d.bits, -(1 << d.bits)) if abs(n) < 2**63]
    truths = bench.place(np.array([True, False]), formats.BOOL)
    for n in (0, False, np.int8(0), *beyond):
        for host in (values.edges(d), values.edges(d)[:1].reshape(())):
            given = bench.place(host, d)
            _refused(repr(n), functools.partial(_called, bench, way, call, given, n))
            bench.untouched([given])
        nothing = bench.place(values.edges(d)[:0], d)
        bench.same(_called(bench, way, call, nothing, n), nothing.host, d)
    if way == "right":
        _refused("bool by 0", functools.partial(call, truths.tensor, 0))


def _divisors(d: Dtype) -> np.ndarray:
    found = values.edges(d).copy()
    found[::3] = 0
    return found


def _by_zeros(name: str, call: Call, d: Dtype, t: Trial) -> None:
    """An error where the host waits for the device anyway; else other elements are right."""
    bench = Bench(t)
    x, y = bench.place(values.edges(d)[::-1], d), bench.place(_divisors(d), d)
    zero = bench.place(np.zeros(()), d)
    if t.traits.host_sync:
        _refused("zeros", functools.partial(call, x.tensor, y.tensor))
        _refused("one zero", functools.partial(call, x.tensor, zero.tensor))
    else:
        _right_elsewhere(bench, name, call(x.tensor, y.tensor), x.host, y.host, d)
        bench.same(call(x.tensor, zero.tensor) * 0, np.zeros_like(x.host), d)
    bench.untouched([x, y, zero])


def _of_a_number(name: str, way: str, call: Call, d: Dtype, t: Trial) -> None:
    """A number divided by a tensor with zeros."""
    bench = Bench(t)
    y = bench.place(_divisors(d), d)
    if t.traits.host_sync:
        _refused("zeros", functools.partial(call, 100, y.tensor))
    else:
        host = np.full(y.host.shape, 100, y.host.dtype)
        _right_elsewhere(bench, name, call(100, y.tensor), host, y.host, d)
    bench.untouched([y])


def _by_zeros_in_place(name: str, call: Call, d: Dtype, t: Trial) -> None:
    """What raises leaves its operand as it was."""
    bench = Bench(t)
    x, y = bench.place(values.edges(d)[::-1], d, "strided"), bench.place(_divisors(d), d)
    if t.traits.host_sync:
        _refused("zeros", functools.partial(call, x.tensor, y.tensor))
        bench.untouched([x, y])
        return
    _right_elsewhere(bench, name, call(x.tensor, y.tensor), x.host, y.host, d)
    bench.untouched([y])


def _right_elsewhere(bench: Bench, name: str, got: Any, x: Any, y: np.ndarray, d: Dtype) -> None:
    """The contract leaves open what a zero in a tensor gives, but not what stands beside it."""
    want = expected(name, d, x, y)
    bench.same(tensorbus.where(bench.send(y == 0, formats.BOOL), 0, got), np.where(y, want, 0), d)


def _truly_by_zero(d: Dtype, t: Trial) -> None:
    """True division is that of floats."""
    bench = Bench(t)
    host = values.edges(d)
    x, zeros = bench.place(host, d), bench.place(np.zeros_like(host), d)
    with np.errstate(all="ignore"):
        want = np.float32(host) / np.float32(0)
        inverse = np.full(host.shape, np.inf, np.float32)
    bench.same(x.tensor / 0, want, formats.FLOAT32)
    bench.same(x.tensor / zeros.tensor, want, formats.FLOAT32)
    bench.same(1 / zeros.tensor, inverse, formats.FLOAT32)
