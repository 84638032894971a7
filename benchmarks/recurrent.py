"""Recurrent networks' training steps, for the benchmarks and, with imports swapped, on PyTorch.

    python -m benchmarks.program torch benchmarks/recurrent.py char-LSTM

takes fifty of them, and prints seconds and the process's peak memory.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn


class Shape(NamedTuple):
    """A network over the embeddings of tokens, and the batch that it learns."""

    layer: str
    vocabulary: int
    classes: int
    inputs: int
    hidden: int
    both_ways: bool
    steps: int
    batch: int


SHAPES = {
    "char-LSTM": Shape("LSTM", 65, 65, 128, 128, False, 64, 32),
    "char-GRU": Shape("GRU", 65, 65, 128, 128, False, 64, 32),
    "BiLSTM tagger": Shape("LSTM", 1000, 20, 64, 64, True, 20, 1),
}


class Network(nn.Module):
    """Scores of the classes at each place."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.inputs)
        self.recurrent = getattr(nn, shape.layer)(
            shape.inputs, shape.hidden, bidirectional=shape.both_ways, batch_first=True
        )
        self.head = nn.Linear(shape.hidden * (1 + shape.both_ways), shape.classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.recurrent(self.tokens(tokens))[0])


class Trainer:
    """A network with its optimiser and one batch."""

    def __init__(self, name: str) -> None:
        torch.manual_seed(0)
        shape = SHAPES[name]
        self.net = Network(shape)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.tokens = torch.randint(shape.vocabulary, (shape.batch, shape.steps))
        self.targets = torch.randint(shape.classes, (shape.batch, shape.steps))

    def step(self) -> torch.Tensor:
        """Forward, backward and SGD."""
        scores = self.net(self.tokens)
        loss = F.cross_entropy(scores.flatten(0, 1), self.targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


if __name__ == "__main__":
    trainer = Trainer(sys.argv[1])
    for _ in range(50):
        trainer.step()
