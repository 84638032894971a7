"""Direction numbers of Sobol sequences, from Joe and Kuo's table.

``direction_numbers.npz`` has their polynomials and first numbers for 21,201 dimensions: S. Joe and
F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci.
Comput. 30 (2008) 2635-2654; https://web.maths.unsw.edu.au/~fkuo/sobol/ (BSD licence).
"""

from __future__ import annotations

import os

import numpy as np

_FILE = os.path.join(os.path.dirname(__file__), "direction_numbers.npz")


def of_dimensions(count: int, bits: int) -> np.ndarray:
    """(count, bits) int64: by which number a coordinate changes where bit k of the index does."""
    with np.load(_FILE) as file:
        polynomials = file["poly"][:count].astype(np.int64)
        first = file["vinit"][:count].astype(np.int64)
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    found = np.zeros((count, bits), np.int64)
    width = min(first.shape[1], bits)
    found[:, :width] = first[:, :width]
    found[0] = 1  # the first dimension has no polynomial
    for degree in np.unique(degrees[1:]):
        rows = np.flatnonzero((degrees == degree) & (np.arange(count) > 0))
        block = found[rows]
        for j in range(degree, bits):
            value = block[:, j - degree].copy()
            for k in range(degree):
                used = polynomials[rows] >> (degree - 1 - k) & 1
                value ^= used * (block[:, j - k - 1] << (k + 1))
            block[:, j] = value
        found[rows] = block
    return found << np.arange(bits - 1, -1, -1)
