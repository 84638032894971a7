"""``torch.backends.cusparselt``: whether sparse products use a library of this name; they do not.

>>> import tensorbus
>>> tensorbus.backends.cusparselt.is_available()
False
"""

from __future__ import annotations

from tensorbus._base.page import show_pages as _show_pages

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available() -> bool:
    """Whether the library is used: False."""
    return False


def version() -> int | None:
    """The version of the library: None, since none is used."""
    return None


def get_max_alg_id() -> int | None:
    """The number of its ways to multiply: None."""
    return None


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
