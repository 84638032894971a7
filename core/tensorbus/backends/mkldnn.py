"""``torch.backends.mkldnn``: the flags ``enabled`` and ``deterministic``, which are kept and change
no result: no kernel here is of that library.

>>> import tensorbus
>>> tensorbus.backends.mkldnn.is_available(), tensorbus.backends.mkldnn.enabled
(False, True)
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.backends._flags import Flag, install

__all__ = ["is_available"]

enabled: bool
deterministic: bool


class _Mkldnn(ModuleType):
    enabled = Flag(True)
    deterministic = Flag(False)


install(__name__, _Mkldnn)


def is_available() -> bool:
    """Whether oneDNN is used: False."""
    return False


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
