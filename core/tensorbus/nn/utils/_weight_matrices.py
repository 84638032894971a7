"""What weight norm and spectral norm compute, in their older form and as parametrizations."""

from __future__ import annotations

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from tensorbus.nn.modules.module import Module


def with_length(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """*direction* scaled so that its norm over all dims but one is *length*; of all where -1."""
    return direction * (length / tensorbus.norm_except_dim(direction, 2, dim))


def dim_of_outputs(module: Module, dim: int | None) -> int:
    """The given dim, or that of a weight's outputs: 1 in transposed convolutions, else 0."""
    if dim is not None:
        return dim
    transposed = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
    return 1 if isinstance(module, transposed) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with one dim as rows, and all others as columns."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.shape[0], -1)
