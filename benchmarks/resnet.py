"""A network of ResNet-18's shape and its training step, for the benchmarks and, with imports
swapped, on PyTorch.

    python -m benchmarks.program torch benchmarks/resnet.py

takes ten steps, and prints seconds and the process's peak memory.
"""

from __future__ import annotations

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn

IMAGES, SIZE, CLASSES = 8, 64, 100
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
"""How wide the blocks of a stage are, of which there are two, and the stride of the first."""


class Block(nn.Module):
    """Two convolutions and what they are added to."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.short: nn.Module = nn.Identity()
        if stride != 1 or inputs != width:
            conv = nn.Conv2d(inputs, width, 1, stride, bias=False)
            self.short = nn.Sequential(conv, nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    """Scores of the classes of images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(64)
        inputs, blocks = 64, []
        for width, stride in STAGES:
            blocks += [Block(inputs, width, stride), Block(width, width, 1)]
            inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.conv(images))), 3, 2, 1)
        return self.head(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


class Trainer:
    """The network with its optimiser and one batch."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = ResNet()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.images = torch.randn(IMAGES, 3, SIZE, SIZE)
        self.labels = torch.randint(CLASSES, (IMAGES,))

    def step(self) -> torch.Tensor:
        """Forward, backward and SGD with momentum."""
        loss = F.cross_entropy(self.net(self.images), self.labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


if __name__ == "__main__":
    trainer = Trainer()
    for _ in range(10):
        trainer.step()
