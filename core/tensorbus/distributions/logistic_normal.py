"""The logistic normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.array_transforms import StickBreakingTransform
from tensorbus.distributions.normal import Normal
from tensorbus.distributions.transformed_distribution import TransformedDistribution

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The distribution of probabilities that normal variables make by breaking a stick.

    Args:
        loc: the means of the normal variables, one less than the classes.
        scale: their standard deviations, positive.

    Example:
        >>> d = LogisticNormal(tensorbus.zeros(2), 1.0)
        >>> d.event_shape, d.log_prob(tensorbus.full((3,), 1 / 3))
        (torch.Size([3]), tensor(1.4580))

    Source: https://pytorch.org/docs/stable/distributions.html#logisticnormal
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale
