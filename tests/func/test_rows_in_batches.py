"""``vmap`` of every row with a derivative, against a loop: values and gradients.

The batch is the first or the last dimension of all operands, of all but one of them, or nested. The
first sample of each row is tried with the batch first; the others are slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_matrix_rules import FACTORED, factored
from tests.autograd.test_rules import CASES, SAMPLES, UNIT, Draw, each

import tensorbus as tb
from tensorbus.op_engine.batches import in_current_batches
from tensorbus.op_engine.cores import core

SIZE = 3
FIRST = [(name, n) for name, n in CASES if n == 0]

OF_ROW_MAJOR = {"strided", "restrided", "strided_backward", "view_as_complex"}
"""Rows that say how memory is read: their callers give them row-major operands."""


def draws(sample: tuple[Any, ...]) -> list[Draw]:
    found: list[Draw] = []
    each(sample, lambda s: found.append(s) if isinstance(s, Draw) else None)
    return found


def applied(row: str, sample: tuple[Any, ...]) -> Callable[..., Any]:
    """The row as a function of its differentiable operands, inside of a batch too."""

    def call(*given: Any) -> Any:
        rest = iter(given)

        def operand(s: Any) -> Any:
            x = next(rest) if isinstance(s, Draw) else s
            return in_current_batches(x) if isinstance(x, tb.Tensor) else x

        made = core(row)(*each(sample, operand))
        return tuple(made) if isinstance(made, (tuple, list)) else (made,)

    return call


def stacked(batches: list[list[Any]], dim: int) -> list[Any]:
    """The operands of each element along a dimension of one tensor, as leaves."""
    columns = zip(*batches, strict=True)
    return [tb.stack([x.detach() for x in c], dim).requires_grad_() for c in columns]


def seeds(outs: Any) -> list[Any]:
    rng = np.random.default_rng(17)
    return [
        tb.tensor(rng.standard_normal(tuple(t.shape))).to(t.dtype) for t in outs if t.requires_grad
    ]


def equal(found: Any, expected: Any) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.dtype is expected.dtype and found.shape == expected.shape
        tb.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10, equal_nan=True)


def compare(f: Callable[..., Any], batches: list[list[Any]], dim: int, fixed: int | None) -> None:
    """The function of all elements at once, and of one after the other."""
    together = stacked(batches, dim)
    if fixed is not None:
        together[fixed] = batches[0][fixed]
        batches = [[*b[:fixed], together[fixed], *b[fixed + 1 :]] for b in batches]
    in_dims = tuple(None if i == fixed else dim for i in range(len(together)))
    found = tb.vmap(f, in_dims)(*together)
    alone = []
    for i in range(SIZE):
        # Copies, for strides of a storage mean that of the element.
        given = zip(together, in_dims, strict=True)
        alone.append(f(*(x if d is None else x.select(d, i).clone() for x, d in given)))
    expected = [tb.stack(parts) for parts in zip(*alone, strict=True)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        equal(one.detach(), other.detach())
        assert one.requires_grad == other.requires_grad
    outs = [(a, b) for a, b in zip(found, expected, strict=True) if b.requires_grad]
    weights = seeds(expected)
    gradients = [
        tb.autograd.grad(list(side), together, weights, allow_unused=True)
        for side in zip(*outs, strict=True)
    ]
    for one, other in zip(*gradients, strict=True):
        if one is None or other is None:
            one = other = None if one is other else (one if one is not None else other) * 0
        equal(one, other)


def made(shapes: list[Draw], seed: int = 7) -> list[list[Any]]:
    rng = np.random.default_rng(seed)
    return [[d.make(rng) for d in shapes] for _ in range(SIZE)]


@pytest.mark.parametrize(("name", "n"), FIRST, ids=[name for name, _ in FIRST])
def test_row(name: str, n: int) -> None:
    sample = SAMPLES[name][n]
    compare(applied(name, sample), made(draws(sample)), 0, None)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_row_in_all_ways(name: str, n: int) -> None:
    sample = SAMPLES[name][n]
    shapes = draws(sample)
    f = applied(name, sample)
    compare(f, made(shapes), 0, None)
    if name not in OF_ROW_MAJOR:
        compare(f, made(shapes), -1, None)
    for fixed in range(len(shapes) if len(shapes) > 1 else 0):
        compare(f, made(shapes), 0, fixed)
    compare(tb.vmap(f), [stacked(made(shapes, seed), 0) for seed in range(SIZE)], 0, None)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shapes", "others"), FACTORED)
def test_factored(name: str, shapes: Any, others: Any) -> None:
    def f(*given: Any) -> Any:
        found = factored(name, *others)(*given)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    compare(f, made([Draw(*shape, of=UNIT) for shape in shapes]), 0, None)
