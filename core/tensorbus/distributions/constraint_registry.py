"""Which transform leads from all real numbers to what a constraint allows.

``biject_to`` finds bijective ones, with slopes, as samplers need; ``transform_to`` finds ones that
suit optimisers, which need not be bijective.

>>> import tensorbus
>>> from tensorbus.distributions import Normal, transform_to
>>> transform_to(Normal.arg_constraints["scale"])(tensorbus.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus.distributions import constraints, transforms
from tensorbus.distributions.constraint import Constraint
from tensorbus.distributions.transform import Transform
from tensorbus.distributions.utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from classes of constraints to functions that give transforms.

    Errors: NotImplementedError for a constraint whose class is not in the table; TypeError where
    something else than a constraint or a class of them is registered.

    Example:
        >>> biject_to(constraints.unit_interval)
        SigmoidTransform()

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraint_registry
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Callable[..., Any]:
        """Put what gives a transform for constraints of a class in the table.

        *constraint* is the class or one of its objects. Without a *factory* this is a decorator.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[constraint] = factory
        registered: Callable[..., Any] = factory
        return registered

    def __call__(self, constraint: Any) -> Transform:
        """The transform to what *constraint* allows."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


@biject_to.register(constraints.real)
@transform_to.register(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@biject_to.register(constraints.greater_than)
@biject_to.register(constraints.greater_than_eq)
@transform_to.register(constraints.greater_than)
@transform_to.register(constraints.greater_than_eq)
def _to_greater_than(constraint: Any) -> Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@biject_to.register(constraints.less_than)
@transform_to.register(constraints.less_than)
def _to_less_than(constraint: Any) -> Transform:
    turn = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), turn])


@biject_to.register(constraints.interval)
@biject_to.register(constraints.half_open_interval)
@transform_to.register(constraints.interval)
@transform_to.register(constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and is_number(high) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    place = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), place])


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


@biject_to.register(constraints.corr_cholesky)
@transform_to.register(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


def _register_for_parts(registry: ConstraintRegistry) -> None:
    """What is made of other constraints has the transforms of these."""

    @registry.register(constraints.independent)
    def to_independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def to_cat(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def to_stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


_register_for_parts(biject_to)
_register_for_parts(transform_to)
