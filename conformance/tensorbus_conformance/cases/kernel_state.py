"""L1 cases of what a kernel may keep: nothing. Repeated calls, held results, changed operands,
two threads, and results that must not be their operands.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import POINTWISE, REDUCTIONS, SCANS, dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.creation import stream
from tensorbus_conformance.cases.kernel_sizes import family
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.interleaving import in_rounds
from tensorbus_conformance.primitives import (
    CREATING,
    OF_ARRAYS,
    TO_BOOL,
    TO_INDICES,
    WRITING,
    domain,
    joins,
)
from tensorbus_conformance.specimens import CONTRACTION, Specimen, specimen
from tensorbus_conformance.trial import Placed, Trial

SHAPE = (4, 6)
CALLS = 13
HELD = 9
_DTYPES = (formats.FLOAT32, formats.INT64, formats.BOOL, formats.FLOAT16, formats.UINT8)


def kinds(op: str) -> tuple[dtype, ...]:
    """The dtypes in which state is looked for."""
    return tuple(d for d in _DTYPES if d in domain(op))


def check_steady(op: str, d: dtype, t: Trial) -> None:
    """Many calls in turn over two sets of operands; results are read when all have been made.

    The sets have the same numbers, with the same ones first and last.
    """
    one = specimen(op, d, SHAPE, "steady")
    made = [one, dataclasses.replace(one, arrays=tuple(_rolled(a) for a in one.arrays))]
    held = []
    for call in range(CALLS):
        s = made[turn(call)]
        placed = s.place(t)
        held.append((s, placed, s.launch(t, placed)))
    for s, placed, result in held:
        s.judge(t, s.read(t, result, placed))


def turn(call: int) -> int:
    """Which of two sets a call gets, in a sequence without a period: memory may be used in turn."""
    return call.bit_count() % 2


def _rolled(array: np.ndarray) -> np.ndarray:
    flat = array.flatten()
    flat[1:-1] = np.roll(flat[1:-1], 1)
    return flat.reshape(array.shape)


def check_held(op: str, d: dtype, t: Trial) -> None:
    """Many large results, held until all have been made, are what they were when they were made."""
    if op == CONTRACTION:
        made = [specimen(op, d, (271, 3), ("held", k), columns=257) for k in range(2)]
    else:
        shape, dim = ((257, 271), None) if op in POINTWISE else ((67_591, 2), 1)
        made = [specimen(op, d, shape, ("held", k), dim=dim, indices=2) for k in range(2)]
    placed = [s.place(t) for s in made]
    held = []
    for call in range(HELD):
        k = turn(call)
        result = made[k].launch(t, placed[k])
        held.append((result, t.read(result, made[0].found).tobytes()))
    for result, before in held:
        _same(t, made[0], result, before)


def check_changed(op: str, d: dtype, t: Trial) -> None:
    """The operands keep their memory and get other values: so does the result.

    The first result is kept, and holds what it held.
    """
    before, after = (specimen(op, d, SHAPE, ("changed", k)) for k in range(2))
    placed = before.place(t)
    first = before.launch(t, placed)
    got = before.read(t, first, placed)
    before.judge(t, got)
    told = got.tobytes()  # on a device in host memory the values may be read where they lie
    for operand, array in zip(placed, after.arrays, strict=True):
        _rewrite(t, operand, array)
    second = after.launch(t, placed)
    after.judge(t, after.read(t, second, placed))
    if op not in WRITING:
        _same(t, before, first, told)


def _rewrite(t: Trial, operand: Placed, array: np.ndarray) -> None:
    fresh = t.place(array, operand.dtype)
    t.backend.copy_(operand.array, operand.dtype, fresh.array, operand.dtype)
    operand.values, operand.buffer = array, fresh.buffer


def _same(t: Trial, s: Specimen, result: Any, before: bytes) -> None:
    if t.read(result, s.found).tobytes() != before:
        raise Mismatch("a result that was read before has changed: a later call wrote into it")


def check_parameters(op: str, d: dtype, t: Trial) -> None:
    """The same operand with other dimensions and ways of joining, in turn."""
    made = []
    for _ in range(2):
        for dim in (0, 1):
            if op == CONTRACTION:
                made.append(specimen(op, d, (4, 4), "square", columns=4 - dim))
                continue
            for how in joins(d) if op in WRITING else (None,):
                more: dict[str, Any] = {} if how is None else {"how": how}
                made.append(specimen(op, d, (5, 5), "parameters", dim=dim, **more))
    held = []
    for s in made:
        placed = s.place(t)
        held.append((s, placed, s.launch(t, placed)))
    for s, placed, result in held:
        s.judge(t, s.read(t, result, placed))


# -- results apart from operands ------------------------------------------------------------
def identities(op: str, d: dtype) -> Iterator[tuple[Specimen, tuple[Any, ...]]]:
    """Calls whose result has the values of an operand, and numbers that stand for operands."""
    x = np.abs(values.plain(d, (5,), "identity")) if d is not formats.BOOL else np.ones(5, bool)
    if d in formats.FLOATS:
        x = formats.round_to(np.rint(np.clip(x, 0, 99)), d)
    whole = x.astype(formats.value_dtype(d))
    if op in ("abs", "floor", "round"):
        yield Specimen(op, d, (whole,)), ()
    elif op in ("sqrt", "sin", "tanh", "expm1", "log1p"):
        yield Specimen(op, d, (np.zeros(5, whole.dtype),)), ()
    elif op in ("atan2", "fmod"):
        rest = np.full(5, 1 if op == "atan2" else 100, whole.dtype)
        yield Specimen(op, d, (whole % 2 * 0 if op == "atan2" else whole % 100, rest)), ()
    elif op in TO_BOOL and d is formats.BOOL:
        x, same = np.array([True, False, True]), np.full(3, op in ("eq", "le"))
        yield Specimen(op, d, (same, x)), ()
    elif op in REDUCTIONS and op in TO_INDICES:
        if d is formats.INT64:
            yield Specimen(op, d, (np.zeros((5, 1), np.int64),), 1), ()
    elif op in ("maximum", "minimum", "bitwise_and", "bitwise_or"):
        yield Specimen(op, d, (whole, whole.copy())), ()
    elif op in (
        "add",
        "sub",
        "mul",
        "div",
        "floor_divide",
        "pow",
        "lshift",
        "rshift",
        "bitwise_xor",
    ):
        neutral = {"mul": 1, "div": 1, "floor_divide": 1, "pow": 1}.get(op, 0)
        if d is formats.BOOL:
            neutral = False
        yield Specimen(op, d, (whole, np.full(5, neutral, whole.dtype))), (neutral,)
    elif op == "where":
        for c in (True, False):
            yield Specimen(op, d, (np.full(5, c), whole, whole[::-1].copy())), ()
    elif op in (*REDUCTIONS, *SCANS):
        yield Specimen(op, d, (whole.reshape(5, 1),), 1), ()
    elif op == CONTRACTION:
        square = np.eye(5, dtype=whole.dtype)
        yield Specimen(op, d, (square, np.tile(whole, (5, 1)))), ()
        yield Specimen(op, d, (np.tile(whole, (5, 1)), square)), ()
        yield Specimen(op, d, (whole.reshape(5, 1), np.ones((1, 1), whole.dtype))), ()
    elif op == "take":
        yield Specimen(op, d, (whole, np.arange(5))), ()
        yield Specimen(op, d, (whole, np.arange(2, 5))), ()
        yield Specimen(op, d, (whole[:1], np.zeros(1, np.int64))), ()
    elif op == "gather":
        yield Specimen(op, d, (whole, np.arange(5))), ()
    elif op == "argsort" and d is formats.INT64:
        yield Specimen(op, d, (np.arange(5),)), ()


def check_apart(op: str, d: dtype, t: Trial) -> None:
    """A result equal to an operand is memory of its own: a write to it leaves the operand alone."""
    for s, numbers in identities(op, d):
        ways = [s.place(t)]
        if numbers:
            ways.append([*s.place(t)[:-1], *[t.scalar(n, d) for n in numbers]])
        for placed in ways:
            made = t.call(op, d, *s.arguments(t, placed))
            s.judge(t, s.read(t, made, placed))
            if t.traits.scalar_results and np.isscalar(made):
                continue
            t.backend.copy_(made, s.found, 0, None)
            t.untouched(*placed)


# -- two threads -----------------------------------------------------------------------------
ROUNDS = 2


def check_threads(op: str, d: dtype, t: Trial) -> None:
    """Two threads call one kernel in turn, and each gets the results of its own operands.

    They change at each line that the kernel runs in Python.
    """
    made = [specimen(op, d, SHAPE, ("threads", k)) for k in range(2)]
    kernel = t.kernel(op, d)
    work = [_prepared(t, s) for s in made]
    results: list[list[Any]] = [[], []]

    def body(who: int, call: int) -> None:
        results[who].append(kernel(*work[who][call][0]))

    in_rounds(ROUNDS, body)
    for who, s in enumerate(made):
        for result, (_, placed) in zip(results[who], work[who], strict=True):
            s.judge(t, s.read(t, result, placed))


def _prepared(t: Trial, s: Specimen) -> list[tuple[list[Any], list[Placed]]]:
    rounds = []
    for _ in range(ROUNDS):
        placed = s.place(t)
        rounds.append((s.arguments(t, [p.array for p in placed]), placed))
    return rounds


# -- kernels without operands ------------------------------------------------------------------
def check_made(op: str, t: Trial) -> None:
    """``arange`` and ``random_bits``: results are apart from each other, and stay as they are."""
    d = formats.INT64
    kernel, token = t.kernel(op, d), t.token(d)

    def call(k: int) -> tuple[Any, np.ndarray]:
        if op == "arange":
            return kernel(9, k % 2, 2, token), k % 2 + 2 * np.arange(9)
        key = (5, k % 2)
        return kernel(key, 3, 9), stream(key, 3, 9)

    held = [call(k) for k in range(CALLS)]
    for made, want in held:
        t.exact(t.read(made, d), want, d)
    t.backend.copy_(held[0][0], d, 0, None)
    for made, want in [*held[1:], call(0)]:
        t.exact(t.read(made, d), want, d)


def cases() -> Iterator[Case]:
    """The cases, in the family of the primitive they try."""
    part = functools.partial
    for op in OF_ARRAYS:
        for d in kinds(op):
            checks = {"steady": check_steady, "changed": check_changed}
            if op not in WRITING and d in (formats.FLOAT32, formats.INT64):
                checks["held"] = check_held
            if op not in POINTWISE:
                checks["parameters"] = check_parameters
            if d in (formats.FLOAT32, formats.INT64):
                checks["threads"] = check_threads
            if next(identities(op, d), None) is not None:
                checks["apart"] = check_apart
            for variant, check in checks.items():
                yield Case(f"L1/{op}/{d.name}/{variant}", family(op), part(check, op, d), (d,))
    for op in CREATING:
        yield Case(f"L1/{op}/int64/steady", family(op), part(check_made, op))
