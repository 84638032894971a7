"""torchdiffeq: an equation solved by several methods, and gradients by the adjoint."""

# /// script
# dependencies = ["numpy", "scipy"]
# [tool.ecosystem]
# alone = ["torchdiffeq==0.2.5"]
# ///
from __future__ import annotations

import torch
from recorded import filled, same
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

true = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
start = torch.tensor([[2.0, 0.0]])
times = torch.linspace(0.0, 5.0, 8)
for method in ("dopri5", "rk4", "midpoint", "explicit_adams"):
    solved = odeint(lambda t, y: (y**3) @ true, start, times, method=method)
    same(method, solved, rtol=1e-3, atol=1e-3)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


field = filled(Field())
for solve in (odeint, odeint_adjoint):
    field.zero_grad()
    loss = solve(field, start, times[:4], rtol=1e-6, atol=1e-7).abs().mean()
    loss.backward()
    same(f"{solve.__name__} loss", loss)
    same(f"{solve.__name__} gradient", field.net[0].weight.grad, rtol=1e-3, atol=1e-4)
optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
optimizer.step()
same("after a step", odeint(field, start, times[:4])[-1], rtol=1e-3)


def fall(t, state):
    return state[1], torch.full_like(state[1], -9.8)


when, _ = odeint_event(
    fall,
    (torch.tensor([10.0]), torch.tensor([0.0])),
    torch.tensor(0.0),
    event_fn=lambda t, state: state[0][0],
)
same("event", when)
