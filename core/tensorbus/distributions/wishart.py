"""The Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._base.size import Size
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.chi2 import Chi2
from tensorbus.distributions.constraint import holds
from tensorbus.distributions.covariance import WithCovariance, the_one_given
from tensorbus.distributions.exp_family import ExponentialFamily
from tensorbus.distributions.gaussian_algebra import half_log_det
from tensorbus.distributions.utils import standard_normal, vec_to_tril_matrix

__all__ = ["Wishart"]


class Wishart(WithCovariance, ExponentialFamily):
    """The Wishart distribution, of positive definite matrices.

    With a whole *df* it is that of ``X.T @ X`` where the *df* rows of X are normal vectors. One of
    three matrices is given; all is computed with the Cholesky factor of the covariance.

    Args:
        df: the degrees of freedom, greater than the size of the matrices less 1.
        covariance_matrix: the covariance, symmetric and positive definite.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor, lower triangular with a positive diagonal.

    Errors: AssertionError where not exactly one matrix is given, ValueError where *df* is too
    small; a warning where it is less than the size of the matrices, since samples may round to
    singular ones.

    Example:
        >>> d = Wishart(3.0, covariance_matrix=tensorbus.eye(2))
        >>> d.mean, d.log_prob(tensorbus.eye(2))
        (tensor([[3., 0.],
                [0., 3.]]), tensor(-3.5310))

    Source: https://pytorch.org/docs/stable/distributions.html#wishart;
    Odell and Feiveson, "A numerical procedure to generate a sample covariance matrix", 1966.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = the_one_given(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        count = tensorbus.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = tensorbus.broadcast_shapes(matrix.shape[:-2], count.shape)
        self.df = count.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if not holds(self.df > n - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if not holds(self.df >= n):
            warn_user(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim."
            )
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._keep_factor(name, matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        parts = dict(df=0, covariance_matrix=2, scale_tril=2, precision_matrix=2)
        return self._with_factor(self._expanded(Wishart, _instance, batch_shape, **parts))

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (V**2 + diagonal[..., :, None] * diagonal[..., None, :])

    def _bartlett_sampling(self, sample_shape: Size) -> Tensor:
        """Bartlett's decomposition: chi variables on the diagonal, normal ones below it."""
        n = self._event_shape[-1]
        places = tensorbus.arange(n, dtype=self.df.dtype, device=self.df.device)
        squares = Chi2(self.df.unsqueeze(-1) - places, validate_args=False).rsample(sample_shape)
        diagonal = squares.sqrt().clamp(min=tensorbus.finfo(squares.dtype).eps).diag_embed()
        below = standard_normal(sample_shape + self._batch_shape + (n * (n - 1) // 2,), squares)
        factor = self._unbroadcasted_scale_tril @ (diagonal + vec_to_tril_matrix(below, diag=-1))
        return factor @ factor.mT

    def rsample(
        self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None
    ) -> Tensor:
        """Random samples through which gradients reach the parameters.

        Samples that rounding made singular are drawn again, *max_try_correction* times at most, by
        default 10; a warning says that there were some.
        """
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        for turn in range(10 if max_try_correction is None else max_try_correction):
            regular = self.support.check(sample)
            if holds(regular):
                break
            if turn == 0:
                warn_user("Singular sample detected.")
            again = self._bartlett_sampling(sample_shape)
            sample = tensorbus.where(regular[..., None, None], sample, again)
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = tensorbus.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        scale = nu * (p * math.log(2) / 2 + half_log_det(factor)) + (nu / 2).mvlgamma(p)
        log_det = tensorbus.linalg.slogdet(value)[1]
        return (nu - p - 1) / 2 * log_det - trace / 2 - scale

    def entropy(self) -> Tensor:
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        places = tensorbus.arange(p, dtype=nu.dtype, device=nu.device) / 2
        digammas = ((nu / 2).unsqueeze(-1) - places).digamma().sum(-1)
        log_det = p * math.log(2) / 2 + half_log_det(factor)
        entropy = (p + 1) * log_det + (nu / 2).mvlgamma(p) + nu * p / 2
        return entropy - (nu - p - 1) / 2 * digammas

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        log_det = tensorbus.linalg.slogdet(-2 * x)[1]
        return half * (p * math.log(2) - log_det) + half.mvlgamma(p)
