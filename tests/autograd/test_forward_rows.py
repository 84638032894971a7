"""Forward mode of every row with a derivative: <c, J t> is <t, transposed J c>, which is tested.

The right side is the backward pass, held against finite differences in ``test_rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_matrix_rules import FACTORED, factored
from tests.autograd.test_rules import CASES, SAMPLES, UNIT, Draw, _arranged

import tensorbus as tb
import tensorbus.autograd.forward_ad as fw
from tensorbus.op_engine.cores import core


def drawn(rng: np.random.Generator, like: Any) -> Any:
    values = rng.standard_normal(tuple(like.shape))
    if like.is_complex():
        values = values + 1j * rng.standard_normal(values.shape)
    return tb.tensor(values, dtype=like.dtype)


def inner(pairs: Any) -> float:
    """The sum of the inner products of real and imaginary parts."""
    return sum(
        np.vdot(a.detach().numpy(), b.detach().numpy()).real
        for a, b in pairs
        if a is not None and b is not None
    )


def listed(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (tuple, list)) else [made]


def check(function: Callable[..., Any], leaves: list[Any]) -> None:
    """Forward and backward mode agree, with and without recording; values are the same."""
    rng = np.random.default_rng(11)
    plain = listed(function(*leaves))
    outs = [t for t in plain if t.requires_grad]
    seeds = [drawn(rng, t) for t in outs]
    tangents = [drawn(rng, x) for x in leaves]
    back = tb.autograd.grad(outs, leaves, seeds, allow_unused=True)
    expected = inner(zip(back, tangents, strict=True))
    scale = max(1.0, abs(expected))
    for recording in (True, False):
        with fw.dual_level(), tb.set_grad_enabled(recording):
            duals = [fw.make_dual(x, t) for x, t in zip(leaves, tangents, strict=True)]
            made = [fw.unpack_dual(t) for t in listed(function(*duals))]
        for (value, tangent), before in zip(made, plain, strict=True):
            assert np.array_equal(value.detach().numpy(), before.detach().numpy(), equal_nan=True)
            if recording:
                assert value.requires_grad is before.requires_grad
            assert tangent is None or tangent.shape == before.shape
            assert tangent is None or tangent.dtype == before.dtype
        along = [m.tangent for m, t in zip(made, plain, strict=True) if t.requires_grad]
        assert abs(inner(zip(seeds, along, strict=True)) - expected) <= 1e-9 * scale
        assert not any(t.requires_grad for t in along if not recording)
    _check_gradients(function, leaves, seeds, tangents)


def _check_gradients(
    function: Callable[..., Any], leaves: list[Any], seeds: list[Any], tangents: list[Any]
) -> None:
    """The tangents of the gradients are those that a second backward pass says."""

    def gradients(create_graph: bool, leaves: list[Any]) -> Any:
        outs = [t for t in listed(function(*leaves)) if t.requires_grad]
        return tb.autograd.grad(outs, leaves, seeds, create_graph=create_graph, allow_unused=True)

    first = gradients(True, leaves)
    wanted = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
    weights = [drawn(np.random.default_rng(13), first[i]) for i in wanted]
    expected = 0.0
    if wanted:
        second = tb.autograd.grad([first[i] for i in wanted], leaves, weights, allow_unused=True)
        expected = inner(zip(second, tangents, strict=True))
    with fw.dual_level():
        duals = [fw.make_dual(x, t) for x, t in zip(leaves, tangents, strict=True)]
        for create_graph in (False, True):
            found = gradients(create_graph, duals)
            along = [fw.unpack_dual(found[i]).tangent for i in wanted]
            got = inner(zip(weights, along, strict=True))
            assert abs(got - expected) <= 1e-8 * max(1.0, abs(expected))


@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_row(name: str, n: int) -> None:
    leaves, _, function = _arranged(SAMPLES[name][n])
    check(function(name), leaves)


@pytest.mark.parametrize(("name", "shapes", "others"), FACTORED)
def test_factored(name: str, shapes: Any, others: Any) -> None:
    rng = np.random.default_rng(5)
    check(factored(name, *others), [Draw(*shape, of=UNIT).make(rng) for shape in shapes])


def test_eigh_and_svd() -> None:
    x = Draw(2, 3, 3).make(np.random.default_rng(5))
    check(lambda x: core("linalg_eigh")((x + x.mT) / 2), [x])
    check(lambda x: core("linalg_svd")(x, False), [x])


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_valued(name: str) -> None:
    check(getattr(tb, name), [Draw(3, 3).make(np.random.default_rng(5))])
