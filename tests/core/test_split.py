"""Functions with one formula for some elements and another for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.ops.pointwise.split import sees_values, split

KIND = torch.ones(1, dtype=torch.float64)._k


def halves(F: Any, x: Any, y: Any) -> Any:
    return F.mul(F.add(x, y), 0.5)


def products(F: Any, x: Any, y: Any) -> Any:
    return F.mul(x, y)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 4)], ids=str)
@pytest.mark.parametrize("bound", [-9.0, 0.0, 9.0], ids=["none", "some", "all"])
def test_each_formula_is_taken_where_it_holds(shape: Any, bound: float) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)
    x, y = np.asarray(x), np.asarray(y)
    found = split(KIND, np.asarray(x < bound), halves, products, x, y)
    np.testing.assert_array_equal(found, np.where(x < bound, (x + y) * 0.5, x * y))


def test_operands_are_broadcast_and_of_any_strides() -> None:
    x, y = np.linspace(-1, 1, 8).reshape(4, 2)[::-1, ::-1], np.array([[2.0], [3.0], [4.0], [5.0]])
    found = split(KIND, x.T < 0.2, halves, products, x.T, y.T)
    np.testing.assert_array_equal(found, np.where(x < 0.2, (x + y) * 0.5, x * y).T)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_functions_of_operands_that_broadcast(name: str) -> None:
    function = getattr(torch.special, name)
    for low in (0.5, 1.5, 30.0):
        x = torch.linspace(low, low + 2, 3, dtype=torch.float64)[:, None]
        y = torch.tensor([-0.5, 1.0, 1.5, 2.0, 31.0], dtype=torch.float64)
        found = function(x, y)
        each = [[function(a, b) for b in y] for a in x[:, 0]]
        expected = torch.stack([torch.stack(row) for row in each])
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=0.0, equal_nan=True)


def test_formulas_see_their_own_elements_alone() -> None:
    seen = {}

    def noted(name: str) -> Any:
        def formula(F: Any, x: Any) -> Any:
            seen[name] = x.tolist()
            return x

        return formula

    split(KIND, np.array([True, False, True]), noted("in"), noted("out"), np.arange(3.0))
    assert seen == {"in": [0.0, 2.0], "out": [1.0]}
    assert split(KIND, np.array([True]), noted("in"), None, np.ones(1)).tolist() == [1.0]  # type: ignore[arg-type]


def test_tensors_that_record_take_both_formulas() -> None:
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert sees_values(KIND) and not sees_values(KIND.T)
    split(KIND.T, x < 0, halves, products, x, x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 4.0]
