"""``torch.backends.mps``: whether there is a backend for devices of type ``mps``.

>>> import tensorbus
>>> device = "mps" if tensorbus.backends.mps.is_available() else "cpu"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus import accelerator, discovery
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages

__all__ = ["is_available", "is_built"]

_TYPE = __name__.rpartition(".")[2]


def is_available() -> bool:
    """Whether a device of type ``mps`` can be used here; never raises."""
    return accelerator.is_available(_TYPE)


def is_built() -> bool:
    """Whether a backend for devices of type ``mps`` is installed; it may find no device."""
    return _TYPE in discovery.backend_names()


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
