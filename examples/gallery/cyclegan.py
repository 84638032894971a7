"""CycleGAN: white digits become blue ink on yellow paper and back, learnt without pairs.

    $ python examples/gallery/cyclegan.py
    cycle 0.052, error 0.027

Two generators, two critics. Reaches error below 0.1 to true pairs, which training does not see.
"""

import sys

import tensorbus as torch
from tensorbus import nn, optim
from tensorbus.demo.digits import load


def generator(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, 16, 3, padding=1), nn.InstanceNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, outputs, 1), nn.Sigmoid(),
    )  # fmt: skip


def critic(inputs):
    return nn.Sequential(
        nn.Conv2d(inputs, 16, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, 3),
    )  # fmt: skip


def main(device="cpu", steps=300, picture=None):
    torch.manual_seed(0)
    digits = nn.AvgPool2d(2)(torch.from_numpy(load().train_images).unsqueeze(1).to(device))
    paper, ink = torch.tensor([[0.9, 0.8, 0.4], [0.1, 0.1, 0.5]], device=device)[..., None, None]
    inked = paper + digits[1900:] * (ink - paper)
    nets = nn.ModuleList([generator(1, 3), generator(3, 1), critic(3), critic(1)]).to(device)
    write, read, of_ink, of_plain = nets
    writes, judges = (optim.Adam(n.parameters(), 1e-3, (0.5, 0.999)) for n in (nets[:2], nets[2:]))
    for _ in range(int(steps)):
        a, b = (x[torch.randint(1900, (32,), device=device)] for x in (digits, inked))
        written, reading = write(a), read(b)
        cycle = (read(written) - a).abs().mean() + (write(reading) - b).abs().mean()
        fooled = (of_ink(written) - 1).pow(2).mean() + (of_plain(reading) - 1).pow(2).mean()
        writes.zero_grad()
        (fooled + 10 * cycle).backward()
        writes.step()
        judges.zero_grad()
        for judge, x, drawn in ((of_ink, b, written), (of_plain, a, reading)):
            ((judge(x) - 1).pow(2).mean() + judge(drawn.detach()).pow(2).mean()).backward()
        judges.step()
    written = write(digits[3800:]).detach()
    print(f"cycle {cycle:.3f}, error {(written - inked[1900:]).abs().mean():.3f}")
    if picture:
        from matplotlib import pyplot

        sheet = torch.cat([digits[3800:3816].expand(-1, 3, -1, -1), written[:16]], 2)
        pyplot.imsave(picture, torch.cat([*sheet], 2).permute(1, 2, 0).cpu().numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
