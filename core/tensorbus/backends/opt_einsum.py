"""``torch.backends.opt_einsum``: whether a library of this name orders ``einsum``; it does not.

>>> import tensorbus
>>> tensorbus.backends.opt_einsum.is_available()
False
"""

from __future__ import annotations

from typing import Any

from tensorbus._base.page import show_pages as _show_pages

__all__ = ["get_opt_einsum", "is_available"]

enabled = False
"""Kept for programs that set it; ``einsum`` orders its products itself."""
strategy = None
"""Kept for programs that set it."""


def is_available() -> bool:
    """Whether ``einsum`` asks the library: False."""
    return False


def get_opt_einsum() -> Any:
    """The library: None."""
    return None


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
