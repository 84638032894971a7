"""Each trait set either way: the results are the same, what the device is asked for is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.plugin import IndexFault, Traits
from tensorbus_conformance.devices.strict import StrictArray

X = [[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]]
DEEP = [[[[1.0, 2.0]], [[3.0, 4.0]]], [[[5.0, 6.0]], [[7.0, 8.0]]]]


@pytest.fixture
def noting(boxed: Any) -> Callable[..., Any]:
    """``noting(**traits)``: a device with an open ``log`` of what its kernels were given."""

    def noted(x: Any) -> Any:
        if isinstance(x, StrictArray):
            return x.shape, bool(x._data.flags.c_contiguous)
        return type(x).__name__

    class Noting(boxed):
        name = "noting"

        def __init__(self, **traits: Any) -> None:
            super().__init__(**traits)
            self.log: list[Any] = []

        def kernel(self, op: str, dtype: Any, index: int) -> Any:
            kernel = super().kernel(op, dtype, index)
            if kernel is None:
                return None

            def call(*args: Any, **options: Any) -> Any:
                self.log.append((op, *map(noted, args), *map(noted, options.values())))
                made = kernel(*args, **options)
                scalar = self.traits.scalar_results and op == "sum" and made.shape == ()
                return made._data[()] if scalar else made

            return call

        def as_array(self, result: Any, dtype: Any, index: int) -> Any:
            if isinstance(result, StrictArray):
                return result
            self.log.append(("as_array", type(result).__name__))
            return super().as_array(result, dtype, index)

    return Noting


def added_in_order(d: str) -> Any:
    """Sums at repeated indices while the program asks for the same bits on every run."""
    torch.use_deterministic_algorithms(True)
    try:
        i = torch.tensor([1, 0, 1, 1], device=d)
        return torch.zeros(2, device=d).index_add_(0, i, torch.ones(4, device=d))
    finally:
        torch.use_deterministic_algorithms(False)


def fault(d: str) -> str:
    """The text of an index out of bounds, which is raised sooner or later."""
    taken = None
    with pytest.raises(IndexFault) as caught:
        taken = torch.ones(3, device=d)[torch.tensor([0, 7], device=d)]
        taken.cpu()
    MOMENTS.append(taken is not None)
    return str(caught.value)


MOMENTS: list[bool] = []
"""Of each call of ``fault``: whether it was raised by a later read."""

PROGRAMS: dict[str, tuple[Any, Any, Callable[[str], Any]]] = {
    "broadcasts": (
        True, False, lambda d: torch.tensor(X, device=d) + torch.tensor([1.0, 2.0, 4.0], device=d)),
    "takes_empty": (True, False, lambda d: (torch.zeros(0, 3, device=d) + 1).sum(0)),
    "contiguous_inputs": (False, True, lambda d: torch.tensor(X, device=d).T.exp()),
    "negative_strides": (True, False, lambda d: torch.tensor(X, device=d).flip(1) * 2),
    "strided_out": (True, False, lambda d: torch.tensor(X, device=d).T.abs()),
    "host_sync": (True, False, fault),
    "scalar_results": (False, True, lambda d: torch.tensor(X, device=d).sum() * 2),
    "python_scalars": (False, True, lambda d: torch.tensor(X, device=d).reciprocal()),
    "deterministic_scatter": (True, False, added_in_order),
    "piece": (0, 2, lambda d: torch.tensor(X, device=d).logaddexp2(torch.ones(1, device=d))),
    "max_rank": (64, 3, lambda d: torch.tensor(DEEP, device=d) + torch.ones(2, device=d)),
}  # fmt: skip
"""The two settings of each trait, and a program that it matters to."""

ELSEWHERE = {"survives_fork", "has_values"}
"""Set either way in a process of its own, ``test_fork.py``; without results: ``test_meta.py``."""


def test_every_trait_has_a_reader() -> None:
    assert {*PROGRAMS, *ELSEWHERE} == {f.name for f in dataclasses.fields(Traits)}


@pytest.mark.parametrize("trait", PROGRAMS)
def test_a_trait_changes_the_way_and_not_the_result(trait: str, plug: Any, noting: Any) -> None:
    *settings, program = PROGRAMS[trait]
    MOMENTS.clear()
    before = torch.get_fallback()
    torch.set_fallback("error")
    try:
        results, logs = [], []
        for setting in settings:
            backend = noting(**{trait: setting})
            found = program(plug(backend))
            results.append(found if isinstance(found, str) else found.cpu().tolist())
            logs.append(backend.log)
    finally:
        torch.set_fallback(before)
    assert results[0] == results[1]
    expected = program("cpu")
    assert results[0] == (expected if isinstance(expected, str) else expected.tolist())
    if trait == "host_sync":  # the kernel is the same, the moment is not; the cpu sees it at once
        assert MOMENTS == [False, True, False]
    else:
        assert logs[0] != logs[1]


@pytest.mark.parametrize("rank", [-1, 0, 2])
def test_fewer_dimensions_than_a_fold_needs_are_refused(rank: int) -> None:
    with pytest.raises(ValueError, match="at least 3 dimensions"):
        Traits(max_rank=rank)
    assert Traits(max_rank=3).max_rank == 3


def test_a_fault_names_the_users_dimension_though_the_operand_was_folded(
    plug: Any, boxed: Any
) -> None:
    x = torch.zeros(2, 2, 2, 3, device=plug(boxed(max_rank=3)))
    i = torch.tensor([0, 7], device=x.device)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 3 with size 3"):
        x[:, :, :, i]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 3 with size 3"):
        x[:, :, :, i] = 1.0
    assert not np.any(x.cpu().numpy())
