"""The random streams in NumPy: Philox4x64-10 with key (seed, 0), and the draws made of its words.

NumPy's own generator gives the words, so a device is held against neither itself nor another.
"""

from __future__ import annotations

import math

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats


class Stream:
    """The words of a seed; a draw of n words spends whole blocks of four."""

    def __init__(self, seed: int, offset: int = 0):
        self.seed, self.offset = seed % 2**64, offset

    def words(self, n: int) -> np.ndarray:
        """The next *n* words, uint64."""
        # NumPy advances the counter before its first block.
        counter = (self.offset - 1) % 2**256
        self.offset += -(-n // 4)
        return np.asarray(np.random.Philox(counter=counter, key=self.seed).random_raw(n), np.uint64)

    def uniform(self, n: int, d: dtype) -> np.ndarray:
        """*n* numbers of [0, 1), as float64: exact in the dtype."""
        even = n + n % 2
        if d is formats.FLOAT64:
            return (self.words(even)[:n] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        words = self.words(even // 2)
        halves = np.empty((words.size, 2), np.uint64)
        halves[:, 0] = words & np.uint64(2**24 - 1)
        halves[:, 1] = (words >> np.uint64(32)) & np.uint64(2**24 - 1)
        found = halves.reshape(-1)[:n].astype(np.float64) * 2.0**-24
        bits = {formats.FLOAT16: 11, formats.BFLOAT16: 8}.get(d)
        return found if bits is None else np.floor(found * 2.0**bits) * 2.0**-bits

    def normal(self, n: int, d: dtype) -> tuple[np.ndarray, np.ndarray]:
        """*n* standard normals in float64, and the magnitude at which each is rounded."""
        half = -(-n // 2)
        u = self.uniform(2 * half, d if d is formats.FLOAT64 else formats.FLOAT32)
        radius = np.sqrt(-2.0 * np.log1p(-u[:half]))
        angle = 2.0 * math.pi * u[half:]
        found = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return found[:n], np.concatenate([radius, radius])[:n]

    def integers(self, n: int, low: int, high: int) -> list[int]:
        """*n* integers of [low, high)."""
        span = high - low
        return [low + _below(int(w), span) for w in self.words(n)]

    def permutation(self, n: int) -> np.ndarray:
        """The order of *n* words, as signed numbers."""
        return np.argsort(self.words(n).view(np.int64), kind="stable")


def _below(word: int, span: int) -> int:
    """A number below *span*: by remainder, or by one subtraction where the span is wide."""
    if span <= 2**63:
        return (word & (2**63 - 1)) % span
    return word if word < span else word - span


def distance(sample: np.ndarray, cdf: np.ndarray) -> float:
    """Kolmogorov's distance of a sample from its distribution, times the root of its size.

    *cdf* holds the distribution function at the sorted sample. Beyond 1.95 in 1 of 1,000 samples.
    """
    n = sample.size
    steps = np.arange(n + 1) / n
    return float(max((cdf - steps[:-1]).max(), (steps[1:] - cdf).max()) * math.sqrt(n))
