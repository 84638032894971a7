"""Fast style transfer: a network draws digits in the style of a picture, in one pass.

    $ python examples/gallery/style_transfer.py
    content 0.051, style 0.016

A network that reads digits is trained first: its features are the content, their products the
style, of waves. Reaches style below 0.04. A third argument is a file for a picture.
"""

import sys

import tensorbus as torch
from tensorbus import nn, optim
from tensorbus.demo.digits import load


def minimise(losses, net, steps, *data):
    optimizer = optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(int(steps)):
        chosen = torch.randint(len(data[0]), (32,), device=data[0].device)
        optimizer.zero_grad()
        sum(losses(*(x[chosen] for x in data))).backward()
        optimizer.step()


def gram(x):
    return torch.einsum("bihw, bjhw -> bij", x, x) / x[0, 0].numel()


def main(device="cpu", steps=250, picture=None):
    torch.manual_seed(0)
    images, labels, unseen, _ = (torch.from_numpy(x).unsqueeze(1).to(device) for x in load())
    a = torch.arange(28, device=device) / 4
    waves = 0.5 + 0.5 * torch.sin(2 * a + 2 * torch.sin(a)[:, None])[None, None]
    low = nn.Sequential(nn.Conv2d(1, 16, 5, padding="same"), nn.ReLU())
    high = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding="same"), nn.ReLU())
    read = nn.Sequential(low, high, nn.Flatten(), nn.Linear(32 * 14 * 14, 10)).to(device)
    entropy = nn.CrossEntropyLoss()
    minimise(lambda x, y: [entropy(read(x), y[:, 0])], read, steps, images, labels)
    read.requires_grad_(False)
    draw = nn.Sequential(
        nn.ReflectionPad2d(6), nn.Conv2d(1, 16, 5), nn.InstanceNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 5), nn.InstanceNorm2d(16), nn.ReLU(), nn.Conv2d(16, 1, 5), nn.Sigmoid(),
    ).to(device)  # fmt: skip

    def losses(x):
        seen, style = low(draw(x)), gram(low(waves))
        return (high(seen) - high(low(x))).pow(2).mean(), 100 * (gram(seen) - style).pow(2).mean()

    minimise(losses, draw, steps, images)
    print("content {:.3f}, style {:.3f}".format(*losses(unseen[:100])))
    if picture:
        from matplotlib import pyplot

        pairs = torch.cat([unseen, draw(unseen)], 2)[:12, 0].detach()
        pyplot.imsave(picture, torch.cat([*pairs], 1).cpu().numpy(), cmap="gray")


if __name__ == "__main__":
    main(*sys.argv[1:])
