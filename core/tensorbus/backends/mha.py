"""``torch.backends.mha``: whether attention layers may take a shorter way; there is one way here.

>>> import tensorbus
>>> tensorbus.backends.mha.get_fastpath_enabled()
True
"""

from __future__ import annotations

from tensorbus._base.page import show_pages as _show_pages

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """What ``set_fastpath_enabled`` was last told; True before."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Keep whether a shorter way is allowed; it changes no result."""
    global _enabled
    _enabled = value


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
