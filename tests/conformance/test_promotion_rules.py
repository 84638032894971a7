"""The suite's own table of promotion beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tensorbus_conformance import formats, promotion_rules
from tensorbus_conformance.cases import promotion
from tensorbus_conformance.samples import all_ops

NUMBERS = (True, 2, 2.5, 2j)


def name(d: Any) -> str:
    # There is no complex32 here: complex numbers of half precision are complex64.
    return str(d).removeprefix("torch.").replace("complex32", "complex64")


def made(torch: Any, d: Any, rank: int) -> Any:
    return torch.ones((2,) * rank, dtype=getattr(torch, d.name))


@pytest.mark.parametrize("a", formats.ALL, ids=lambda d: d.name)
def test_pairs_and_casts(a: Any, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        pairs = [[getattr(torch, d.name) for d in (a, b)] for b in formats.ALL]
        return {
            b.name: (name(torch.promote_types(*pair)), torch.can_cast(*pair))
            for b, pair in zip(formats.ALL, pairs, strict=True)
        }

    assert oracle(program) == {
        b.name: (promotion_rules.PAIRS[a, b].name, promotion_rules.can_cast(a, b))
        for b in formats.ALL
    }


@pytest.mark.parametrize("a", formats.ALL, ids=lambda d: d.name)
def test_tensors_and_numbers_together(a: Any, oracle: Any) -> None:
    pairs = list(itertools.product(formats.ALL, [(1, 1), (1, 0), (0, 1), (0, 0)]))
    numbers = list(itertools.product(NUMBERS, (0, 1)))

    def program(torch: Any) -> Any:
        tensors = [(made(torch, a, ranks[0]), made(torch, b, ranks[1])) for b, ranks in pairs]
        mixed = [(made(torch, a, rank), number) for number, rank in numbers]
        return [[name(torch.result_type(*p)) for p in group] for group in (tensors, mixed)]

    of_tensors, of_numbers = oracle(program)
    for (b, ranks), expected in zip(pairs, of_tensors, strict=True):
        groups: tuple[list[Any], list[Any]] = ([], [])
        for d, rank in zip((a, b), ranks, strict=True):
            groups[1 - rank].append(d)
        assert promotion_rules.common(*groups).name == expected, (a, b, ranks)
    for (number, rank), expected in zip(numbers, of_numbers, strict=True):
        dims, scalars = ([a], []) if rank else ([], [a])
        found = promotion_rules.common(dims, scalars, [promotion_rules.of_number(number)])
        assert found.name == expected, (a, number)


def test_ops_that_promote_have_a_sample_of_two_operands() -> None:
    ops = [op for op in all_ops() if op.promotes]
    assert len(ops) > 20
    cases = {case.op for case in promotion.cases()}
    assert {op.name for op in ops} == cases
