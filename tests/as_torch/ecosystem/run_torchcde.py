"""torchcde: an equation that a spline of data controls, forward and backward."""

# /// script
# dependencies = ["numpy", "scipy", "trampoline"]
# [tool.ecosystem]
# alone = ["torchcde==0.2.5", "torchdiffeq", "torchsde"]
# ///
from __future__ import annotations

import torch
import torchcde
from recorded import filled, numbers, same
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 12)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape, 3)


data, field = numbers(2, 6, 3), filled(Field())
for name, spline in {
    "hermite": torchcde.hermite_cubic_coefficients_with_backward_differences,
    "natural": torchcde.natural_cubic_coeffs,
}.items():
    path = torchcde.CubicSpline(spline(data))
    field.zero_grad()
    z = torchcde.cdeint(path, field, torch.ones(2, 4), path.interval, method="rk4", adjoint=False)
    z.square().sum().backward()
    same(name, z, rtol=1e-3)
    same(f"{name} gradient", field.linear.bias.grad, rtol=1e-3)
