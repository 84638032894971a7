"""Variational autoencoder: digits as eight numbers each, and new digits from random numbers.

    $ python examples/gallery/vae.py
    loss 123.7

The loss is the negative bound of the log-likelihood. Reaches loss below 130 on held-out digits.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.demo.digits import load
from tensorbus.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, latent=8, hidden=256):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent)
        )
        self.decode = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 784), nn.Unflatten(1, (28, 28))
        )

    def forward(self, x):
        mean, spread = self.encode(x).chunk(2, dim=1)
        code = Normal(mean, F.softplus(spread) + 1e-4, validate_args=False)
        return self.decode(code.rsample()), code


def loss_of(x, logits, code):
    error = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    return (error + kl_divergence(code, Normal(0.0, 1.0)).sum()) / len(x)


def main(device="cpu", steps=1000, picture=None):
    torch.manual_seed(0)
    images, _, unseen, _ = (torch.from_numpy(x).to(device) for x in load())
    vae = VAE().to(device)
    optimizer = optim.Adam(vae.parameters(), lr=2e-3)
    for _ in range(int(steps)):
        x = images[torch.randint(len(images), (128,), device=device)]
        optimizer.zero_grad()
        loss_of(x, *vae(x)).backward()
        optimizer.step()
    with torch.no_grad():
        print(f"loss {loss_of(unseen, *vae(unseen)).item():.1f}")
        seen, new = unseen[:32], vae.decode(torch.randn(32, 8, device=device))
        rows = torch.cat([seen, vae(seen)[0].sigmoid(), new.sigmoid()]).view(6, 16, 28, 28)
    if picture:
        from matplotlib import pyplot

        pyplot.imsave(picture, rows.transpose(1, 2).reshape(168, 448).cpu().numpy(), cmap="gray")


if __name__ == "__main__":
    main(*sys.argv[1:])
