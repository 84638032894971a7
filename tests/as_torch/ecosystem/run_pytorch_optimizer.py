"""pytorch-optimizer: optimisers on one problem, and a schedule."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["pytorch_optimizer==4.1.0"]
# ///
from __future__ import annotations

from pytorch_optimizer import CosineAnnealingWarmupRestarts, load_optimizer
from recorded import filled, numbers, same
from torch import nn

x = numbers(16, 4)
for name in ("adamp", "lamb", "radam", "adabelief", "diffgrad", "lion", "adan", "sophiah", "tiger"):
    net = filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = load_optimizer(name)(net.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward(create_graph=name == "sophiah")
        if name != "sophiah":
            optimizer.step()
    same(name, loss, rtol=1e-3)
optimizer = load_optimizer("adamw")(net.parameters(), lr=1e-2)
schedule = CosineAnnealingWarmupRestarts(optimizer, 10, max_lr=0.1, min_lr=0.01, warmup_steps=3)
rates = []
for _ in range(6):
    schedule.step()
    rates.append(optimizer.param_groups[0]["lr"])
same("rates", rates)
