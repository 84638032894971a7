"""The categorical distribution of one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.categorical import Categorical
from tensorbus.distributions.distribution import Distribution
from tensorbus.nn import functional as F

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """The distribution of a class out of several: samples are vectors of one 1 and else 0.

    Args:
        probs: weights of the classes along the last dimension; they are normalized.
        logits: instead of them their logarithms, up to a constant.

    Example:
        >>> d = OneHotCategorical(tensorbus.tensor([1.0, 3.0]))
        >>> d.mean, d.log_prob(tensorbus.tensor([0.0, 1.0]))
        (tensor([0.2500, 0.7500]), tensor(-0.2877))

    Source: https://pytorch.org/docs/stable/distributions.html#onehotcategorical
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical: Any = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(OneHotCategorical, _instance, batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, index: Tensor) -> Tensor:
        return F.one_hot(index, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = tensorbus.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """``OneHotCategorical`` with samples whose gradients are those of the probabilities.

    Args:
        probs: weights of the classes along the last dimension; they are normalized.
        logits: instead of them their logarithms, up to a constant.

    Example:
        >>> probs = tensorbus.tensor([0.5, 0.5], requires_grad=True)
        >>> drawn = OneHotCategoricalStraightThrough(probs, validate_args=False).rsample()
        >>> drawn.sum(), drawn.requires_grad
        (tensor(1., grad_fn=<SumBackward0>), True)

    Source: https://pytorch.org/docs/stable/distributions.html#onehotcategorical;
    Bengio, Léonard and Courville, "Estimating or propagating gradients through stochastic neurons
    for conditional computation", 2013.
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
