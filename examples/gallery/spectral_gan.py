"""Spectral norm: a critic of digits whose layers stretch nothing, and a hinge loss.

    $ python examples/gallery/spectral_gan.py
    step 100: hinge 0.35
    step 200: hinge 0.80
    step 300: hinge 1.73
    stretch 1.01

`spectral_norm` divides each weight by its largest singular value. Reaches stretch below 1.1.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.demo.digits import load
from tensorbus.nn.utils.parametrizations import spectral_norm

BATCH, LATENT = 64, 32


def main(device="cpu", steps=300, picture=None):
    torch.manual_seed(0)
    images = torch.from_numpy(load().train_images).unsqueeze(1).to(device)
    generator = nn.Sequential(
        nn.Linear(LATENT, 1568), nn.Unflatten(1, (32, 7, 7)), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(32, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid(),
    ).to(device)  # fmt: skip
    critic = nn.Sequential(
        spectral_norm(nn.Conv2d(1, 32, 4, 2, 1)), nn.LeakyReLU(0.1),
        spectral_norm(nn.Conv2d(32, 64, 4, 2, 1)), nn.LeakyReLU(0.1),
        nn.Flatten(), spectral_norm(nn.Linear(64 * 49, 1)),
    ).to(device)  # fmt: skip
    draws = optim.Adam(generator.parameters(), 1e-3, (0.0, 0.9))
    judges = optim.Adam(critic.parameters(), 2e-3, (0.0, 0.9))
    for step in range(1, int(steps) + 1):
        real = images[torch.randint(len(images), (BATCH,), device=device)]
        drawn = generator(torch.randn(BATCH, LATENT, device=device))
        hinge = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(drawn.detach())).mean()
        judges.zero_grad()
        hinge.backward()
        judges.step()
        draws.zero_grad()
        (-critic(drawn).mean()).backward()
        draws.step()
        if step % 100 == 0:
            print(f"step {step}: hinge {hinge.item():.2f}")
    weights = [m.weight.flatten(1).cpu() for m in critic if hasattr(m, "weight")]
    print(f"stretch {max(torch.linalg.matrix_norm(w, 2).item() for w in weights):.2f}")
    if picture:
        from matplotlib import pyplot

        drawn = drawn.detach().view(8, 8, 28, 28).transpose(1, 2).reshape(224, 224)
        pyplot.imsave(picture, drawn.cpu().numpy(), cmap="gray")


if __name__ == "__main__":
    main(*sys.argv[1:])
