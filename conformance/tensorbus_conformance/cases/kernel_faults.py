"""L1 cases of indices outside: found before anything is written, and named rightly.

And of indices that name one place twice.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import IndexFault, dtype
from tensorbus_conformance import compare, formats, values
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.faults import expect_fault
from tensorbus_conformance.primitives import INDEXED, WRAPPING, WRITING, joins
from tensorbus_conformance.specimens import Specimen
from tensorbus_conformance.trial import Placed, Trial

FAMILY = "index"
MANY = 3_001
_DTYPES = (formats.FLOAT32, formats.INT64, formats.BOOL)


def _hows(op: str, d: dtype) -> tuple[str, ...]:
    if op not in WRITING:
        return ("",)
    return joins(d)


def _call(
    op: str, d: dtype, dim: int, how: str, indices: np.ndarray, wrap: bool, n: int
) -> Specimen:
    """A call with these indices along *dim*, of size *n*, of a table of two dimensions."""
    count, other = indices.size, 2
    shape = (n, other) if dim == 0 else (other, n)
    picked = (count, other) if dim == 0 else (other, count)
    lines = indices.reshape(-1, 1) if dim == 0 else indices
    i = indices if op in WRAPPING else np.array(np.broadcast_to(lines, picked))
    arrays = [values.plain(d, shape, "fault"), i]
    if op in WRITING:
        arrays.append(values.plain(d, picked, "fault source"))
    return Specimen(op, d, tuple(arrays), dim, how, wrap)


def _faults(t: Trial, s: Specimen, placed: list[Placed], bad: set[int], n: int) -> None:
    def run() -> None:
        t.call(s.op, s.dtype, *s.arguments(t, placed))

    expect_fault(t, run, bad, s.dim, n)
    if s.op in WRITING:
        t.written(placed[0])
        if t.traits.host_sync:
            now = t.storage(placed[0])
            compare.same_bytes(now, placed[0].buffer, "a faulting call wrote a part of out")
    else:
        t.untouched(*placed)


def check_places(op: str, d: dtype, t: Trial) -> None:
    """One wrong index, the first, the last or one in the middle of few and of many."""
    n = 7
    for how in _hows(op, d):
        for wrap in (False, True) if op in WRAPPING else (False,):
            for value in (n, -n - 1) if wrap else (n, -1):
                for count, at in ((1, 0), (9, 0), (9, 8), (MANY, MANY // 2), (MANY, MANY - 1)):
                    indices = np.arange(count) % n
                    indices[at] = value
                    s = _call(op, d, at % 2, how, indices, wrap, n)
                    _faults(t, s, s.place(t), {value}, n)


def check_named(op: str, d: dtype, t: Trial) -> None:
    """Of several wrong indices one is named, none that is right; its dimension and size with it."""
    for dim, n in ((0, 5), (1, 11)):
        indices = np.array([0, 3, n + 2, 1, -4, n, 2**40, 2])
        for how in _hows(op, d):
            s = _call(op, d, dim, how, indices, False, n)
            _faults(t, s, s.place(t), {n + 2, -4, n, 2**40}, n)


def check_scalar(op: str, d: dtype, t: Trial) -> None:
    """A Python number as the source: no part of it is written beside a wrong index."""
    for how in _hows(op, d):
        s = _call(op, d, 1, how, np.array([0, 1, 2, 9]), False, 5)
        out, i, _ = s.place(t)
        more = [s.wrap] if op == "put" else []

        def run(out: Placed = out, i: Placed = i, how: str = how, more: list[Any] = more) -> None:
            t.call(op, d, out, 1, i, t.scalar(1, d), how, *more)

        expect_fault(t, run, {9}, 1, 5)
        t.written(out)
        if t.traits.host_sync:
            compare.same_bytes(t.storage(out), out.buffer, "a faulting call wrote a part of out")


def check_first(op: str, d: dtype, t: Trial) -> None:
    """Of two calls with wrong indices the first is named, and after it none; good calls go on."""
    for value, n in ((8, 5), (-3, 6)):
        for at, size in ((value, n), (n + 40, n + 1)):
            s = _call(op, d, 0, _hows(op, d)[0], np.array([0, at]), False, size)
            try:
                t.call(op, d, *s.arguments(t, s.place(t)))
            except IndexFault as fault:
                if not t.traits.host_sync or (fault.value, fault.n) != (at, size):
                    raise Mismatch(
                        f"the fault says {fault}, expected index {at} of {size}"
                    ) from fault
        if not t.traits.host_sync:
            try:
                t.backend.synchronize(t.index)
            except IndexFault as fault:
                if (fault.value, fault.n) != (value, n):
                    raise Mismatch(f"{fault}: that of the first call is {value} of {n}") from fault
            else:
                raise Mismatch("two calls with wrong indices, and no IndexFault by synchronize")
        t.backend.synchronize(t.index)
        good = _call(op, d, 0, _hows(op, d)[0], np.array([0, 4, 2]), False, 5)
        good.check(t)


def check_twice(op: str, d: dtype, t: Trial) -> None:
    """-1 and n-1 are one place, and so are -n and 0: both values arrive there."""
    n = 6
    for how in _hows(op, d):
        if how == "set":
            continue
        indices = np.array([-1, n - 1, 0, -n, 2, -1])
        for dim in (0, 1):
            s = _call(op, d, dim, how, indices, True, n)
            arrays = list(s.arrays)
            if how in ("add", "mul") and d in formats.FLOATS:
                arrays[0], arrays[2] = np.ones_like(arrays[0]), np.full_like(arrays[2], 1.5)
            Specimen(op, d, tuple(arrays), dim, how, True).check(t)


def cases() -> Iterator[Case]:
    """The cases, in the family of ``take``, ``gather``, ``put`` and ``scatter``."""
    part = functools.partial
    for op in INDEXED:
        for d in _DTYPES:
            checks = {"fault-places": check_places, "fault-named": check_named,
                      "fault-first": check_first}  # fmt: skip
            if op in WRITING:
                checks["fault-scalar"] = check_scalar
            if op in WRAPPING:
                checks["twice"] = check_twice
            for variant, check in checks.items():
                yield Case(f"L1/{op}/{d.name}/{variant}", FAMILY, part(check, op, d), (d,))
