"""torch-optimizer: optimisers on one problem."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["torch_optimizer==0.3.0", "pytorch_ranger==0.1.1"]
# ///
from __future__ import annotations

import torch_optimizer
from recorded import filled, numbers, same
from torch import nn

x = numbers(16, 4)
for name in (
    "AdaBound",
    "AdaMod",
    "DiffGrad",
    "Lamb",
    "NovoGrad",
    "QHAdam",
    "RAdam",
    "Yogi",
    "SGDW",
):
    net = filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = torch_optimizer.get(name)(net.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    same(name, loss, rtol=1e-3)
