"""How slow this machine is: the processor time of a fixed piece of work, in units of budgets.

A budget in seconds alone would measure the machine as well as the change. The work is what the
tests do most: calls of Python's functions, and NumPy on arrays that fit into the cache.
``python tests/support/yardstick.py`` prints the factor that budgets are multiplied by.
"""

from __future__ import annotations

import functools
import statistics
import time

import numpy as np

SECONDS = 0.19
"""What the work takes on the cores that budgets are written for."""

ROUNDS = 5


class _Node:
    def __init__(self, value: int, rest: _Node | None) -> None:
        self.value, self.rest = value, rest


def _calls(n: int) -> int:
    """Objects, attributes, tables and texts."""
    table: dict[str, int] = {}
    node = None
    for i in range(n):
        node = _Node(i, node if i % 8 else None)
        name = f"name{i % 97}"
        table[name] = table.get(name, 0) + len(str(node.value))
    return sum(table.values())


def _arrays(n: int) -> float:
    x = np.random.default_rng(0).standard_normal((96, 96)).astype(np.float32)
    total = 0.0
    for _ in range(n):
        y = np.exp(-np.abs(x)) + x.T
        total += float(np.sort(y, axis=1)[:, ::2].sum()) + float((x * y).mean())
    return total


def work() -> float:
    """The processor time of the work, once."""
    before = time.process_time()
    _calls(300_000)
    _arrays(1000)
    return time.process_time() - before


@functools.cache
def factor() -> float:
    """What budgets are multiplied by here: 1, or more on slower or busier cores."""
    return max(1.0, statistics.median(work() for _ in range(ROUNDS)) / SECONDS)


if __name__ == "__main__":
    print(f"{factor():.2f}")
