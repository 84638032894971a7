"""nflows: a masked autoregressive flow."""

# /// script
# dependencies = ["numpy", "tqdm", "matplotlib"]
# [tool.ecosystem]
# alone = ["nflows==0.14"]
# ///
from __future__ import annotations

import torch
from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.transforms import (
    CompositeTransform,
    MaskedAffineAutoregressiveTransform,
    ReversePermutation,
)
from recorded import filled, numbers, same

steps = [
    step
    for _ in range(2)
    for step in (
        ReversePermutation(3),
        MaskedAffineAutoregressiveTransform(features=3, hidden_features=8),
    )
]
flow = filled(Flow(CompositeTransform(steps), StandardNormal([3])))
x = numbers(10, 3)
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
same("losses", losses, rtol=1e-3)
assert flow.sample(5).shape == (5, 3)
