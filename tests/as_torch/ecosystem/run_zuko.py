"""zuko: normalising flows, their densities and a training step."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["zuko==1.6.0"]
# ///
from __future__ import annotations

import torch
import zuko
from recorded import filled, numbers, same

x, context = numbers(6, 3), numbers(6, 2, seed=1)
for flow in (
    zuko.flows.MAF(3, 2, transforms=2, hidden_features=(8,)),
    zuko.flows.NSF(3, 2, transforms=2, hidden_features=(8,)),
    zuko.flows.RealNVP(3, 2, transforms=2, hidden_features=(8,)),
):
    flow = filled(flow)
    loss = -flow(context).log_prob(x).mean()
    loss.backward()
    name = type(flow).__name__
    same(name, loss, rtol=1e-3)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    optimizer.step()
    same(f"{name} after a step", flow(context).log_prob(x), rtol=1e-2, atol=1e-2)
    there = flow(context).transform
    assert torch.allclose(there.inv(there(x)), x, atol=1e-3)
    assert flow(context).sample((4,)).shape == (4, 6, 3)
