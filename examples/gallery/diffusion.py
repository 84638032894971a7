"""Diffusion: points on a circle are drawn from noise. Reaches distance below 0.2, from 0.5.

$ python examples/gallery/diffusion.py
distance 0.08
"""

import sys

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
keep = torch.linspace(0.999, 0.8, 40)  # of the square of the signal, at each step of noise
left = keep.cumprod(0)
net = nn.Sequential(nn.Linear(3, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 1500):
    angle, t = 6.2832 * torch.rand(256, 1), torch.randint(40, (256, 1))
    noise, x = torch.randn(256, 2), torch.cat([angle.cos(), angle.sin()], 1)
    noisy = left[t].sqrt() * x + (1 - left[t]).sqrt() * noise
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.cat([noisy, t / 40], 1)), noise).backward()
    optimizer.step()
x = torch.randn(500, 2)
for t in reversed(range(40)):  # backward in time: less noise at each step
    noise = net(torch.cat([x, torch.full((500, 1), t / 40)], 1)).detach()
    x = (x - (1 - keep[t]) / (1 - left[t]).sqrt() * noise) / keep[t].sqrt()
    x = x + (1 - keep[t]).sqrt() * torch.randn(500, 2) * (t > 0)
print(f"distance {(x.norm(dim=1) - 1).abs().mean():.2f}")
