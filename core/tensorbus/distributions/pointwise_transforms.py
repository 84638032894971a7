"""Transforms element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.transform import FixedTransform, Transform
from tensorbus.distributions.utils import broadcast_all, is_number, lazy_property
from tensorbus.nn.functional import softplus


class ExpTransform(FixedTransform):
    """``y = exp(x)``.

    Example:
        >>> tensorbus.distributions.ExpTransform()(tensorbus.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent``, of positive numbers.

    Args:
        exponent: a number or a tensor that broadcasts.
        cache_size: see ``Transform``.

    Example:
        >>> tensorbus.distributions.PowerTransform(2.0)(tensorbus.tensor([1.0, 3.0]))
        tensor([1., 9.])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Tensor:
        """The exponent's sign."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PowerTransform):
            return False
        return bool((self.exponent == other.exponent).all().item())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return tensorbus.broadcast_shapes(tuple(shape), self.exponent.shape)

    inverse_shape = forward_shape


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid of *x*, which is never 0 or 1."""
    limits = tensorbus.finfo(x.dtype)
    return tensorbus.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(FixedTransform):
    """``y = 1 / (1 + exp(-x))``.

    Example:
        >>> tensorbus.distributions.SigmoidTransform()(tensorbus.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = tensorbus.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(FixedTransform):
    """``y = log(1 + exp(x))``, which is *x* from 20 on.

    Example:
        >>> tensorbus.distributions.SoftplusTransform()(tensorbus.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(FixedTransform):
    """``y = tanh(x)``.

    Where values round to -1 or 1 their inverse is infinite: there ``cache_size=1`` helps.

    Example:
        >>> tensorbus.distributions.TanhTransform()(tensorbus.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)**2), which keeps its digits where tanh(x) is near 1
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(FixedTransform):
    """``y = abs(x)``, which is not bijective.

    Example:
        >>> tensorbus.distributions.AbsTransform()(tensorbus.tensor([-2.0, 1.0]))
        tensor([2., 1.])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _equal(a: Any, b: Any) -> bool:
    if is_number(a) and is_number(b):
        return bool(a == b)
    return bool((a == b).all().item())


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Args:
        loc: the value at 0, a number or a tensor.
        scale: the slope.
        event_dim: how many of the last dimensions make one event.
        cache_size: see ``Transform``.

    Example:
        >>> tensorbus.distributions.AffineTransform(1.0, -2.0)(tensorbus.tensor([0.0, 1.0]))
        tensor([ 1., -1.])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    bijective = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The constraint of the arguments."""
        if not self.event_dim:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    @property
    def codomain(self) -> Any:
        """The constraint of the values."""
        return self.domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        """The sign of the slope."""
        scale = self.scale
        if isinstance(scale, Tensor):
            return scale.sign()
        return (scale > 0) - (scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        if isinstance(scale, Tensor):
            result = scale.abs().log()
        else:
            result = tensorbus.full_like(x, math.log(abs(scale)))
        shape = x.shape
        if self.event_dim:
            result = result.flatten(-self.event_dim).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        own = [getattr(parameter, "shape", ()) for parameter in (self.loc, self.scale)]
        return tensorbus.broadcast_shapes(tuple(shape), *own)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution.

    Args:
        distribution: one with ``cdf`` and ``icdf``.
        cache_size: see ``Transform``.

    Example:
        >>> normal = tensorbus.distributions.Normal(0.0, 1.0)
        >>> t = tensorbus.distributions.CumulativeDistributionTransform(normal)
        >>> t(tensorbus.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8413])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
