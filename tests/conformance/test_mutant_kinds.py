"""Each way of ``mutant_kinds`` is caught by profile core, whichever primitive goes that way."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import mutant_kernels
import mutant_kinds
import pytest

from tensorbus import discovery
from tensorbus.plugin import PRIMITIVES, Backend
from tensorbus_conformance import select
from tensorbus_conformance.cases.kernel_state import identities
from tensorbus_conformance.primitives import CREATING, OF_ARRAYS, WRITING, domain
from tensorbus_conformance.runner import run_case
from tensorbus_conformance.trial import Device

CPU = discovery.backend("cpu")


def mutant(op: str, mutate: Callable[[Any], Any]) -> Backend:
    """The cpu backend with one kernel changed."""
    clone = copy.copy(CPU)

    def kernel(name: str, dtype: Any, index: int) -> Any:
        own = CPU.kernel(name, dtype, index)
        return mutate(own) if name == op and own is not None else own

    clone.kernel = kernel
    return clone


@functools.cache
def _core() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for case in select(profile="core"):
        found.setdefault(f"{case.level}/{case.op}", []).append(case)
    return found


def catches(backend: Backend, *ops: str) -> str | None:
    """The first case of those ops in profile core that falls."""
    with discovery.plugged(backend) as type:
        device = Device(backend, 0, type)
        try:
            for op in ops:
                # Those with the most to say of such mutants come last in a file of cases.
                for case in reversed(_core()[op]):
                    if run_case(case, device).bad:
                        return case.id
        finally:
            device.close()
    return None


def concerned(kind: str) -> tuple[str, ...]:
    """The primitives that can be wrong in that way."""
    if kind == "aliases-its-operand":
        return tuple(
            op for op in OF_ARRAYS
            if op not in WRITING and any(any(identities(op, d)) for d in domain(op))
        )  # fmt: skip
    if kind in ("memo-by-identity", "memo-by-first-value", "shared-scratch"):
        return tuple(op for op in OF_ARRAYS if op not in WRITING)
    if kind == "strided-integers":
        return tuple(op for op in OF_ARRAYS if any(not d.is_floating_point for d in domain(op))
                     and op != "where")  # fmt: skip
    return tuple(OF_ARRAYS)


def pairs() -> Iterator[tuple[str, str]]:
    for kind in mutant_kinds.ANY_KERNEL:
        yield from ((kind, op) for op in concerned(kind))


ALL = sorted(pairs())
SAMPLE = ALL[::19]


def _is_caught(kind: str, op: str) -> None:
    mutate = functools.partial(mutant_kinds.ANY_KERNEL[kind], op)
    assert catches(mutant(op, mutate), f"L1/{op}"), f"{op} that is wrong as {kind} conforms"


@pytest.mark.parametrize(("kind", "op"), SAMPLE)
def test_a_kind_of_mutant_is_caught(kind: str, op: str) -> None:
    _is_caught(kind, op)


@pytest.mark.slow
@pytest.mark.parametrize("kind", mutant_kinds.ANY_KERNEL)
def test_every_primitive_wrong_in_that_way_is_caught(kind: str) -> None:
    for op in concerned(kind):
        _is_caught(kind, op)


@pytest.mark.parametrize("kind", mutant_kinds.FAULTY)
def test_a_kernel_of_indices_that_faults_wrongly_is_caught(kind: str) -> None:
    ops, mutate = mutant_kinds.FAULTY[kind]
    for op in ops:
        assert catches(mutant(op, functools.partial(mutate, op)), f"L1/{op}"), op


@pytest.mark.parametrize("name", mutant_kernels.KERNELS)
def test_a_kernel_wrong_in_its_own_way_is_caught(name: str) -> None:
    op, mutate, where = mutant_kernels.KERNELS[name]
    assert catches(mutant(op, mutate), where or f"L1/{op}"), name


@pytest.mark.parametrize("name", mutant_kernels.RUNTIMES)
def test_a_runtime_wrong_in_its_own_way_is_caught(name: str) -> None:
    make, where = mutant_kernels.RUNTIMES[name]
    assert catches(make(), where), name


def test_the_sound_backend_passes() -> None:
    assert set(PRIMITIVES) == {*OF_ARRAYS, *CREATING}
    for op in ("add", "put", "sum", "argsort"):
        assert catches(copy.copy(CPU), f"L1/{op}") is None
