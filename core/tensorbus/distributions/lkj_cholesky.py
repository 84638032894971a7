"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions import constraints
from tensorbus.distributions.beta import Beta
from tensorbus.distributions.distribution import Distribution
from tensorbus.distributions.utils import broadcast_all, standard_normal

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution, of the Cholesky factors of correlation matrices.

    The density of the matrix itself is proportional to ``det(matrix) ** (concentration - 1)``.

    Args:
        dim: the size of the matrices, from 2 on.
        concentration: eta, positive: with 1 all matrices are equally likely.

    Errors: ValueError where *dim* is less than 2.

    Example:
        >>> lkj = LKJCholesky(2, concentration=tensorbus.tensor([1.0, 2.0]))
        >>> lkj.log_prob(tensorbus.eye(2))
        tensor([-0.6931, -0.2877])

    Source: https://pytorch.org/docs/stable/distributions.html#lkjcholesky;
    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009.
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(LKJCholesky, _instance, batch_shape, concentration=0)
        new.dim = self.dim
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # The onion method: each row is a direction, and a beta variable says how far it goes.
        # (PyTorch 2.13 draws that variable with another parameter from the third row on, and
        # so its samples have another distribution than its log_prob.)
        with tensorbus.no_grad():
            eta = self.concentration.unsqueeze(-1)
            rows = tensorbus.arange(self.dim, dtype=eta.dtype, device=eta.device)
            before = (rows - 1).clamp(min=0.0)
            rest = eta + 0.5 * (self.dim - 2 - before)
            reach = Beta(0.5 * (before + 1), rest, validate_args=False)
            square = reach.sample(sample_shape).unsqueeze(-1)
            noise = standard_normal(self._extended_shape(sample_shape), eta).tril(-1)
            tiny = tensorbus.finfo(eta.dtype).tiny
            row = square.sqrt() * noise / noise.norm(dim=-1, keepdim=True).clamp(min=tiny)
            diagonal = (1 - (row**2).sum(-1)).clamp(min=tiny).sqrt()
            return row + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        eta, before = self.concentration, self.dim - 1
        rows = tensorbus.arange(2, self.dim + 1, dtype=eta.dtype, device=eta.device)
        order = 2 * (eta - 1).unsqueeze(-1) + self.dim - rows
        density = (order * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        alpha = eta + 0.5 * before
        # Page 1999 of the paper; a part of its power of pi is in mvlgamma.
        of_pi = 0.5 * before * math.log(math.pi)
        scale = of_pi + tensorbus.mvlgamma(alpha - 0.5, before) - alpha.lgamma() * before
        return density - scale
