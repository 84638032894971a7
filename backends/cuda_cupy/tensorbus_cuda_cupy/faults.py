"""Indices checked on the device, without waiting for it.

A word of four integers per device, ``(set, value, dim, n)``, keeps the first fault. Kernels write
it; whoever reads results next reads it and raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault


class Faults:
    """The pending index faults of all devices; *xp* is the array module."""

    def __init__(self, xp: Any):
        self.xp = xp
        self._words: dict[int, Array] = {}

    def checked(self, index: int, i: Array, n: int, dim: int, wrap: bool = False) -> Array:
        """*i* with every fault recorded and replaced by 0, and with negative ones resolved."""
        xp = self.xp
        if i.size == 0:
            return i
        flat = i.reshape(-1)
        bad = (flat >= n) | (flat < (-n if wrap else 0))
        first = bad.argmax()
        new = xp.stack(
            [
                bad.any().astype(np.int64),
                flat.take(first),
                xp.full((), dim, np.int64),
                xp.full((), n, np.int64),
            ]
        )
        word = self._words.get(index)
        # An earlier fault stays; nothing here asks the host which case it is.
        self._words[index] = new if word is None else xp.where(word[0] != 0, word, new)
        safe = xp.where(flat < 0, flat + n, flat) if wrap else flat
        return xp.where(bad, np.int64(0), safe).reshape(i.shape)

    def raise_pending(self, index: int) -> None:
        """Raise the device's first fault, if there is one, and forget it."""
        word = self._words.pop(index, None)
        if word is None:
            return
        found, value, dim, n = word.tolist()
        if found:
            raise IndexFault(value, dim, n)
