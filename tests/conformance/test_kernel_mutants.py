"""Every kernel that ``cpu`` brings beyond the primitives, made slightly wrong, is caught.

Which cases run a kernel is found by watching, so a new kernel is tried without being named here.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from tensorbus import discovery
from tensorbus.plugin import PRIMITIVES, VIEWS, Backend
from tensorbus.rows.registry import ROWS
from tensorbus_conformance import clones, formats, run, select
from tensorbus_conformance.profile import MAIN_DTYPES
from tensorbus_conformance.runner import run_case
from tensorbus_conformance.trial import Device

pytestmark = pytest.mark.long

LEVELS = ("L2", "L3", "L4", "L5")
CPU = discovery.backend("cpu")
DTYPES = {*MAIN_DTYPES, *formats.COMPLEX}
"""What the kernels compute in, and what transforms and eigenvalues give."""


def own_kernels() -> list[str]:
    """The ops beyond primitives and views that cpu has a kernel for."""
    return [
        name
        for name in ROWS
        if name not in (*PRIMITIVES, *VIEWS)
        and any(CPU.kernel(name, dtype, 0) is not None for dtype in MAIN_DTYPES)
    ]


@pytest.fixture(scope="module")
def users() -> dict[str, list[str]]:
    """The cases that run each kernel."""
    found: dict[str, list[str]] = defaultdict(list)
    used: set[str] = set()
    clone = clones.watched(CPU, used)
    with discovery.plugged(clone) as type:
        device = Device(clone, 0, type)
        for case in select(LEVELS):
            if DTYPES.issuperset(case.dtypes):
                used.clear()
                run_case(case, device)
                for op in {kernel.partition("/")[0] for kernel in used}:
                    found[op].append(case.id)
        device.close()
    return found


def disturbed(made: Any) -> Any:
    """A result with its last element wrong."""
    if isinstance(made, tuple):
        return tuple(disturbed(part) for part in made)
    if not isinstance(made, (np.ndarray, np.generic)) or not made.size:
        return made
    wrong = np.array(made)
    last = wrong[(-1,) * wrong.ndim]
    if wrong.dtype == bool:
        changed = ~last
    elif wrong.dtype.kind in "iu":
        changed = last + 1
    else:
        changed = last + wrong.dtype.type(0.01) * (1 + abs(last))
    wrong[(-1,) * wrong.ndim] = changed
    return wrong


def mutant(op: str) -> Backend:
    """The cpu backend with one kernel's results disturbed."""
    clone = copy.copy(CPU)

    def kernel(name: str, dtype: Any, index: int) -> Any:
        own = CPU.kernel(name, dtype, index)
        if name != op or own is None:
            return own

        def call(*args: Any, out: Any = None) -> Any:
            made = own(*args) if out is None else own(*args, out=out)
            if made is NotImplemented:
                return made
            if out is None:
                return disturbed(made)
            out[...] = disturbed(out)
            return out

        return call

    clone.kernel = kernel
    return clone


@pytest.mark.parametrize("op", own_kernels())
def test_a_wrong_kernel_is_caught(op: str, users: dict[str, list[str]]) -> None:
    cases = users[op]
    assert cases, f"no case runs the kernel {op}"
    by_id = {case.id: case for case in select(LEVELS)}
    backend = mutant(op)
    with discovery.plugged(backend) as type:
        device = Device(backend, 0, type)
        try:
            assert any(run_case(by_id[id], device, watch=False).bad for id in cases), cases[:5]
        finally:
            device.close()


def test_the_sound_backend_passes_them(users: dict[str, list[str]]) -> None:
    some = {id for op in own_kernels() for id in users[op][:3]}
    outcomes = {r.outcome for id in sorted(some) for r in run("cpu", pattern=id).results}
    assert outcomes <= {"pass", "quality"}
