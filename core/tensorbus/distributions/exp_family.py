"""The base class of exponential families."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base class of distributions with the density ``exp(t(x) @ theta - F(theta) + k(x))``.

    A subclass gives the natural parameters ``theta`` as ``_natural_params``, the log normalizer
    ``F`` as ``_log_normalizer`` and the mean of ``k`` as ``_mean_carrier_measure``. From these
    follow its entropy and the divergence of two distributions of the class.

    Example:
        >>> isinstance(tensorbus.distributions.Normal(0.0, 1.0), ExponentialFamily)
        True

    Source: https://pytorch.org/docs/stable/distributions.html#exponentialfamily; Nielsen and Nock,
    "Entropies and cross-entropies of exponential families", 2010.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, from the slope of the log normalizer."""
        mean_carrier_measure = self._mean_carrier_measure
        params, normalizer, slopes = self._normalizer_with_slopes()
        result = normalizer - mean_carrier_measure
        for param, slope in zip(params, slopes, strict=True):
            term = param * slope
            result = result - sum_rightmost(term, term.dim() - result.dim())
        return result

    def _normalizer_with_slopes(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, the log normalizer of them, and its slope in each.

        What requires grad stays tied to the distribution's own parameters.
        """
        with tensorbus.enable_grad():
            own = self._natural_params
            params = [p if p.requires_grad else p.detach().requires_grad_() for p in own]
            normalizer = self._log_normalizer(*params)
            slopes = tensorbus.autograd.grad(normalizer.sum(), params, create_graph=True)
        if any(p.requires_grad for p in own):
            return params, normalizer, slopes
        return params, normalizer.detach(), tuple(s.detach() for s in slopes)
