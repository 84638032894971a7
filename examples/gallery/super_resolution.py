"""Super-resolution: digits of 14 by 14 pixels at twice the resolution, by a sub-pixel convolution.

    $ python examples/gallery/super_resolution.py
    bicubic 20.3, network 25.0

Signal-to-noise ratios in dB on held-out digits. Reaches network above 24.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn
from tensorbus.demo.digits import load

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
images, _, unseen, _ = (torch.tensor(x).unsqueeze(1) for x in load())
first, second = nn.Conv2d(1, 64, 5, padding=2), nn.Conv2d(64, 4, 3, padding=1)
net = nn.Sequential(first, nn.ReLU(), second, nn.PixelShuffle(2))  # four values for each pixel
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(int(sys.argv[2]) if sys.argv[2:] else 400):
    batch = images[torch.randint(len(images), (32,))]
    optimizer.zero_grad()
    F.mse_loss(net(F.avg_pool2d(batch, 2)), batch).backward()
    optimizer.step()
coarse = F.avg_pool2d(unseen, 2)
rows = F.interpolate(coarse, scale_factor=2, mode="bicubic"), net(coarse)
decibels = (-10 * F.mse_loss(x.clamp(0, 1), unseen).log10().item() for x in rows)
print("bicubic {:.1f}, network {:.1f}".format(*decibels))
