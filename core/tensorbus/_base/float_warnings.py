"""NumPy's floating point warnings are kept from the user: NaN and inf are values here.

Setting NumPy's error state around each call would cost more than a small call itself, and setting
it for good would change the user's own NumPy. A warnings filter on the names of our modules costs
nothing until a floating point flag is raised. Whoever restores the list of filters (pytest does,
around each test) drops it, and a later ``error`` filter comes before it; so it is put back in front
where that costs nothing that counts: at the first call of an op, when a tensor is made, at the
start of a backward pass.
"""

from __future__ import annotations

import warnings

_MODULES = r"tensorbus(_\w+)?(\.|$)"
_ours: object = None


def silence() -> None:
    """Put the filter in front of all others, unless it is there."""
    global _ours
    filters = warnings.filters
    if not filters or filters[0] is not _ours:
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=_MODULES)
        _ours = warnings.filters[0]


silence()
