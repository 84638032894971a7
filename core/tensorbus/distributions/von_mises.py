"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.random_draws import von_mises_angles
from tensorbus.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution, of angles: near a normal one, and 2 pi apart is the same.

    Args:
        loc: the mean in radians.
        concentration: kappa, positive.

    Mean and variance are the circular ones; samples are in [-pi, pi).

    Example:
        >>> d = VonMises(0.0, tensorbus.tensor([0.5, 4.0]))
        >>> d.variance, d.log_prob(tensorbus.tensor(0.0))
        (tensor([0.7575, 0.1365]), tensor([-1.3994, -0.2628]))

    Source: https://pytorch.org/docs/stable/distributions.html#vonmises;
    Best and Fisher, "Efficient simulation of the von Mises distribution", 1979.
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False

    def __init__(
        self,
        loc: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(VonMises, _instance, batch_shape, loc=0, concentration=0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        k = self.concentration
        return 1 - tensorbus.special.i1e(k) / tensorbus.special.i0e(k)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        # cos(x) - 1, which keeps its digits near the mean
        fall = -2 * ((value - self.loc) / 2).sin() ** 2
        return k * fall - math.log(2 * math.pi) - tensorbus.special.i0e(k).log()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tensorbus.no_grad():
            shape = self._extended_shape(sample_shape)
            angle = von_mises_angles(self.concentration.expand(shape))
            turn = 2 * math.pi
            return (angle + math.pi + self.loc) % turn - math.pi
