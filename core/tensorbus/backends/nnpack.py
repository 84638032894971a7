"""``torch.backends.nnpack``: whether convolutions use a library of this name; they do not.

>>> import tensorbus
>>> tensorbus.backends.nnpack.is_available()
False
"""

from __future__ import annotations

from collections.abc import Generator

from tensorbus._base.leaving import block as _block
from tensorbus._base.page import show_pages as _show_pages

__all__ = ["flags", "is_available", "set_flags"]

_enabled = True


def is_available() -> bool:
    """Whether tensorbus is built with NNPACK: False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep whether the library may be used, and give what was kept; it changes nothing."""
    before = (globals()["_enabled"],)
    globals()["_enabled"] = _enabled
    return before


@_block
def flags(enabled: bool = False) -> Generator[None, None, None]:
    """A block in which ``set_flags`` has another value."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])
