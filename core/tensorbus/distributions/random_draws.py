"""Random numbers of the gamma, Dirichlet and von Mises distributions.

Sources: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; Best and
Fisher, "Efficient simulation of the von Mises distribution", 1979.
"""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.function import Function
from tensorbus.distributions.implicit_gradients import dirichlet_grad, standard_gamma_grad
from tensorbus.ops.random.rejection import Draw, drawn, until_taken

_ASIDE = 2**32
"""The round of the uniforms that are not for candidates."""


def _log_gamma(draw: Draw, alpha: Tensor) -> Tensor:
    """The logarithms, which are not too small where the numbers are."""
    usual = (alpha > 0) & (alpha < math.inf)
    a = alpha.masked_fill(~usual, 1.0)
    small = a < 1
    d = tensorbus.where(small, a + 1, a) - 1 / 3

    def propose(u: Tensor, v: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
        z = tensorbus.special.ndtri(u)
        log_cube = 3 * (z * (9 * d).rsqrt()).log1p()  # NaN where it would be negative
        taken = v.log() < 0.5 * z * z + d - d * log_cube.exp() + d * log_cube
        return d.log() + log_cube, taken

    n = alpha.size(0)
    found = until_taken(draw, draw(0, n), [d], propose)
    boost = draw(_ASIDE, n)[0].log() / a
    return tensorbus.where(usual, found + boost.masked_fill(~small, 0.0), alpha.log())


class _Slope(Function):
    """A slope that has no derivative itself: asked for, it is an error rather than 0."""

    @staticmethod
    def forward(ctx: Any, name: str, slope: Any, *operands: Tensor) -> Tensor:
        ctx.name = name
        return slope(*operands)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise NotImplementedError(f"the derivative for '{ctx.name}' is not implemented.")


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        tiny = tensorbus.finfo(concentration.dtype).tiny
        x = drawn([concentration], None, _log_gamma).exp().clamp(min=tiny)
        ctx.save_for_backward(concentration, x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        slope = _Slope.apply("_standard_gamma_grad", standard_gamma_grad, *ctx.saved_tensors)
        return grad * slope


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        logs = drawn([concentration], None, _log_gamma)
        x = tensorbus.softmax(logs, -1).clamp(min=tensorbus.finfo(logs.dtype).tiny)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, keepdim=True).expand_as(concentration)
        slope = _Slope.apply("_dirichlet_grad", dirichlet_grad, x, concentration, total)
        return slope * (grad - (x * grad).sum(-1, keepdim=True))


def standard_gamma(concentration: Tensor) -> Tensor:
    """Random numbers of the gamma distribution with rate 1, with gradients."""
    return _StandardGamma.apply(concentration)


def sample_dirichlet(concentration: Tensor) -> Tensor:
    """Random vectors of the Dirichlet distribution, with gradients."""
    return _Dirichlet.apply(concentration)


def von_mises_angles(concentration: Tensor) -> Tensor:
    """Random angles around 0 of the von Mises distribution."""
    return drawn([concentration], None, _angles)


def _angles(draw: Draw, concentration: Tensor) -> Tensor:
    # What is less than this can't be told from the uniform distribution.
    usual = (concentration >= 0) & (concentration < math.inf)
    kappa = concentration.masked_fill(~usual, 1.0).clamp(min=1e-6)
    tau = 1 + (1 + 4 * kappa**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    r = tensorbus.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def propose(u: Tensor, v: Tensor, kappa: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        z = (math.pi * u).cos()
        cosine = (1 + r * z) / (r + z)
        c = kappa * (r - cosine)
        taken = (c * (2 - c) > v) | ((c / v).log() + 1 - c >= 0)
        return cosine.clamp(-1.0, 1.0).acos(), taken

    n = concentration.size(0)
    angle = until_taken(draw, draw(0, n), [kappa, r], propose)
    angle = tensorbus.where(draw(_ASIDE, n)[0] < 0.5, -angle, angle)
    return angle.masked_fill(~usual & (concentration != math.inf), math.nan).masked_fill(
        concentration == math.inf, 0.0
    )
