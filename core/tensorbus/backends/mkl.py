"""``torch.backends.mkl``: whether tensorbus itself computes with Intel's MKL.

>>> import tensorbus
>>> tensorbus.backends.mkl.is_available()
False
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.backends._flags import Verbose

__all__ = ["is_available", "verbose"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether tensorbus is built with MKL: False; NumPy may be."""
    return False


class verbose(Verbose):
    """A block in which MKL would tell what it does; nothing is told, for it is not used.

    >>> from tensorbus.backends import mkl
    >>> with mkl.verbose(mkl.VERBOSE_ON):
    ...     pass
    """


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
