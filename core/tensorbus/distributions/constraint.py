"""What a constraint is, and those that depend on other values or stand around another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value


class Constraint:
    """A region in which values are valid: the values of a parameter, the support of samples.

    A subclass defines ``check``. ``is_discrete`` says whether the region is one of separate points,
    ``event_dim`` how many of the last dimensions make one event, for which ``check`` answers once.

    Example:
        >>> tensorbus.distributions.constraints.positive.check(tensorbus.tensor([-1.0, 2.0]))
        tensor([False,  True])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraints
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of *value* is valid: bool, without the event's dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


def holds(valid: Tensor) -> bool:
    """Whether all of *valid* is true; on a device without values nothing is known to be wrong."""
    return not valid._k.has_values or bool(every_value(valid).all())


def bounds_shown(constraint: Constraint) -> str:
    """The text of a constraint that has bounds."""
    bounds = ", ".join(f"{name}={value}" for name, value in vars(constraint).items())
    return f"{type(constraint).__name__[1:]}({bounds})"


class _Dependent(Constraint):
    """A region that depends on other values, so that nothing can be checked.

    What is not known of it is not told: ``is_discrete`` and ``event_dim`` raise NotImplementedError
    where they were not given.

    Example:
        >>> tensorbus.distributions.constraints.dependent(is_discrete=True, event_dim=1).event_dim
        1
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the region is one of separate points."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return int(self._event_dim)

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> Constraint:
        """The same with more known of it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """ValueError, always."""
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of objects that is a constraint on their class.

    Like ``property``, with *is_discrete* and *event_dim* where these are known of the class.

    Example:
        >>> class Below:
        ...     bound = 3.0
        ...
        ...     @tensorbus.distributions.constraints.dependent_property(event_dim=0)
        ...     def support(self):
        ...         return tensorbus.distributions.constraints.less_than(self.bound)
        >>> Below().support, Below.support.event_dim
        (LessThan(upper_bound=3.0), 0)
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:  # type: ignore[override]
        """The property that *fn* computes."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether nothing can be checked, since *constraint* depends on other values.

    Example:
        >>> constraints = tensorbus.distributions.constraints
        >>> is_dependent(constraints.dependent), is_dependent(constraints.real)
        (True, False)
    """
    return isinstance(constraint, _Dependent)


def _check_is_constraint(base_constraint: Any) -> None:
    if not isinstance(base_constraint, Constraint):
        raise AssertionError(
            f"base_constraint must be a Constraint, got {type(base_constraint).__name__}"
        )


class _IndependentConstraint(Constraint):
    """A constraint whose last *reinterpreted_batch_ndims* dimensions make one event.

    An event is valid where all that it consists of is.

    Example:
        >>> vectors = tensorbus.distributions.constraints.independent(
        ...     tensorbus.distributions.constraints.positive, 1
        ... )
        >>> vectors.check(tensorbus.tensor([[1.0, 2.0], [-1.0, 2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _check_is_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                "reinterpreted_batch_ndims must be an int, got "
                f"{type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the region is one of separate points."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each event are valid."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        kept = result.shape[: result.dim() - self.reinterpreted_batch_ndims]
        return result.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        name = type(self).__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a ``MixtureSameFamily``: what is valid for all of its components.

    Args:
        base_constraint: the support of the components' distribution.

    Example:
        >>> constraints = tensorbus.distributions.constraints
        >>> mixed = constraints.MixtureSameFamilyConstraint(constraints.positive)
        >>> mixed.check(tensorbus.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        _check_is_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the region is one of separate points."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        return int(self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of *value* is valid for all components."""
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: value.dim() - self.event_dim], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"
