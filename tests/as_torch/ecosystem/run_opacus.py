"""Opacus: gradients of each sample, and a private step of training."""

# /// script
# dependencies = ["numpy", "scipy", "opt_einsum"]
# [tool.ecosystem]
# alone = ["opacus==1.6.0"]
# ///
from __future__ import annotations

import torch
import torch.nn.functional as F
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import RDPAccountant
from recorded import filled, numbers, same
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = filled(nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)))
x, y = numbers(8, 1, 6, 6), torch.tensor([0, 1] * 4)
wrapped = GradSampleModule(net)
F.cross_entropy(wrapped(x), y, reduction="sum").backward()
for name, parameter in net.named_parameters():
    same(name, parameter.grad_sample.flatten(1).norm(dim=1), rtol=1e-3)
accountant = RDPAccountant()
for _ in range(10):
    accountant.step(noise_multiplier=1.1, sample_rate=0.1)
same("epsilon", accountant.get_epsilon(delta=1e-5), rtol=1e-3)
model = nn.Linear(36, 2)
model, optimizer, loader = PrivacyEngine(secure_mode=False).make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    data_loader=DataLoader(TensorDataset(x.flatten(1), y), batch_size=4),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
)
for batch, wanted in loader:
    optimizer.zero_grad()
    F.cross_entropy(model(batch), wanted).backward()
    optimizer.step()
assert all(p.isfinite().all() for p in model.parameters())
