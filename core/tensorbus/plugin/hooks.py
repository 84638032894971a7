"""The hooks through which a plugin says what it offers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pluggy

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.backend import API, Backend, Kernel
from tensorbus.plugin.comm import HOST, Comm, CommContext, Launch
from tensorbus.plugin.overlay import Overlay

PROJECT = "tensorbus"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
"""What can stand before the colon of ``npu:0``, and in ``TENSORBUS_PLUGINS``."""

SUPPORTED_API = range(1, API + 1)
"""The contract's versions whose plugins this tensorbus still takes."""


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """What discovery knows of a backend before any vendor library is imported."""

    name: str
    """The device type; equals the entry point's name."""
    load: Callable[[], Backend]
    """Imports what is needed and returns the backend."""
    probe: Callable[[], None] = lambda: None
    """Raises, with a sentence for the user, where the library or the device is missing."""
    api: int = API
    """The contract's version this backend was written for."""
    requires: tuple[str, ...] = ()
    """Python distributions the backend needs, as pip names them."""
    install: str = ""
    """The command that brings what is missing, such as ``pip install 'tensorbus[opencl]'``."""
    aliases: tuple[str, ...] = ()
    """Further names for the device type, such as ``gpu``. Since version 2."""

    def __post_init__(self) -> None:
        _check_aliases(self)


@dataclass(frozen=True, slots=True)
class OverlaySpec:
    """Kernels for a backend that the plugin does not own."""

    name: str
    backend: str
    """The device type whose kernels these are."""
    ops: tuple[str, ...]
    kernel: Callable[[str, dtype, int], Kernel | None] | None = None
    """``kernel(op, dtype, index)``, asked when the op first resolves; in place of *load*."""
    priority: int = 0
    """The highest wins; equal priorities for one op are an error."""
    supports: Callable[[str, dtype, int], bool] = lambda op, dtype, index: True
    api: int = API
    """The contract's version this overlay was written for."""
    load: Callable[[Backend], Overlay] | None = None
    """Imports what is needed and returns the overlay for a backend. Since version 2."""
    probe: Callable[[], None] = lambda: None
    """Raises, with a sentence for the user, where a library is missing. Since version 2."""
    requires: tuple[str, ...] = ()
    """Python distributions the overlay needs, as pip names them. Since version 2."""
    install: str = ""
    """The command that brings what is missing. Since version 2."""
    graphs: bool = False
    """Whether the overlay's ``compile`` is to be asked. Since version 2."""

    def __post_init__(self) -> None:
        if (self.load is None) == (self.kernel is None):
            raise TypeError(
                f"the OverlaySpec of {self.name!r} has {'both' if self.load else 'neither'} of "
                f"load and kernel: give it load, which returns a tensorbus.plugin.Overlay, or the "
                f"one function kernel"
            )


@dataclass(frozen=True, slots=True)
class CommSpec:
    """What discovery knows of a communication plugin before any vendor library is imported."""

    name: str
    """What ``init_process_group(backend=...)`` calls it; equals the entry point's name."""
    load: Callable[[], Callable[[CommContext], Comm]]
    """Imports what is needed and returns the class, or what else makes a comm from a context."""
    devices: tuple[str, ...] = (HOST,)
    """The device types it is a choice for where the user names no comm; ``"host"``: for any."""
    priority: int = 0
    """Among the choices for a device, the highest is taken; below 0: only when it is named."""
    launched_by: Callable[[], Launch | None] = lambda: None
    """Whether this process was started by the comm's own launcher, read from the environment."""
    needs_store: bool = True
    """Whether its ranks find each other through the store."""
    threads: bool = False
    """Whether its ranks are threads of one process."""
    launcher: Callable[[int], list[str]] | None = None
    """The words of the command that starts so many ranks of its own, such as mpiexec's."""
    probe: Callable[[], None] = lambda: None
    """Raises, with a sentence for the user, where the library or the hardware is missing."""
    api: int = API
    """The contract's version this comm was written for."""
    requires: tuple[str, ...] = ()
    """Python distributions the comm needs, as pip names them."""
    install: str = ""
    """The command that brings what is missing."""
    aliases: tuple[str, ...] = ()
    """Further names under which users may ask for the comm. Since version 2."""

    def __post_init__(self) -> None:
        _check_aliases(self)


def _check_aliases(spec: BackendSpec | CommSpec) -> None:
    wrong = [alias for alias in spec.aliases if not isinstance(alias, str)]
    if isinstance(spec.aliases, str) or wrong:
        raise TypeError(
            f"the aliases of {spec.name!r} are {spec.aliases!r}: give a tuple of texts, ('gpu',)"
        )
    for alias in spec.aliases:
        if not NAME.fullmatch(alias):
            raise ValueError(
                f"the alias {alias!r} of {spec.name!r} can't be asked for: it begins with a letter "
                f"and goes on with letters, digits, '_', '-' and '.'"
            )


@hookspec(firstresult=True)
def tensorbus_backend() -> BackendSpec:  # type: ignore[empty-body]
    """The backend this plugin offers (entry-point group ``tensorbus.backends``)."""


@hookspec(firstresult=True)
def tensorbus_overlay() -> OverlaySpec:  # type: ignore[empty-body]
    """The kernels this plugin adds to a backend (entry-point group ``tensorbus.overlays``)."""


@hookspec(firstresult=True)
def tensorbus_comm() -> CommSpec:  # type: ignore[empty-body]
    """The way to communicate this plugin offers (entry-point group ``tensorbus.comms``)."""
