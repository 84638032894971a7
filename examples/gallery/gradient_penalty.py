"""A penalty on gradients: a residual network that is harder to fool, by a double backward pass.

    $ python examples/gallery/gradient_penalty.py
    penalty 0: accuracy 0.931, fooled 0.100
    penalty 3: accuracy 0.853, fooled 0.476

The squared gradient by the pixels is in the loss. Reaches fooled above 0.3 by adversarial pixels.
"""

import sys

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn, optim
from tensorbus.demo.digits import load


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x):
        return F.relu(x + self.layers(x))


def trained(images, labels, steps, penalty):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 5, 2, 2), nn.BatchNorm2d(16), nn.ReLU(), Block(16), nn.MaxPool2d(2),
        Block(16), nn.Flatten(), nn.Linear(784, 10),
    ).to(images.device)  # fmt: skip
    optimizer = optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        chosen = torch.randint(len(images), (64,), device=images.device)
        x = images[chosen].requires_grad_()
        loss = F.cross_entropy(net(x), labels[chosen])
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        optimizer.zero_grad()
        (loss + penalty * len(x) * slope.pow(2).sum()).backward()
        optimizer.step()
    return net.eval()


def main(device="cpu", steps=60):
    images, labels, unseen, answers = (torch.from_numpy(x).to(device) for x in load())
    unseen = unseen.unsqueeze(1).requires_grad_()
    for penalty in (0, 3):
        net = trained(images.unsqueeze(1), labels, int(steps), penalty)
        (slope,) = torch.autograd.grad(F.cross_entropy(net(unseen), answers), unseen)
        pixels = unseen, unseen + 0.1 * slope.sign()
        plain, fooled = ((net(x).argmax(1) == answers).float().mean() for x in pixels)
        print(f"penalty {penalty}: accuracy {plain:.3f}, fooled {fooled:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
