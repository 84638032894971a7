"""higher: an inner loop of steps that the outer gradient goes through."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["higher==0.2.1"]
# ///
from __future__ import annotations

import higher
import torch
import torch.nn.functional as F
from recorded import filled, numbers, same
from torch import nn

net = filled(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)))
inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x, y = numbers(10, 3), numbers(10, 1, seed=2)
with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fast, steps):
    for _ in range(3):
        steps.step(F.mse_loss(fast(x), y))
    outer = F.mse_loss(fast(x + 0.1), y)
    outer.backward()
same("outer", outer)
same("gradient", net[0].weight.grad)
adam = torch.optim.Adam(net.parameters(), lr=0.05)
with higher.innerloop_ctx(net, adam) as (fast, steps):
    steps.step(F.mse_loss(fast(x), y))
    same("after Adam", F.mse_loss(fast(x), y), rtol=1e-3)
