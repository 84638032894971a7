"""e3nn: spherical harmonics, tensor products and gates that rotate with their inputs."""

# /// script
# dependencies = ["numpy", "scipy", "sympy", "opt-einsum"]
# [tool.ecosystem]
# alone = ["e3nn==0.6.0", "opt-einsum-fx"]
# ///
from __future__ import annotations

import torch
from e3nn import nn as e3nn_nn
from e3nn import o3
from recorded import filled, numbers, same

x = numbers(5, 3)
same("harmonics", o3.spherical_harmonics([0, 1, 2, 3], x, normalize=True))
same("wigner", o3.wigner_3j(1, 1, 2))
same("rotation", o3.Irreps("1x0e+1x1o+1x2e").D_from_angles(*torch.tensor([0.1, 0.2, 0.3])))

inputs = o3.Irreps("4x0e+2x1o")
features = numbers(5, inputs.dim).requires_grad_()
linear = filled(o3.Linear(inputs, "3x0e+5x1o"))
same("linear", linear(features))
product = filled(o3.FullyConnectedTensorProduct(inputs, "1x0e+1x1o+1x2e", "3x0e+2x1o+1x2e"))
edges = o3.spherical_harmonics(o3.Irreps("1x0e+1x1o+1x2e"), x, normalize=True)
out = product(features, edges)
same("product", out)
(gradient,) = torch.autograd.grad(out.square().sum(), features)
same("gradient", gradient, rtol=1e-3)

angles = torch.tensor([0.4, -0.3, 1.1])
turn, back = inputs.D_from_angles(*angles), product.irreps_out.D_from_angles(*angles)
turned = o3.spherical_harmonics(
    o3.Irreps("1x0e+1x1o+1x2e"), x @ o3.angles_to_matrix(*angles).T, normalize=True
)
assert torch.allclose(product(features @ turn.T, turned), out @ back.T, atol=1e-4)

gate = e3nn_nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
# It scales activations by moments that it estimates from a million random numbers.
same("gate", gate(numbers(5, gate.irreps_in.dim)), rtol=5e-3)
same("norm", e3nn_nn.BatchNorm(inputs)(features), rtol=1e-3)
