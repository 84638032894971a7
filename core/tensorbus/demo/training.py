"""The demo's network and its training, written with the public API as a user would write it.

Everything random is drawn from the seeded default generator, which is the same for all devices:
initial weights, the order of the digits, their shifts, dropout. So a seed gives the same training
on every device, to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn

BATCH = 64
LEARNING_RATE = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4
DROPOUT = 0.3
SHIFT = 2
SIDE = 28
# A slow start, because a high rate in the first steps multiplies rounding errors (a ReLU that flips
# on one device and not on another): with it, devices agree to 1e-6 over the first 20 steps.
WARM_UP_STEPS = 60


class LeNet(nn.Module):
    """Two convolutions with pooling, dropout, one linear layer: (n, 1, 28, 28) to (n, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.dropout = nn.Dropout(DROPOUT)
        self.classify = nn.Linear(32 * 5 * 5, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # ReLU after pooling gives the same values as before it, at a quarter of the work.
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.classify(self.dropout(x.flatten(1)))


class Trainer:
    """Trains a network on (n, 28, 28) images; the device is that of *net*'s parameters."""

    together = ""
    """How several processes train, for the words at the beginning."""

    def __init__(self, net: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int):
        self.net, self.labels, self.count = net, labels, len(labels)
        self.padded = F.pad(images, (SHIFT, SHIFT, SHIFT, SHIFT))
        self.steps_per_epoch = -(-self.count // BATCH)
        self.optimizer = torch.optim.SGD(
            net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY
        )
        total = epochs * self.steps_per_epoch
        warm_up = min(WARM_UP_STEPS, max(1, total // 2))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min((step + 1) / warm_up, (total - step) / max(1, total - warm_up)),
        )

    def epoch(self) -> Iterator[float]:
        """Train on every image once, in a new order; yields the loss of each step."""
        self.net.train()
        order = torch.randperm(self.count)
        for start in range(0, self.count, BATCH):
            yield self.step(*self.batch(order[start : start + BATCH]))

    def batch(self, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The images *chosen*, each shifted by up to two pixels either way, and their labels."""
        device = self.padded.device
        corner = torch.randint(0, 2 * SHIFT + 1, (len(chosen), 2))
        rows = (corner[:, :1] + torch.arange(SIDE)).to(device)
        columns = (corner[:, 1:] + torch.arange(SIDE)).to(device)
        chosen = chosen.to(device)
        images = self.padded[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
        return images.unsqueeze(1), self.labels[chosen]

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        """One step of gradient descent; returns the loss."""
        loss = F.cross_entropy(self.net(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


def scores(net: nn.Module, images: torch.Tensor, batch: int = 250) -> torch.Tensor:
    """What *net* says of (n, 28, 28) images without dropout: (n, 10), the highest wins."""
    net.eval()
    with torch.no_grad():
        return torch.cat([net(part.unsqueeze(1)) for part in images.split(batch)])


def accuracy(found: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of rows of *found* whose highest score is at the label."""
    return (found.argmax(1) == labels).float().mean().item()
