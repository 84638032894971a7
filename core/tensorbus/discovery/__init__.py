"""Finds plugins by their entry points, loads one when its name is first asked for, and keeps why
a plugin can't be used.

Nothing happens at import. The metadata of installed distributions is read when a device is first
named; an entry is imported when its own name is. A plugin that fails, whatever it raises, is a
record and never hinders the others.
"""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tensorbus._device.device import device as Device
    from tensorbus.discovery.loader import Loader
    from tensorbus.discovery.metadata import Record
    from tensorbus.plugin.backend import Backend
    from tensorbus.plugin.comm import Comm, CommContext
    from tensorbus.plugin.hooks import CommSpec, OverlaySpec
    from tensorbus.plugin.overlay import Overlay

_lock = threading.RLock()
_loader: Loader | None = None


def _get() -> Loader:
    global _loader
    with _lock:
        if _loader is None:
            # Here and not above: reading metadata needs importlib.metadata and pluggy, which cost
            # a program that only imports tensorbus some ten milliseconds.
            module = importlib.import_module("tensorbus.discovery.loader")
            _loader = module.Loader()
        return _loader


def backend(type: str) -> Backend:
    """The backend of a device type, loaded on first use.

    Raises ``RuntimeError`` for a type that no plugin has (naming those that exist) and for one
    whose plugin can't be used (with the reason as its cause, and what to do).

    >>> from tensorbus import discovery
    >>> discovery.backend("cpu").device_count()
    1
    """
    with _lock:
        return _get().backend(type)


def check_name(type: str) -> str:
    """The device type's own name, where *type* may be a further name that its plugin declares.

    Raises the ``RuntimeError`` of ``backend`` for a type that no plugin has. Loads no vendor
    library; where no plugin has *type* for its own name, the specs of all are read.
    """
    with _lock:
        return _get().check_name(type).name


def aliases(type: str) -> list[str]:
    """The further names that the plugin of a device type declares; loads no vendor library.

    >>> from tensorbus import discovery
    >>> discovery.aliases("cpu")
    []
    """
    with _lock:
        return _get().aliases_of(type)


def backend_names() -> list[str]:
    """The device types that plugins here declare, usable or not, sorted; loads none of them."""
    with _lock:
        return _get().backend_names()


def overlays(backend_type: str, op: str | None = None) -> list[OverlaySpec]:
    """The overlays for a backend, highest priority first; with *op*, those that have that op.

    An overlay that fails to load is left out with one warning. ``RuntimeError`` where two overlays
    have the same priority for one op (for *op* alone, where it is given).
    """
    with _lock:
        return _get().overlays(backend_type, op)


def overlay(spec: OverlaySpec) -> Overlay | None:
    """The overlay that a spec leads to, loaded on first use.

    None, after one warning that says why, where it can't be loaded.
    """
    with _lock:
        return _get().overlay(spec)


def probe_overlay(name: str) -> OverlaySpec:
    """Load the overlay of that name and no other; ``RuntimeError`` as ``backend``.

    For ``tensorbus devices``, in a process that an overlay may hang or kill.
    """
    with _lock:
        return _get().probe_overlay(name)


def overlay_names() -> list[str]:
    """The overlays that plugins here declare, usable or not, sorted; loads none of them."""
    with _lock:
        return _get().overlay_names()


def offered(backend: Backend, method: str) -> Callable[..., Any] | None:
    """A backend's own form of an optional method, or None where it has brought none.

    A name that a later version of the contract gave a meaning is no such method in a plugin that
    was written for an earlier one.

    >>> from tensorbus import discovery
    >>> discovery.offered(discovery.backend("cpu"), "share_host") is not None
    True
    >>> discovery.offered(discovery.backend("cpu"), "new_stream") is None
    True
    """
    with _lock:
        return _get().offered(backend, method)


def compilers(backend: Backend) -> list[Callable[..., Any]]:
    """Whose ``compile`` is asked for graphs on a backend: overlays, highest priority first, then
    its own.

    Overlays of equal priority are asked in the order of their names.

    >>> from tensorbus import discovery
    >>> discovery.compilers(discovery.backend("cpu"))
    []
    """
    with _lock:
        return _get().compilers(backend)


def comm(name: str) -> Callable[[CommContext], Comm]:
    """What makes the comm of that name or alias from a context, loaded on first use.

    ``RuntimeError`` as ``backend``.
    """
    with _lock:
        return _get().comm(name)


def comm_spec(name: str) -> CommSpec:
    """What a comm says of itself, without its vendor library; ``RuntimeError`` as ``backend``.

    A comm's own name comes before another's alias; of several that have an alias, the one with the
    highest priority has it.

    >>> from tensorbus import discovery
    >>> discovery.comm_spec("gloo").name
    'tcp'
    """
    with _lock:
        return _get().comm_spec(name)


def comm_names() -> list[str]:
    """The comms that plugins here declare, usable or not, sorted; loads none of them."""
    with _lock:
        return _get().comm_names()


def comm_aliases() -> list[str]:
    """The further names under which users may ask for a comm, sorted; loads no vendor library."""
    with _lock:
        return sorted(_get().comm_aliases())


def command(name: str) -> object:
    """The object of the entry *name* of ``tensorbus.commands``; ``RuntimeError`` as ``backend``."""
    with _lock:
        return _get().command(name)


def records(group: str | None = None) -> list[Record]:
    """What was found (in one entry-point group), what loaded, what failed and why."""
    with _lock:
        return _get().list_records(group)


def displaced(groups: list[str]) -> list[Record]:
    """The plugins that are left out because one of tensorbus' own has their name."""
    with _lock:
        return _get().displaced(groups)


def plugged(backend: Backend) -> AbstractContextManager[str]:
    """Make a backend object a device for a while, without a distribution: for tests.

    Inside the ``with`` block it is used under the device type that the block is given: the
    backend's name and a number that no other device has. Tensors made on it can't be used after the
    block. A backend that ``backend`` returned keeps its name.

    >>> import tensorbus
    >>> from tensorbus import discovery
    >>> with discovery.plugged(type(discovery.backend("cpu"))()) as name:
    ...     tensorbus.ones(2, device=name).sum().item()
    2.0
    """
    from tensorbus.discovery._plugged import plugged

    return plugged(backend)


def note_origin(error: Exception, op: str, device: Device) -> None:
    """Add a note to what a kernel raised that names the plugin, its distribution and the remedy.

    Nothing is added where only tensorbus' own plugins took part.
    """
    from tensorbus.discovery import _origin

    _origin.note_origin(error, op, device)


def reset() -> None:
    """Forget everything: the next question reads the metadata again. For tests."""
    global _loader
    with _lock:
        _loader = None
