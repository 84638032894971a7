"""``tensorbus.quasirandom``: points that fill a cube more evenly than random ones."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np

from tensorbus._base.dtypes import dtype as DType
from tensorbus._base.dtypes import get_default_dtype
from tensorbus._base.page import show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.quasirandom.direction_numbers import of_dimensions
from tensorbus.random import Generator


class SobolEngine:
    """A Sobol sequence of points in the unit cube, drawn one after the other.

    *dimension* is from 1 to 21,201: ValueError for others. With *scramble* random triangular
    matrices mix the digits of the points and a shift is added, which keeps them as even; they are
    drawn by *seed*, without it by the stream that ``manual_seed`` seeds. Points are tensors on the
    CPU.

    >>> import tensorbus as torch
    >>> engine = torch.quasirandom.SobolEngine(dimension=2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    """Bits of a coordinate: the sequence has 2**30 points before it repeats."""
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        state = of_dimensions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            state, shift = self._scrambled(state)
        self.sobolstate = _tensor(state)
        self.shift = _tensor(shift)
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next *n* points: (n, dimension) of *dtype*, without it of the default dtype.

        >>> import tensorbus as torch
        >>> torch.quasirandom.SobolEngine(1).draw(4).T
        tensor([[0.0000, 0.5000, 0.7500, 0.2500]])
        """
        n = operator.index(n)
        if n < 0:
            raise RuntimeError(f"draw() takes a number of points that is not negative, not {n}")
        points = self._next(n)
        result = _tensor(points / 2.0**self.MAXBIT).to(dtype or get_default_dtype())
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next ``2**m`` points, as long as their total is a power of two: else ValueError.

        >>> import tensorbus as torch
        >>> torch.quasirandom.SobolEngine(1).draw_base2(2).shape
        torch.Size([4, 1])
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave the next *n* points out, and return the engine.

        >>> import tensorbus as torch
        >>> torch.quasirandom.SobolEngine(1).fast_forward(2).draw()
        tensor([[0.7500]])
        """
        self.quasi = _tensor(self._point_at(self.num_generated + n - 1)) if n else self.quasi
        self.num_generated += n
        return self

    def reset(self) -> SobolEngine:
        """Begin again with the first point, and return the engine.

        >>> import tensorbus as torch
        >>> engine = torch.quasirandom.SobolEngine(1)
        >>> bool(engine.draw(5)[0] == engine.reset().draw())
        True
        """
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"]
        shown += ["scramble=True"] if self.scramble else []
        shown += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(shown)})"

    def _next(self, n: int) -> np.ndarray:
        """The integers of the next points. Each differs from the last by one direction number."""
        steps = np.arange(self.num_generated, self.num_generated + n)
        # Point k changes the direction of the lowest bit that k has: that of k - 1's lowest zero.
        lowest = np.frexp((steps & -steps).astype(np.float64))[1] - 1
        changes = np.ascontiguousarray(self.sobolstate.numpy().T)[np.maximum(lowest, 0)]
        changes[steps == 0] = 0
        if n:
            changes[0] ^= self.quasi.numpy()
            for before, point in pairwise(changes):
                point ^= before
            self.quasi = _tensor(changes[-1].copy())
        self.num_generated += n
        return changes

    def _point_at(self, index: int) -> np.ndarray:
        gray = index ^ (index >> 1)
        bits = [b for b in range(self.MAXBIT) if gray >> b & 1]
        directions = self.sobolstate.numpy()[:, bits]
        return np.bitwise_xor.reduce(directions, 1) ^ self.shift.numpy()

    def _scrambled(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The directions times random matrices modulo 2, and a random shift."""
        generator = None  # the one that manual_seed seeds
        if self.seed is not None:
            generator = Generator().manual_seed(self.seed)
        n = self.MAXBIT

        def bits(*shape: int) -> np.ndarray:
            found = FUNCTIONS["randint"](2, shape, generator=generator, device="cpu")
            return found.numpy()

        weights = 1 << np.arange(n - 1, -1, -1)
        shift = bits(self.dimension, n) @ weights
        mixing = np.tril(bits(self.dimension, n, n), -1) + np.eye(n, dtype=np.int64)
        digits = state[:, None, :] // weights[:, None] & 1  # (dimension, digit, direction)
        # Sums of 30 ones are exact in float32, whose products are quick.
        mixed = mixing.astype(np.float32) @ digits.astype(np.float32)
        return np.einsum("djk,j->dk", mixed.astype(np.int64) & 1, weights), shift


def _tensor(values: Any) -> Tensor:
    return FUNCTIONS["from_numpy"](values)


__all__ = ["SobolEngine"]

show_pages(__name__, [("SobolEngine", SobolEngine)])
