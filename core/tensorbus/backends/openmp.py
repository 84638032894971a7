"""``torch.backends.openmp``: whether tensorbus itself computes with OpenMP.

>>> import tensorbus
>>> tensorbus.backends.openmp.is_available()
False
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether tensorbus is built with OpenMP: False; NumPy may be."""
    return False


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
