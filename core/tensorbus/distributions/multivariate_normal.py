"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.covariance import WithCovariance, the_one_given
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.gaussian_algebra import (
    batch_mv,
    half_log_det,
    mahalanobis,
    precision_to_scale_tril,
)
from tensorbus.distributions.utils import standard_normal

__all__ = ["MultivariateNormal"]

# What PyTorch calls these, which libraries import from here.
_batch_mv, _batch_mahalanobis = batch_mv, mahalanobis
_precision_to_scale_tril = precision_to_scale_tril


class MultivariateNormal(WithCovariance, Distribution):
    """The multivariate normal distribution.

    One of three matrices is given; all is computed with the Cholesky factor of the covariance.

    Args:
        loc: the mean.
        covariance_matrix: the covariance, symmetric and positive definite.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor, lower triangular with a positive diagonal.

    Errors: ValueError where not exactly one matrix is given, or *loc* is no vector.

    Example:
        >>> covariance = tensorbus.tensor([[2.0, 1.0], [1.0, 2.0]])
        >>> d = MultivariateNormal(tensorbus.zeros(2), covariance)
        >>> d.log_prob(tensorbus.tensor([1.0, 1.0])), d.entropy()
        (tensor(-2.7205), tensor(3.3872))

    Source: https://pytorch.org/docs/stable/distributions.html#multivariatenormal
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = the_one_given(
            ValueError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = tensorbus.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._keep_factor(name, matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        matrices = dict(covariance_matrix=2, scale_tril=2, precision_matrix=2)
        return self._with_factor(
            self._expanded(MultivariateNormal, _instance, batch_shape, loc=1, **matrices)
        )

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + mahalanobis(factor, value - self.loc)) - half_log_det(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)
