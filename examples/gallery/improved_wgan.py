"""Improved WGAN: a critic whose slope is held at one by a gradient penalty.

    $ python examples/gallery/improved_wgan.py
    step 120: distance 1.77
    step 240: distance 0.71

The penalty is a gradient of a gradient. Reaches distance below 1.0, as the critic estimates it.
"""

import sys

import tensorbus as torch
from tensorbus import nn, optim
from tensorbus.demo.digits import load

BATCH, LATENT = 50, 32


def gradient_penalty(critic, real, drawn):
    mix = torch.rand(len(real), 1, 1, 1, device=real.device)
    between = (mix * real + (1 - mix) * drawn).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def main(device="cpu", steps=300, picture=None):
    torch.manual_seed(0)
    images = nn.AvgPool2d(2)(torch.from_numpy(load().train_images).unsqueeze(1).to(device))
    generator = nn.Sequential(
        nn.Linear(LATENT, 1568), nn.Unflatten(1, (32, 7, 7)), nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Sigmoid(),
    ).to(device)  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2d(1, 16, 5, 2, 2), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 5, 2, 2), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(512, 1),
    ).to(device)  # fmt: skip
    draws, judges = (optim.Adam(m.parameters(), 1e-3, (0.5, 0.9)) for m in (generator, critic))
    for step in range(1, int(steps) + 1):
        for _ in range(3):
            real = images[torch.randint(len(images), (BATCH,), device=device)]
            drawn = generator(torch.randn(BATCH, LATENT, device=device)).detach()
            distance = critic(real).mean() - critic(drawn).mean()
            judges.zero_grad()
            (10 * gradient_penalty(critic, real, drawn) - distance).backward()
            judges.step()
        draws.zero_grad()
        drawn = generator(torch.randn(BATCH, LATENT, device=device))
        (-critic(drawn).mean()).backward()
        draws.step()
        if step % 120 == 0:
            print(f"step {step}: distance {distance.item():.2f}")
    if picture:
        from matplotlib import pyplot

        sheet = drawn[:40].detach().view(4, 10, 14, 14).transpose(1, 2).reshape(56, 140)
        pyplot.imsave(picture, sheet.cpu().numpy(), cmap="gray")


if __name__ == "__main__":
    main(*sys.argv[1:])
