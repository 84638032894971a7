"""The rows of a contiguous matrix scaled, and added to others, in place.

Where a column is broadcast along rows, NumPy's loops take a hundred nanoseconds or more for each
row besides its elements. SciPy's loops over sparse matrices have a number for each row as well, and
cost no more than a pass over the elements.
"""

from __future__ import annotations

import numpy as np

from tensorbus.plugin import Array
from tensorbus_cpu_numpy import sparse


def scale(rows: Array, factors: Array) -> None:
    """Multiply each of the *rows* by its number of *factors*."""
    n, width = rows.shape
    found = sparse.loops()
    if found is None:
        np.multiply(rows, factors[:, None], out=rows)
    else:
        ends = np.arange(0, rows.size + 1, width)
        found.csr_scale_rows(n, width, ends, ends, rows.reshape(-1), factors)


def add_scaled(rows: Array, factors: Array, others: Array) -> None:
    """Add to each of the *rows* its number of *factors* times its row of *others*, or the one."""
    n, width = rows.shape
    found = sparse.loops()
    if found is None:
        rows += factors[:, None] * others
        return
    ends = np.arange(n + 1)
    each = ends[:n] if others.ndim > 1 else np.zeros(n, ends.dtype)
    flat = others.reshape(-1), rows.reshape(-1)
    found.csr_matvecs(n, others.size // width, width, ends, each, factors, *flat)
