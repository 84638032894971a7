"""Constraints of single numbers: kinds of integers, intervals and half lines."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.constraint import Constraint, bounds_shown


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _IntegerInterval(Constraint):
    """The integers from *lower_bound* to *upper_bound*, both among them.

    Example:
        >>> dice = tensorbus.distributions.constraints.integer_interval(1, 6)
        >>> dice.check(tensorbus.tensor([0.0, 1.0, 1.5, 6.0]))
        tensor([False,  True, False,  True])
    """

    is_discrete = True

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is such an integer."""
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)

    __repr__ = bounds_shown


class _IntegerGreaterThan(Constraint):
    """The integers from *lower_bound* on."""

    is_discrete = True

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)

    __repr__ = bounds_shown


class _Real(Constraint):
    """All numbers, infinities too, but not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(Constraint):
    """The numbers above *lower_bound*.

    Example:
        >>> above = tensorbus.distributions.constraints.greater_than(1.0)
        >>> above.check(tensorbus.tensor([1.0, 1.5]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is greater."""
        return value > self.lower_bound

    __repr__ = bounds_shown


class _GreaterThanEq(Constraint):
    """The numbers from *lower_bound* on.

    Example:
        >>> above = tensorbus.distributions.constraints.greater_than_eq(1.0)
        >>> above.check(tensorbus.tensor([0.5, 1.0]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is greater or equal."""
        return value >= self.lower_bound

    __repr__ = bounds_shown


class _LessThan(Constraint):
    """The numbers below *upper_bound*.

    Example:
        >>> below = tensorbus.distributions.constraints.less_than(1.0)
        >>> below.check(tensorbus.tensor([0.5, 1.0]))
        tensor([ True, False])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is less."""
        return value < self.upper_bound

    __repr__ = bounds_shown


class _Interval(Constraint):
    """The numbers from *lower_bound* to *upper_bound*, both among them.

    Example:
        >>> between = tensorbus.distributions.constraints.interval(-1.0, 1.0)
        >>> between.check(tensorbus.tensor([-1.0, 0.0, 1.0, 1.5]))
        tensor([ True,  True,  True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is between the bounds."""
        return (value >= self.lower_bound) & (value <= self.upper_bound)

    __repr__ = bounds_shown


class _HalfOpenInterval(Constraint):
    """The numbers from *lower_bound* on and below *upper_bound*.

    Example:
        >>> between = tensorbus.distributions.constraints.half_open_interval(0.0, 1.0)
        >>> between.check(tensorbus.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is between the bounds."""
        return (value >= self.lower_bound) & (value < self.upper_bound)

    __repr__ = bounds_shown
