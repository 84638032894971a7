"""Multivariate normal distributions with a low-rank covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.gaussian_algebra import (
    batch_mv,
    capacitance_tril,
    identity_plus,
    low_rank_logdet,
    low_rank_mahalanobis,
)
from tensorbus.distributions.utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The multivariate normal distribution with covariance ``W @ W.T + diag(D)``.

    Where W has few columns no matrix of the size of the covariance is decomposed.

    Args:
        loc: the mean, of n numbers.
        cov_factor: W, of n rows.
        cov_diag: D, n positive numbers.

    Errors: ValueError for shapes that don't fit each other.

    Example:
        >>> W = tensorbus.tensor([[1.0], [1.0]])
        >>> d = LowRankMultivariateNormal(tensorbus.zeros(2), W, tensorbus.ones(2))
        >>> d.covariance_matrix, d.log_prob(tensorbus.tensor([1.0, 1.0]))
        (tensor([[2., 1.],
                [1., 2.]]), tensor(-2.7205))

    Source: https://pytorch.org/docs/stable/distributions.html#lowrankmultivariatenormal
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        parts = loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
        try:
            wide_loc, self.cov_factor, wide_diag = tensorbus.broadcast_tensors(*parts)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = wide_loc[..., 0], wide_diag[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        parts = dict(loc=1, cov_factor=2, cov_diag=1)
        new = self._expanded(LowRankMultivariateNormal, _instance, batch_shape, **parts)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    def _low_rank(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _matrices(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The variance."""
        W, D = self._low_rank()
        return (W.pow(2).sum(-1) + D).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        W, D = self._low_rank()
        root = D.sqrt().unsqueeze(-1)
        # The eigenvalues of what is decomposed are at least 1.
        scaled = W / root
        return self._matrices(root * tensorbus.linalg.cholesky(identity_plus(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        W, D = self._low_rank()
        return self._matrices(W @ W.mT + D.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        W, D = self._low_rank()
        scaled = W.mT / D.unsqueeze(-2)
        part = tensorbus.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._matrices(D.reciprocal().diag_embed() - part.mT @ part)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        W, D = self._low_rank()
        shape = self._extended_shape(sample_shape)
        of_factor = standard_normal(shape[:-1] + W.shape[-1:], self.loc)
        of_diagonal = standard_normal(shape, self.loc)
        return self.loc + batch_mv(W, of_factor) + D.sqrt() * of_diagonal

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        W, D = self._low_rank()
        distance = low_rank_mahalanobis(W, D, value - self.loc, self._capacitance_tril)
        log_det = low_rank_logdet(W, D, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = low_rank_logdet(*self._low_rank(), self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)
