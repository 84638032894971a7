"""Sixteen of Shakespeare's sonnets (data/README.md), in batches of bytes."""

from collections.abc import Iterator
from pathlib import Path

import tensorbus as torch

TEXT = Path(__file__).with_suffix(".txt").read_bytes()


def batches(count: int, length: int, size: int = 16) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """*count* times *size* pieces from anywhere, and for each byte the one that comes after it."""
    data = torch.tensor(list(TEXT))
    for _ in range(count):
        pieces = data[torch.randint(len(data) - length, (size, 1)) + torch.arange(length + 1)]
        yield pieces[:, :-1], pieces[:, 1:]
