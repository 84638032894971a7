"""The chi-squared distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution, that of a sum of *df* squares of normal variables.

    Args:
        df: the degrees of freedom, positive.

    Example:
        >>> chi2 = Chi2(tensorbus.tensor([2.0, 3.0]))
        >>> chi2.mean, chi2.cdf(tensorbus.tensor(2.0))
        (tensor([2., 3.]), tensor([0.6321, 0.4276]))

    Source: https://pytorch.org/docs/stable/distributions.html#chi2
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        return super().expand(batch_shape, new)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
