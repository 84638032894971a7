"""The base class of probability distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._base.size import Size
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.constraint import Constraint, holds
from tensorbus.distributions.utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """The base class of probability distributions.

    A distribution has a *batch shape*, over which its parameters vary, and an *event shape*, that
    of a single sample. Samples have the shape ``sample_shape + batch_shape + event_shape``, log
    probabilities ``sample_shape + batch_shape``.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one event.
        validate_args: whether parameters and values are checked; by default as
            ``set_default_validate_args`` says, which at first is ``__debug__``.

    Errors: ValueError for parameters outside of their constraints, where they are checked, and for
    values outside of the support; NotImplementedError for what a distribution doesn't have.

    Example:
        >>> normal = tensorbus.distributions.Normal(tensorbus.zeros(2), tensorbus.ones(2))
        >>> normal.batch_shape, normal.event_shape, normal.sample((3,)).shape
        (torch.Size([2]), torch.Size([]), torch.Size([3, 2]))
        >>> isinstance(normal, tensorbus.distributions.Distribution)
        True

    Source: https://pytorch.org/docs/stable/distributions.html#distribution
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values where they aren't told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `arg_constraints`. Please set "
                "`arg_constraints = {}` or initialize the distribution with `validate_args=False` "
                "to turn off validation."
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in vars(self) and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from one that is checked
            value = getattr(self, name)
            if not holds(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to another batch shape.

        Nothing is copied or checked. *_instance* is for subclasses: an object to be filled.
        """
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters vary."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample, without the batch."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The constraint that each parameter satisfies, by the parameters' names."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value with the greatest probability or density."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Random samples, one for each element of *sample_shape* and of the batch; no gradients."""
        with tensorbus.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Random samples through which gradients reach the parameters (``has_rsample``)."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: ``sample((n,))``."""
        warn_user("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability or density of *value*."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is at most *value*."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile: the number whose ``cdf`` is *value*."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        The other dimensions are those of the batch, of size 1 where not *expand*.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, for each element of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError where *value* has no shape of samples, or lies outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.size(), self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {event}."
            )
        expected = self._batch_shape + event
        for i, j in zip(reversed(shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {expected}."
                )
        try:
            support: Constraint = self.support
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        if not holds(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An object of the same class to be filled by ``expand``, or the one that was given.

        NotImplementedError where a subclass has another ``__init__`` and no ``expand`` of its own.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(
        self, cls: type, instance: Any, batch_shape: Sequence[int], **event_dims: int
    ) -> Any:
        """What ``expand`` of the class *cls* gives, whose parameters are tensors.

        For each parameter *event_dims* says how many of its dimensions are none of the batch. Lazy
        ones that were not asked for stay so.
        """
        new = self._get_checked_instance(cls, instance)
        batch_shape = Size(batch_shape)
        for name, dims in event_dims.items():
            if name in vars(self):
                value = vars(self)[name]
                own = value.shape[value.dim() - dims :]
                setattr(new, name, value.expand(batch_shape + own))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        given = {n: vars(self)[n] for n in self.arg_constraints if n in vars(self)}
        shown = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in given.items()]
        return f"{self.__class__.__name__}({', '.join(shown)})"
