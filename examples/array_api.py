"""scikit-learn on any device: PCA and ridge regression through the array API standard."""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

import tensorbus as torch

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cpu")
torch.manual_seed(0)
hidden = torch.randn(200, 3, device=device)
x = hidden @ torch.randn(3, 10, device=device) + 0.3 * torch.randn(200, 10, device=device)
y = hidden @ torch.tensor([1.0, -2.0, 0.5], device=device)

with sklearn.config_context(array_api_dispatch=True):
    pca = PCA(3, svd_solver="full").fit(x)
    reduced = pca.transform(x)
    ridge = Ridge(alpha=0.1, solver="svd").fit(reduced, y)
    score = ridge.score(reduced, y)

print(f"{type(reduced).__name__} {tuple(reduced.shape)} on {reduced.device.type}")
print(f"explained: {pca.explained_variance_ratio_.sum().item():.3f}, score: {score:.3f}")
