"""Bags of embeddings for the benchmarks and, with imports swapped, on PyTorch.

    python -m benchmarks.program torch benchmarks/bags.py sum

takes two hundred steps, and prints seconds and the process's peak memory; ``sum apart`` looks the
embeddings up, and adds them then.
"""

from __future__ import annotations

import sys

import tensorbus as torch
from tensorbus import nn

VOCABULARY, WIDTH = 10_000, 128
BAGS, WORDS = 512, 64
"""How many bags there are in a batch, and how many words in each."""


class Trainer:
    """A table and one batch of bags, of which the gradient is known.

    *mode* is a mode of ``EmbeddingBag``, ``weighted`` for a sum with factors, ``sparse`` for one
    with sparse gradients, or ``sparse, SGD`` for that and a step of the optimiser; *apart* is a
    table of embeddings whose rows are joined by another op.
    """

    def __init__(self, mode: str, apart: bool = False) -> None:
        torch.manual_seed(0)
        self.apart, sparse = apart, mode.startswith("sparse")
        self.mode = mode if mode in ("mean", "max") else "sum"
        if apart:
            self.table: nn.Module = nn.Embedding(VOCABULARY, WIDTH, sparse=sparse)
        else:
            self.table = nn.EmbeddingBag(VOCABULARY, WIDTH, mode=self.mode, sparse=sparse)
        trained = self.table.parameters() if mode == "sparse, SGD" else None
        self.optimizer = None if trained is None else torch.optim.SGD(trained, lr=1e-3)
        self.words = torch.randint(VOCABULARY, (BAGS * WORDS,))
        self.offsets = torch.arange(0, BAGS * WORDS, WORDS)
        weighted = mode == "weighted"
        self.factors = torch.rand(BAGS * WORDS, requires_grad=True) if weighted else None
        self.gradient = torch.randn(BAGS, WIDTH)

    def joined(self) -> torch.Tensor:
        """What is made of each bag."""
        if not self.apart:
            return self.table(self.words, self.offsets, self.factors)
        each = self.table(self.words.view(BAGS, WORDS))
        if self.factors is not None:
            each = each * self.factors.view(BAGS, WORDS, 1)
        return each.amax(1) if self.mode == "max" else getattr(each, self.mode)(1)

    def step(self) -> torch.Tensor:
        """Forward and backward, and the optimiser's step where there is one."""
        self.table.weight.grad = None
        if self.factors is not None:
            self.factors.grad = None
        joined = self.joined()
        joined.backward(self.gradient)
        if self.optimizer is not None:
            self.optimizer.step()
        return joined


if __name__ == "__main__":
    trainer = Trainer(sys.argv[1], "apart" in sys.argv[2:])
    for _ in range(200):
        trainer.step()
