"""Derivative rules of decompositions, and of rows over what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_rules import COMPLEX, REAL, UNIT, Draw

import tensorbus as tb
from tensorbus.op_engine.cores import core

SPECTRAL = ["linalg_eig", "linalg_eigh", "linalg_svd"]
"""Rows whose results are free in their signs or phases."""


def factored(name: str, *others: Any) -> Callable[..., Any]:
    """A row over a matrix and what a kernel has made of it beforehand."""

    def f(x: Any, *operands: Any) -> Any:
        if name == "linalg_cholesky":
            return core(name)(x @ x.mH + tb.eye(3, dtype=tb.float64))[0]
        if name == "pseudo_inverse":
            return core(name)(x, tb.linalg.pinv(x.detach()))
        if name == "least_squares":
            inverse = tb.linalg.pinv(x.detach())
            return core(name)(x, *operands, inverse @ operands[0].detach(), inverse)
        a = x + 2 * tb.eye(3, dtype=tb.float64)
        lu, pivots = tb.linalg.lu_factor(a.detach())
        return core(name)(a, lu, pivots.long() - 1, *operands, *others)

    return f


FACTORED: list[tuple[str, list[tuple[int, ...]], tuple[Any, ...]]] = [
    ("linalg_cholesky", [(2, 3, 3)], ()),
    ("solved", [(3, 3), (3, 2)], (False,)),
    ("solved", [(2, 3, 3), (2, 3, 2)], (True,)),
    ("inverted", [(3, 3)], ()),
    ("determinant", [(2, 3, 3)], ()),
    ("log_determinant", [(3, 3)], ()),
    ("pseudo_inverse", [(2, 3, 2)], ()),
    ("pseudo_inverse", [(2, 3)], ()),
    ("least_squares", [(2, 3, 2), (2, 3, 2)], ()),
    ("least_squares", [(2, 3), (2, 2)], ()),
]
"""Rows over what a kernel has made beforehand, the shapes of their operands, and the rest."""


@pytest.mark.parametrize(("name", "shapes", "others"), FACTORED)
def test_rule_of_factored(name: str, shapes: Any, others: Any) -> None:
    rng = np.random.default_rng(5)
    leaves = [Draw(*shape, of=UNIT).make(rng) for shape in shapes]
    assert tb.autograd.gradcheck(factored(name, *others), leaves)
    assert tb.autograd.gradgradcheck(factored(name, *others), leaves)


@pytest.mark.parametrize("parts", [(0,), (1,), (0, 1)], ids=["values", "vectors", "both"])
def test_rule_of_eigh(parts: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:  # one triangle is read, and the gradient is that of both
        results = core("linalg_eigh")((x + x.mT) / 2)
        return tuple(results[i] for i in parts)

    x = Draw(2, 3, 3).make(np.random.default_rng(5))
    assert tb.autograd.gradcheck(f, (x,))
    assert tb.autograd.gradgradcheck(f, (x,))


@pytest.mark.parametrize("turned", [False, True], ids=["real", "complex"])
def test_rule_of_eig(turned: bool) -> None:
    def f(x: Any) -> Any:  # the vectors' phases are free, what is made of both is not
        values, vectors, _ = core("linalg_eig")(x)
        return values, vectors.abs(), (vectors * values.exp().unsqueeze(-2)) @ vectors.mH

    x = Draw(2, 3, 3, of=COMPLEX if turned else REAL).make(np.random.default_rng(5))
    assert tb.autograd.gradcheck(f, (x,))
    assert tb.autograd.gradgradcheck(f, (x,))


@pytest.mark.parametrize("parts", [(0,), (1,), (2,), (0, 1, 2)], ids=["u", "s", "vh", "all"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)], ids=str)
def test_rule_of_svd(shape: tuple[int, ...], parts: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        results = core("linalg_svd")(x, False)
        return tuple(results[i] for i in parts)

    x = Draw(*shape).make(np.random.default_rng(5))
    assert tb.autograd.gradcheck(f, (x,))
    assert tb.autograd.gradgradcheck(f, (x,))
