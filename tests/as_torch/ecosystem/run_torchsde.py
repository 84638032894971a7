"""torchsde: stochastic equations solved, and gradients by the adjoint, over given noise."""

# /// script
# dependencies = ["numpy", "scipy", "trampoline"]
# [tool.ecosystem]
# alone = ["torchsde==0.2.6"]
# ///
from __future__ import annotations

import torch
import torchsde
from recorded import filled, numbers, same
from torch import nn


class Noise(torchsde.BaseBrownian):
    """A path that is the same anywhere: increments of fixed waves."""

    def __init__(self, *shape):
        self._shape, self.phases = shape, numbers(*shape)

    def __call__(self, ta, tb=None, return_U=False, return_A=False):
        tb, ta = (ta, 0.0) if tb is None else (tb, ta)
        return torch.sin(7 * tb + self.phases) - torch.sin(7 * ta + self.phases)

    dtype = property(lambda self: self.phases.dtype)
    device = property(lambda self: self.phases.device)
    shape = property(lambda self: self._shape)
    levy_area_approximation = "none"

    def __repr__(self):
        return "Noise()"


class Equation(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        self.spread = nn.Parameter(torch.tensor([0.1, 0.2, 0.3]))

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return self.spread * y


equation = filled(Equation())
start, times = torch.ones(4, 3), torch.linspace(0, 1, 5)
for method in ("euler", "milstein"):
    equation.zero_grad()
    ends = torchsde.sdeint(equation, start, times, Noise(4, 3), dt=0.05, method=method)
    ends.square().sum().backward()
    same(method, ends, rtol=1e-3)
    same(f"{method} gradient", equation.spread.grad, rtol=1e-3)

equation.sde_type = "stratonovich"
equation.zero_grad()
ends = torchsde.sdeint_adjoint(equation, start, times, Noise(4, 3), dt=0.05, method="midpoint")
ends.square().sum().backward()
same("adjoint", ends, rtol=1e-3)
same("adjoint gradient", equation.spread.grad, rtol=1e-3)

path = torchsde.BrownianInterval(0.0, 1.0, size=(4000,), entropy=3)
parts = path(0.0, 0.3) + path(0.3, 1.0)
assert torch.allclose(parts, path(0.0, 1.0), atol=1e-5)
assert abs(parts.var().item() - 1) < 0.1
tree = torchsde.BrownianTree(t0=0.0, w0=torch.zeros(4), t1=1.0, entropy=3)
assert torch.equal(tree(0.25, 0.5), tree(0.25, 0.5))
