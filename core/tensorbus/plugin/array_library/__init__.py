"""``ArrayLibraryBackend``: the base class for a device that has a NumPy-like module.

A subclass names the module and the device; every primitive is then there, written with the
module's own functions. A table per family says which::

    class MyBackend(ArrayLibraryBackend):
        name = "mydevice"
        xp = mymodule

The device overrides a kernel by adding it to ``tables`` in front of the common ones, or by
overriding ``kernel``. See ``docs/write-a-backend.md``.
"""

from __future__ import annotations

from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.array_library.base import ArrayLibraryBackend
from tensorbus.plugin.array_library.table import Table, into, quiet, with_own

__all__ = ["ArrayLibraryBackend", "Table", "into", "quiet", "quietly", "with_own"]
