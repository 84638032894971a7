"""Transforms: inverses, slopes beside Jacobians, shapes and caches; registries of constraints."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.distributions import biject_to, constraints, transform_to, transforms

T = transforms


def tensor(value: Any) -> tensorbus.Tensor:
    return tensorbus.tensor(value, dtype=tensorbus.float64)


LINE = tensor([-2.0, -0.3, 0.4, 1.7])
MATRIX = tensor([[0.3, 0.0, 0.0], [-0.4, 0.2, 0.0], [0.1, 0.9, -0.6]])

# a function that makes the transform, and an argument
BIJECTIVE: dict[str, tuple[Callable[[], Any], tensorbus.Tensor]] = {
    "exp": (T.ExpTransform, LINE),
    "power": (lambda: T.PowerTransform(tensor(-1.5)), LINE.exp()),
    "sigmoid": (T.SigmoidTransform, LINE),
    "softplus": (T.SoftplusTransform, LINE),
    "tanh": (T.TanhTransform, LINE),
    "affine": (lambda: T.AffineTransform(1.0, -2.5), LINE),
    "affine of tensors": (lambda: T.AffineTransform(LINE, LINE.exp()), LINE + 1),
    "affine of vectors": (lambda: T.AffineTransform(1.0, -2.5, event_dim=1), LINE),
    "cdf": (
        lambda: T.CumulativeDistributionTransform(
            tensorbus.distributions.Normal(tensor(0.5), tensor(2.0))
        ),
        LINE,
    ),
    "inverse": (lambda: T.SigmoidTransform().inv, LINE.sigmoid()),
    "composed": (
        lambda: T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.TanhTransform()]),
        LINE,
    ),
    "composed with vectors": (
        lambda: T.ComposeTransform([T.ExpTransform(), T.ReshapeTransform((4,), (2, 2))]),
        LINE,
    ),
    "composed to simplex": (
        lambda: T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.StickBreakingTransform()]),
        LINE,
    ),
    "independent": (lambda: T.IndependentTransform(T.ExpTransform(), 1), LINE),
    "reshape": (lambda: T.ReshapeTransform((4,), (2, 2)), LINE),
    "stick breaking": (T.StickBreakingTransform, LINE),
    "correlation": (T.CorrCholeskyTransform, tensor([0.3, -0.5, 1.1, 0.2, -0.7, 0.4])),
    "cat": (
        lambda: T.CatTransform([T.ExpTransform(), T.TanhTransform()], lengths=[1, 3]),
        LINE,
    ),
    "cat of events": (
        lambda: T.CatTransform(
            [T.AffineTransform(0.0, 2.0, event_dim=1), T.ExpTransform()], dim=-1, lengths=[1, 3]
        ),
        LINE,
    ),
    "stack": (
        lambda: T.StackTransform([T.ExpTransform(), T.TanhTransform()], dim=1),
        LINE.reshape(2, 2),
    ),
}
ALL = pytest.mark.parametrize("name", BIJECTIVE)


def log_det(t: Any, x: tensorbus.Tensor, name: str) -> float:
    """The logarithm of the determinant of the Jacobian, from automatic differentiation."""

    def flat(x: tensorbus.Tensor) -> tensorbus.Tensor:
        y = t(x)
        if name in ("stick breaking", "composed to simplex"):
            return y[..., :-1]
        if name == "correlation":
            return y[tensorbus.tril(tensorbus.ones(4, 4), -1) == 1]
        return y.reshape(-1)

    n = x.numel()
    jacobian = tensorbus.autograd.functional.jacobian(flat, x).reshape(n, n)
    found: float = tensorbus.linalg.slogdet(jacobian)[1].item()
    return found


@ALL
def test_the_inverse_leads_back(name: str) -> None:
    make, x = BIJECTIVE[name]
    t = make()
    assert t.bijective and t.inv.inv is t and t.inv.bijective
    y = t(x)
    np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-9, atol=1e-12)
    if "cat" not in name and "stack" not in name:
        assert t.codomain.check(y).all() and t.domain.check(x).all()
        assert t.inv.domain.event_dim == t.codomain.event_dim


@ALL
def test_slopes_beside_the_jacobian(name: str) -> None:
    make, x = BIJECTIVE[name]
    t = make()
    y = t(x)
    found = t.log_abs_det_jacobian(x, y)
    np.testing.assert_allclose(found.sum().item(), log_det(t, x, name), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(t.inv.log_abs_det_jacobian(y, x).numpy(), -found.numpy(), rtol=1e-9)
    if name not in ("cat", "stack", "cat of events"):
        assert found.shape == x.shape[: x.dim() - t.domain.event_dim]


@ALL
def test_shapes_are_known_before(name: str) -> None:
    make, x = BIJECTIVE[name]
    t = make()
    many = x.expand(5, *x.shape) if name not in ("cat", "stack") else x
    y = t(many)
    assert tuple(t.forward_shape(many.shape)) == y.shape
    assert tuple(t.inverse_shape(y.shape)) == many.shape


@ALL
def test_with_a_cache_the_inverse_is_the_argument_itself(name: str) -> None:
    make, x = BIJECTIVE[name]
    t = make().with_cache(1)
    y = t(x)
    assert t(x) is y and t.inv(y) is x
    assert t.with_cache(1) is t
    assert make().inv(y) is not x
    if "cdf" not in name:
        copied = pickle.loads(pickle.dumps(make()))
        np.testing.assert_allclose(copied(x).numpy(), y.numpy())


@pytest.mark.parametrize(
    "transform, x, y",
    [
        (T.AbsTransform(), [-2.0, 1.0], [2.0, 1.0]),
        (T.SoftmaxTransform(), [0.0, 0.0], [0.5, 0.5]),
        (T.LowerCholeskyTransform(), [[0.0, 5.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 1.0]]),
        (T.PositiveDefiniteTransform(), [[0.0, 5.0], [2.0, 0.0]], [[1.0, 2.0], [2.0, 5.0]]),
    ],
    ids=lambda t: type(t).__name__,
)
def test_those_that_are_not_bijective(transform: Any, x: Any, y: Any) -> None:
    assert not transform.bijective
    given = tensor(x)
    np.testing.assert_allclose(transform(given).numpy(), y)
    back = transform(transform.inv(transform(given)))
    np.testing.assert_allclose(back.numpy(), y, atol=1e-12)
    assert transform.codomain.check(transform(given)).all()


def test_which_are_equal() -> None:
    for make in (T.ExpTransform, T.TanhTransform, lambda: T.AffineTransform(1.0, 2.0)):
        assert make() == make() and make().inv == make().inv
    assert T.ExpTransform() != T.TanhTransform()
    assert T.AffineTransform(1.0, 2.0) != T.AffineTransform(1.0, 3.0)
    assert T.AffineTransform(tensor(1.0), 2.0) == T.AffineTransform(tensor(1.0), 2.0)
    assert T.PowerTransform(2.0) == T.PowerTransform(2.0) != T.PowerTransform(3.0)
    assert T.ComposeTransform([T.ExpTransform()]) == T.ComposeTransform([T.ExpTransform()])
    assert T.identity_transform(LINE) is LINE and T.identity_transform.sign == 1
    assert T.AffineTransform(0.0, -1.0).sign == -1
    assert T.ComposeTransform([T.AffineTransform(0.0, -1.0), T.ExpTransform()]).sign == -1


REGISTERED = [
    constraints.real,
    constraints.positive,
    constraints.greater_than(1.5),
    constraints.greater_than_eq(-2.0),
    constraints.less_than(-0.5),
    constraints.unit_interval,
    constraints.interval(-1.0, 3.0),
    constraints.half_open_interval(-1.0, 3.0),
    constraints.interval(tensor(-1.0), tensor(3.0)),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.real_vector,
    constraints.independent(constraints.positive, 1),
    constraints.cat([constraints.positive, constraints.unit_interval], lengths=[2, 1]),
]
BY_TRANSFORM_TO = [
    *REGISTERED,
    constraints.stack([constraints.positive, constraints.less_than(0.0), constraints.real]),
    constraints.lower_cholesky,
    constraints.positive_definite,
]


@pytest.mark.parametrize("constraint", REGISTERED, ids=str)
def test_bijections_to_constraints(constraint: Any) -> None:
    t = biject_to(constraint)
    assert t.bijective
    x = tensor([0.3, -1.2, 0.8])
    y = t(x)
    assert constraint.check(y).all()
    np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-9)


@pytest.mark.parametrize("constraint", BY_TRANSFORM_TO, ids=str)
def test_transforms_to_constraints(constraint: Any) -> None:
    matrices = constraint in (constraints.lower_cholesky, constraints.positive_definite)
    x = MATRIX if matrices else tensor([0.3, -1.2, 0.8])
    assert constraint.check(transform_to(constraint)(x)).all()


def test_programs_register_their_own() -> None:
    class Even(constraints.Constraint):
        pass

    registry = tensorbus.distributions.constraint_registry.ConstraintRegistry()
    registry.register(Even(), lambda constraint: T.AffineTransform(0.0, 2.0))
    assert registry(Even())(LINE).equal(2 * LINE)

    @registry.register(constraints.interval)
    def to_interval(constraint: Any) -> Any:
        return T.AffineTransform(constraint.lower_bound, 1.0)

    assert registry(constraints.unit_interval) == T.AffineTransform(0.0, 1.0)
