"""SciPy's special functions, where it is installed."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def module() -> Any:
    """SciPy's module, or None."""
    try:
        from scipy import special
    except ImportError:
        return None
    return special
