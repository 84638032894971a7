"""Divergences of multivariate normal distributions, with full and with low-rank covariances."""

from __future__ import annotations

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.gaussian_algebra import (
    half_log_det,
    low_rank_logdet,
    low_rank_mahalanobis,
    mahalanobis,
)
from tensorbus.distributions.kl import register_kl
from tensorbus.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tensorbus.distributions.multivariate_normal import MultivariateNormal

Gaussian = MultivariateNormal | LowRankMultivariateNormal


def _log_det(d: Gaussian) -> Tensor:
    if isinstance(d, MultivariateNormal):
        return 2 * half_log_det(d._unbroadcasted_scale_tril)
    return low_rank_logdet(*d._low_rank(), d._capacitance_tril)


def _distance(q: Gaussian, x: Tensor) -> Tensor:
    if isinstance(q, MultivariateNormal):
        return mahalanobis(q._unbroadcasted_scale_tril, x)
    W, D = q._low_rank()
    return low_rank_mahalanobis(W, D, x, q._capacitance_tril)


def _squares(matrix: Tensor) -> Tensor:
    return matrix.pow(2).sum((-2, -1))


def _trace(q: Gaussian, factor: Tensor) -> Tensor:
    """The trace of ``inv(covariance of q) @ factor @ factor.T``."""
    solve = tensorbus.linalg.solve_triangular
    if isinstance(q, MultivariateNormal):
        return _squares(solve(q._unbroadcasted_scale_tril, factor, upper=False))
    W, D = q._low_rank()
    part = solve(q._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
    return _squares(factor / D.sqrt().unsqueeze(-1)) - _squares(part @ factor)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_gaussian_gaussian(p: Gaussian, q: Gaussian) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event "
            "shapes cannot be computed"
        )
    if isinstance(p, MultivariateNormal):
        trace = _trace(q, p._unbroadcasted_scale_tril)
    else:
        W, D = p._low_rank()
        trace = _trace(q, W) + _trace(q, D.sqrt().diag_embed())
    log_dets = _log_det(q) - _log_det(p)
    return 0.5 * (log_dets + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])
