"""Constraints beside PyTorch's: what is valid, how they are printed, what they know of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorbus

NUMBERS = [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, float("inf"), float("nan")]
VECTORS = [[0.0, 1.0], [1.0, 1.0], [0.25, 0.75], [-0.5, 1.5], [2.0, 1.0], [0.6, 0.8]]
MATRICES = [
    [[1.0, 0.0], [0.0, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[2.0, 1.0], [1.0, 2.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[1.0, 1.0], [1.0, 1.0]],
    [[1.0, 0.0], [3.0, -1.0]],
    [[0.0, 0.0], [1.0, 0.0]],
    [[1.0, 0.5], [0.0, 1.0]],
]
VALUES = {"numbers": NUMBERS, "vectors": VECTORS, "matrices": MATRICES}

Get = Callable[[Any], Any]

CONSTRAINTS: dict[str, tuple[str, Get]] = {
    **{
        name: ("numbers", lambda c, name=name: getattr(c, name))
        for name in "boolean nonnegative nonnegative_integer positive positive_integer real "
        "unit_interval".split()
    },
    **{
        name: ("vectors", lambda c, name=name: getattr(c, name))
        for name in ("one_hot", "simplex", "real_vector")
    },
    **{
        name: ("matrices", lambda c, name=name: getattr(c, name))
        for name in "corr_cholesky lower_cholesky lower_triangular positive_definite "
        "positive_semidefinite square symmetric".split()
    },
    "greater_than": ("numbers", lambda c: c.greater_than(0.5)),
    "greater_than_eq": ("numbers", lambda c: c.greater_than_eq(0.5)),
    "less_than": ("numbers", lambda c: c.less_than(0.5)),
    "interval": ("numbers", lambda c: c.interval(-0.5, 2)),
    "half_open_interval": ("numbers", lambda c: c.half_open_interval(-0.5, 2)),
    "integer_interval": ("numbers", lambda c: c.integer_interval(0, 2)),
    "multinomial": ("vectors", lambda c: c.multinomial(2)),
    "independent": ("vectors", lambda c: c.independent(c.positive, 1)),
    "mixture": ("vectors", lambda c: c.MixtureSameFamilyConstraint(c.simplex)),
    "cat": ("vectors", lambda c: c.cat([c.boolean, c.positive], dim=-1)),
    "stack": ("vectors", lambda c: c.stack([c.boolean, c.positive], dim=-1)),
    "cat of vectors": ("matrices", lambda c: c.cat([c.simplex, c.real_vector], dim=-2)),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_what_pytorch_says(name: str, oracle: Any) -> None:
    kind, get = CONSTRAINTS[name]

    def told(torch: Any) -> list[Any]:
        constraint = get(torch.distributions.constraints)
        values = torch.tensor(VALUES[kind], dtype=torch.float64)
        valid = constraint.check(values)
        event = constraint.event_dim, bool(constraint.is_discrete)
        return [repr(constraint), *event, str(valid.dtype), valid.tolist()]

    ours = told(tensorbus)
    assert ours == oracle(told)
    flat = str(ours[-1])
    assert "True" in flat and ("False" in flat or name == "square" or name == "real_vector")


def test_matrices_that_are_not_square() -> None:
    constraints = tensorbus.distributions.constraints
    wide = tensorbus.ones(4, 2, 3)
    for constraint in (constraints.square, constraints.symmetric, constraints.positive_definite):
        assert constraint.check(wide).tolist() == [False] * 4


def test_what_is_dependent() -> None:
    constraints = tensorbus.distributions.constraints
    assert constraints.is_dependent(tensorbus.distributions.Uniform.support)
    assert not constraints.is_dependent(tensorbus.distributions.Uniform(0.0, 1.0).support)
    with pytest.raises(NotImplementedError, match="cannot be determined statically"):
        _ = constraints.dependent.is_discrete
    assert constraints.dependent(event_dim=2).event_dim == 2
