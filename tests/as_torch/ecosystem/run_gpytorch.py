"""GPyTorch: regression with an exact Gaussian process."""

# /// script
# dependencies = ["numpy", "scipy", "scikit-learn", "mpmath", "typing_extensions"]
# [tool.ecosystem]
# alone = [
#     "gpytorch==1.15.2",
#     "linear_operator==0.6.1",
#     "jaxtyping==0.3.11",
#     "wadler-lindig==0.1.8",
# ]
# ///
from __future__ import annotations

import math

import gpytorch
import torch
from recorded import numbers, same

x = torch.linspace(0, 1, 30)
y = torch.sin(x * 2 * math.pi) + 0.1 * numbers(30)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        covariance = self.covar_module(x)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = -mll(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
same("losses", losses, rtol=1e-3)
same("lengthscale", model.covar_module.base_kernel.lengthscale, rtol=1e-3)
model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    prediction = likelihood(model(torch.linspace(0, 1, 7)))
    same("mean", prediction.mean, rtol=1e-2, atol=1e-3)
    lower, upper = prediction.confidence_region()
    same("lower", lower, rtol=1e-2, atol=5e-3)
