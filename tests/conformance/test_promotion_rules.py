"""The suite's own table of promotion beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tensorbus_conformance import formats, promotion_rules
from tensorbus_conformance.cases import promotion
from tensorbus_conformance.samples import all_ops

torch = pytest.importorskip("torch", reason="PyTorch's rules are the reference here")

NUMBERS = (True, 2, 2.5, 2j)


def name(d: Any) -> str:
    # There is no complex32 here: complex numbers of half precision are complex64.
    return "complex64" if d is torch.complex32 else str(d).removeprefix("torch.")


def made(d: Any, rank: int) -> Any:
    return torch.ones((2,) * rank, dtype=getattr(torch, d.name))


@pytest.mark.parametrize("a", formats.ALL, ids=lambda d: d.name)
def test_pairs_and_casts(a: Any) -> None:
    for b in formats.ALL:
        pair = [getattr(torch, d.name) for d in (a, b)]
        assert promotion_rules.PAIRS[a, b].name == name(torch.promote_types(*pair))
        assert promotion_rules.can_cast(a, b) == torch.can_cast(*pair)


@pytest.mark.parametrize("a", formats.ALL, ids=lambda d: d.name)
def test_tensors_and_numbers_together(a: Any) -> None:
    for b, ranks in itertools.product(formats.ALL, [(1, 1), (1, 0), (0, 1), (0, 0)]):
        groups: tuple[list[Any], list[Any]] = ([], [])
        for d, rank in zip((a, b), ranks, strict=True):
            groups[1 - rank].append(d)
        expected = torch.result_type(made(a, ranks[0]), made(b, ranks[1]))
        assert promotion_rules.common(*groups).name == name(expected), (a, b, ranks)
    for number, rank in itertools.product(NUMBERS, (0, 1)):
        dims, scalars = ([a], []) if rank else ([], [a])
        found = promotion_rules.common(dims, scalars, [promotion_rules.of_number(number)])
        assert found.name == name(torch.result_type(made(a, rank), number)), (a, number)


def test_ops_that_promote_have_a_sample_of_two_operands() -> None:
    ops = [op for op in all_ops() if op.promotes]
    assert len(ops) > 20
    cases = {case.op for case in promotion.cases()}
    assert {op.name for op in ops} == cases
