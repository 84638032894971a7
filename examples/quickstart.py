"""Twenty lines: fit a small network to a curve, on any device that a plugin offers."""

import sys

import tensorbus as torch
from tensorbus import nn

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cpu")
torch.manual_seed(0)
x = torch.linspace(-3, 3, 200).unsqueeze(1).to(device)
y = torch.sin(x)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(501):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:3}: loss {loss.item():.5f}")
