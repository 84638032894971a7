"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.pointwise_transforms import clipped_sigmoid
from tensorbus.distributions.transform import FixedTransform, Transform
from tensorbus.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from tensorbus.nn.functional import logsigmoid, pad, softplus


def _check_dims(shape: Sequence[int], least: int) -> Size:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")
    return Size(shape)


class ReshapeTransform(Transform):
    """Events of another shape with the same elements.

    Args:
        in_shape: the shape of the arguments' events.
        out_shape: that of the values' events.
        cache_size: see ``Transform``.

    Errors: ValueError where the shapes differ in their numbers of elements.

    Example:
        >>> t = tensorbus.distributions.ReshapeTransform((4,), (2, 2))
        >>> t(tensorbus.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The constraint of the arguments."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The constraint of the values."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _batch(self, value: Tensor, event: Size) -> Size:
        return value.shape[: value.dim() - len(event)]

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._batch(x, self.in_shape) + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._batch(y, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(self._batch(x, self.in_shape))

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape: Sequence[int], before: Size, after: Size) -> Size:
    size = _check_dims(shape, len(before))
    cut = len(size) - len(before)
    if size[cut:] != before:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {before}")
    return size[:cut] + after


class SoftmaxTransform(FixedTransform):
    """``y = exp(x) / sum(exp(x))`` along the last dimension, which is not bijective.

    Example:
        >>> tensorbus.distributions.SoftmaxTransform()(tensorbus.tensor([0.0, 1.0]))
        tensor([0.2689, 0.7311])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return tensorbus.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _check_dims(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(FixedTransform):
    """Vectors to probabilities of one class more: each breaks its share off what is left.

    Example:
        >>> t = tensorbus.distributions.StickBreakingTransform()
        >>> t(tensorbus.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, value: Tensor, n: int) -> Tensor:
        """The logarithms of how many classes are left after each of the *n* breaks."""
        return tensorbus.arange(n, 0, -1, dtype=value.dtype, device=value.device).log()

    def _call(self, x: Tensor) -> Tensor:
        share = clipped_sigmoid(x - self._offset(x, x.shape[-1]))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        left = 1 - broken.cumsum(-1)
        # Rounding may leave nothing, or less.
        left = left.clamp(min=tensorbus.finfo(y.dtype).tiny)
        return broken.log() - left.log() + self._offset(y, broken.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x, x.shape[-1])
        # 1 - sigmoid(x) = exp(-x) * sigmoid(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        size = _check_dims(shape, 1)
        return Size((*size[:-1], size[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        size = _check_dims(shape, 1)
        return Size((*size[:-1], size[-1] - 1))


class LowerCholeskyTransform(FixedTransform):
    """Matrices to lower triangular ones with a positive diagonal, of which it is the exponential.

    Example:
        >>> tensorbus.distributions.LowerCholeskyTransform()(tensorbus.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(FixedTransform):
    """Matrices to symmetric positive definite ones.

    Example:
        >>> tensorbus.distributions.PositiveDefiniteTransform()(tensorbus.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(tensorbus.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of length ``D * (D - 1) / 2`` to Cholesky factors of correlation matrices.

    These are lower triangular, with a positive diagonal and rows of length 1. Each row below the
    diagonal is made of the hyperbolic tangents of its numbers, whose squares break a stick.

    Example:
        >>> tensorbus.distributions.CorrCholeskyTransform()(tensorbus.tensor([1.0]))
        tensor([[1.0000, 0.0000],
                [0.7616, 0.6481]])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms;
    Stan reference manual, "Cholesky factors of correlation matrices".
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = tensorbus.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + tensorbus.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        left = tril_matrix_to_vec(pad(left[..., :-1], [1, 0], value=1.0), diag=-1)
        return (tril_matrix_to_vec(y, diag=-1) / left.sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        """The logarithm of the determinant for what lies below the diagonal of *y*."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_sticks = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape: Sequence[int]) -> Any:
        size = _check_dims(shape, 1)
        n = size[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*size[:-1], d, d))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        size = _check_dims(shape, 2)
        if size[-2] != size[-1]:
            raise ValueError("Input is not square")
        d = size[-1]
        return Size((*size[:-2], d * (d - 1) // 2))
