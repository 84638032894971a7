"""The rules of bags and of sampled planes against finite differences, order 1 and 2, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import Draw, ints

import tensorbus as tb
from tensorbus.op_engine.cores import core

PICKED = ints(0, 3, 1, 3)
PLACES = ints([[0, 3], [1, 1]], [[2, 2], [3, 0]])
SAMPLES: list[tuple[Any, ...]] = [
    ("bag_sum", Draw(4, 2), PICKED, ints(0, 1, 1, 4), None, -1),
    ("bag_sum", Draw(4, 2), PICKED, ints(0, 3), Draw(4), 3),
    ("bag_spread", Draw(3, 2), PICKED, ints(0, 1, 1, 4), None, -1, 4),
    ("bag_spread", Draw(1, 2), PICKED, ints(0, 3), Draw(4), 3, 4),
    ("bag_products", Draw(2, 2), Draw(4, 2), PICKED, ints(0, 1, 3), 3),
    ("bag_max_backward", Draw(2, 2), ints([0, 2], [2, -1]), 4),
    ("sampled", Draw(2, 2, 3), PLACES, Draw(2, 2, 2)),
    ("sampled", Draw(2, 2, 3), PLACES, None),
    ("sampled_spread", Draw(2, 2, 2), PLACES, Draw(2, 2, 2), 3),
    ("sampled_products", Draw(2, 2, 2), Draw(2, 2, 3), PLACES),
]
APART = {"ctc_loss", "ctc_loss_backward", "bag_max", *(name for name, *_ in SAMPLES)}
"""The first three have no plain derivative: tests/nn/test_sequence_losses.py compares them."""


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_rules_of_bags(number: int) -> None:
    name, *given = SAMPLES[number]
    rng = np.random.default_rng(number)
    operands = [x.make(rng) if isinstance(x, Draw) else x for x in given]
    places = [n for n, x in enumerate(given) if isinstance(x, Draw)]

    def function(*leaves: Any) -> Any:
        filled = list(operands)
        for place, leaf in zip(places, leaves, strict=True):
            filled[place] = leaf
        return core(name)(*filled)

    leaves = tuple(operands[place] for place in places)
    assert tb.autograd.gradcheck(function, leaves)
    assert tb.autograd.gradgradcheck(function, leaves)
