"""Products, determinants and distances of covariance matrices, by their factors.

Sources: Petersen and Pedersen, "The matrix cookbook", 2012: Woodbury's identity and the matrix
determinant lemma; Rasmussen and Williams, "Gaussian processes for machine learning", 2006, 3.4.3.
"""

from __future__ import annotations

import math

import tensorbus
from tensorbus._tensor.tensor import Tensor


def batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices and vectors, whose batches broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(scale_tril: Tensor, x: Tensor) -> Tensor:
    """``x @ inv(L @ L.T) @ x`` for vectors and lower triangular L.

    The batch of L broadcasts with the last dimensions of the batch of *x*; those before them
    become columns of one right-hand side.
    """
    lead = max(x.dim() - scale_tril.dim() + 1, 0)
    samples = math.prod(x.shape[:lead])
    columns = x.reshape((samples, *x.shape[lead:])).movedim(0, -1)
    solved = tensorbus.linalg.solve_triangular(scale_tril, columns, upper=False)
    squares = solved.pow(2).sum(-2).movedim(-1, 0)
    return squares.reshape(x.shape[:lead] + squares.shape[1:])


def half_log_det(scale_tril: Tensor) -> Tensor:
    """``log(det(L))`` of lower triangular matrices: half that of ``L @ L.T``."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverses of positive definite matrices."""
    turned = tensorbus.linalg.cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    identity = tensorbus.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return tensorbus.linalg.solve_triangular(inverse, identity, upper=False)


def identity_plus(matrix: Tensor) -> Tensor:
    """Square matrices with 1 added on the diagonal."""
    return matrix + tensorbus.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


# -- W @ W.T + diag(D) -----------------------------------------------------------------------
def capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of ``C = I + W.T @ inv(D) @ W``."""
    return tensorbus.linalg.cholesky(identity_plus((W.mT / D.unsqueeze(-2)) @ W))


def low_rank_logdet(W: Tensor, D: Tensor, capacitance: Tensor) -> Tensor:
    """``log(det(W @ W.T + D))``, which is ``log(det(C)) + log(det(D))``."""
    return 2 * half_log_det(capacitance) + D.log().sum(-1)


def low_rank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """``x @ inv(W @ W.T + D) @ x``, which inverts matrices of the size of C alone."""
    of_factor = mahalanobis(capacitance, batch_mv(W.mT / D.unsqueeze(-2), x))
    return (x.pow(2) / D).sum(-1) - of_factor
