"""lion-pytorch, ema-pytorch: an optimiser, and averages of a model's weights."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["lion-pytorch==0.2.5", "ema-pytorch==0.8.3"]
# ///
from __future__ import annotations

from ema_pytorch import EMA
from lion_pytorch import Lion
from recorded import filled, numbers, same
from torch import nn

net = filled(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
lion = Lion(net.parameters(), lr=1e-2, weight_decay=1e-2)
x = numbers(16, 4)
losses = []
for _ in range(5):
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    lion.step()
    lion.zero_grad()
    ema.update()
    losses.append(loss.item())
same("losses", losses, rtol=1e-3)
same("average", ema(x), rtol=1e-3, atol=1e-3)
