"""A covariance that is given by itself, by its inverse or by its Cholesky factor."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus._base.size import Size
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.gaussian_algebra import precision_to_scale_tril
from tensorbus.distributions.utils import lazy_property


def the_one_given(error: type[Exception], **forms: Tensor | None) -> tuple[str, Tensor]:
    """The name and the value of the only form that isn't None; *error* where there is no such."""
    given = {name: matrix for name, matrix in forms.items() if matrix is not None}
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return next(iter(given.items()))


class WithCovariance:
    """Each form of the covariance, from the factor without the batch of other parameters."""

    _batch_shape: Size
    _event_shape: Size
    _unbroadcasted_scale_tril: Tensor

    def _keep_factor(self, name: str, matrix: Tensor) -> None:
        """The factor, of the form *name* that was given."""
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = tensorbus.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _with_factor(self, new: Any) -> Any:
        """The expanded distribution *new*, which has the same factor."""
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _matrices(self, matrix: Tensor) -> Tensor:
        size = self._event_shape[-1]
        return matrix.expand((*self._batch_shape, size, size))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._matrices(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrices(tensorbus.cholesky_inverse(self._unbroadcasted_scale_tril))
