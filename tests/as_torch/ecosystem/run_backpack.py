"""backpack: gradients of each sample, variances, and curvature, in one backward pass."""

# /// script
# dependencies = ["numpy", "einops"]
# [tool.ecosystem]
# alone = ["backpack-for-pytorch==1.7.1", "unfoldNd"]
# ///
from __future__ import annotations

import torch
from backpack import backpack, extend, extensions
from recorded import filled, numbers, same
from torch import nn

net = extend(filled(nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2))))
loss = extend(nn.CrossEntropyLoss())(net(numbers(5, 3)), torch.tensor([0, 1, 0, 1, 1]))
wanted = (
    extensions.BatchGrad(), extensions.Variance(), extensions.DiagGGNExact(),
    extensions.DiagHessian(), extensions.KFLR(),
)  # fmt: skip
with backpack(*wanted):
    loss.backward()
weight = net[0].weight
for name in ("grad", "grad_batch", "variance", "diag_ggn_exact", "diag_h"):
    same(name, getattr(weight, name), rtol=1e-3)
for i, factor in enumerate(weight.kflr):
    same(f"kflr {i}", factor, rtol=1e-3)
