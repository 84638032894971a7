"""Where our results are others than array-api-strict's, each with its reason.

``docs/exchange.md`` tells the user of those that the standard states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Difference(NamedTuple):
    """A difference: which failures it covers, an example, and why it stays."""

    what: str
    example: str
    pattern: str
    """Of the program and what was wrong with it."""
    why: str
    dtypes: str = ""
    """The dtypes of x that it is confined to; every dtype if empty."""

    def covers(self, failure: str, names: Mapping[str, Any]) -> bool:
        x = names.get("x")
        within = not self.dtypes or (isinstance(x, np.ndarray) and x.dtype.name in self.dtypes)
        return within and re.match(self.pattern, failure, re.S) is not None


DIFFERENCES = (
    Difference(
        "sums of uint8 are int64",
        "xp.sum(xp.asarray([1], dtype=xp.uint8))",
        r"xp\.(sum|prod|cumulative_sum|cumulative_prod)\((?!.*dtype=xp\.(int8|int16|float64)\))",
        "uint64 is a dtype for storage, as in PyTorch: nothing could be computed with the sum.",
        "uint8",
    ),
    Difference(
        "operators: arrays without dimensions count for less",
        "xp.asarray([1], dtype=xp.int8) + xp.asarray(2, dtype=xp.int16)",
        r"xp\.asarray\(\[1\]",
        "PyTorch's rule, under PyTorch's names; the namespace's functions follow the standard.",
    ),
    Difference(
        "the operator @ takes matrices of one dtype",
        "xp.ones((1, 1), dtype=xp.int8) @ xp.ones((1, 1), dtype=xp.int16)",
        r"(i @ j|xp\.ones\(\(1, 1\), dtype=xp\.int8\) @)",
        "PyTorch's rule, under PyTorch's name; xp.matmul follows the standard.",
    ),
    Difference(
        "expm1 of infinite complex numbers",
        "xp.expm1(xp.asarray(complex(float('inf'), 0.0)))",
        r"xp\.expm1\(.*nan location mismatch",
        "Ours is what the standard's table says; NumPy, and so array-api-strict, has NaN parts.",
    ),
    Difference(
        "reciprocal of complex numbers beside 0",
        "xp.reciprocal(xp.asarray(1e-320j))",
        r"xp\.reciprocal\(.*nan location mismatch",
        "1 / x, as PyTorch's; the standard has no table. NumPy's reciprocal is not its own 1 / x.",
    ),
)
