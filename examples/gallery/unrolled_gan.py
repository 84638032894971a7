"""Unrolled GAN: the generator sees how the critic will answer.

    $ python examples/gallery/unrolled_gan.py
    clouds 8

The data are eight narrow clouds. The generator's gradient goes through later steps of the critic.
Reaches clouds above 6: those that more than 2 % of the points are drawn in.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.func import functional_call

BATCH, LATENT = 128, 16


def mlp(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)
    )


def judged(critic, weights, real, drawn):
    answers = functional_call(critic, weights, (torch.cat([real, drawn]),)).flatten()
    return F.softplus(-answers[:BATCH]).mean() + F.softplus(answers[BATCH:]).mean()


def trained(centres, steps, unrolled):
    generator, critic = (mlp(*sizes).to(centres.device) for sizes in ((LATENT, 2), (2, 1)))
    draws, judges = (optim.Adam(m.parameters(), 3e-3, (0.5, 0.999)) for m in (generator, critic))
    for _ in range(steps):
        real = torch.normal(centres[torch.randint(8, (BATCH,), device=centres.device)], 0.05)
        drawn = generator(torch.randn(BATCH, LATENT, device=centres.device))
        weights = dict(critic.named_parameters())
        judges.zero_grad()
        judged(critic, weights, real, drawn.detach()).backward()
        judges.step()
        for _ in range(unrolled):
            loss = judged(critic, weights, real, drawn)
            slopes = torch.autograd.grad(loss, weights.values(), create_graph=True)
            weights = {k: weights[k] - 0.01 * s for k, s in zip(weights, slopes, strict=True)}
        draws.zero_grad()
        (-judged(critic, weights, real, drawn)).backward()
        draws.step()
    return generator(torch.randn(1000, LATENT, device=centres.device))


def main(device="cpu", steps=500):
    torch.manual_seed(0)
    angles = torch.arange(8) * (torch.pi / 4)
    centres = torch.stack([angles.cos(), angles.sin()], 1).to(device)
    near = torch.cdist(trained(centres, int(steps), unrolled=5), centres) < 0.25
    print(f"clouds {(near.sum(0) > 20).sum().item()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
