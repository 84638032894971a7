"""botorch: a Gaussian process fitted, acquisition functions, and the best next point."""

# /// script
# dependencies = [
#   "numpy", "scipy", "pyre-extensions", "threadpoolctl", "multipledispatch", "mpmath",
#   "jaxtyping", "scikit-learn",
# ]
# [tool.ecosystem]
# alone = ["botorch==0.18.1", "gpytorch", "linear_operator"]
# ///
from __future__ import annotations

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from recorded import same

x = torch.stack([torch.linspace(0, 1, 9), torch.linspace(0, 3, 9) % 1], 1).double()
y = -(x - 0.4).norm(dim=-1, keepdim=True)
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
asked = torch.tensor([[0.3, 0.3], [0.5, 0.4], [0.9, 0.1]], dtype=torch.float64)
posterior = model.posterior(asked)
same("mean", posterior.mean, rtol=2e-3)
gain = LogExpectedImprovement(model, best_f=y.max())
bound = UpperConfidenceBound(model, beta=0.1)
same("gain", gain(asked.unsqueeze(1)), rtol=1e-2)
same("bound", bound(asked.unsqueeze(1)), rtol=2e-3)
box = torch.stack([torch.zeros(2), torch.ones(2)]).double()
point, value = optimize_acqf(bound, bounds=box, q=1, num_restarts=4, raw_samples=32)
same("point", point, rtol=1e-2, atol=1e-3)
same("value", value, rtol=1e-2, atol=1e-4)
