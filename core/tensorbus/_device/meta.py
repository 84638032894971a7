"""The device ``meta``: what shape, dtype and strides a program's tensors have, without values.

It needs no hardware and is part of the library, so discovery has it wherever that is installed.
"""

from __future__ import annotations

from tensorbus.plugin import BackendSpec, hookimpl
from tensorbus.plugin.shapes_only import ShapeBackend


class MetaBackend(ShapeBackend):
    """Tensors of any size, in no memory."""

    name = "meta"


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """The backend of device type ``meta``."""
    return BackendSpec(name="meta", load=MetaBackend, api=2)
