"""Which comm moves the tensors of which device, where the user names some, all or none."""

from __future__ import annotations

import re

from tensorbus import discovery
from tensorbus.plugin.comm import HOST, Launch
from tensorbus.plugin.hooks import CommSpec

ANY = "*"


class UnknownBackendError(AssertionError, RuntimeError):
    """No plugin declares a comm of that name: PyTorch raises an AssertionError."""


def parse(backend: str | None) -> dict[str, str]:
    """``"tcp"`` or ``"cpu:tcp,cuda:other"`` as a table from device type to comm; None is empty."""
    if backend is None or backend == "" or backend == "undefined":
        return {}
    if not isinstance(backend, str):
        raise ValueError(f"Backend constructor parameter must be string-ish, not {backend!r}")
    text = backend.lower()
    if re.fullmatch(r"[\w-]+", text):
        return {ANY: text}
    table: dict[str, str] = {}
    for pair in text.split(","):
        device, colon, name = pair.strip().partition(":")
        if not (device and colon and name) or ":" in name:
            raise ValueError(
                f"The custom backend string argument is invalid: {backend}. Expected one name, "
                f"such as 'tcp', or pairs of a device and a name, such as 'cpu:tcp,cuda:tcp'"
            )
        device = _own_type(device)
        if device in table:
            raise ValueError(f"Duplicate device type {device} in backend string: {backend}")
        table[device] = name
    return table


def _own_type(device: str) -> str:
    """A device type's own name, where another was given; any name else, which need not be here."""
    try:
        return discovery.check_name(device)
    except RuntimeError:
        return device


def specs() -> list[CommSpec]:
    """The specs of the comms here, the highest priority first; broken ones are left out."""
    found = []
    for name in discovery.comm_names():
        try:
            found.append(discovery.comm_spec(name))
        except RuntimeError:
            continue
    return sorted(found, key=lambda s: (-s.priority, s.name))


def launched() -> tuple[CommSpec, Launch] | None:
    """The comm whose own launcher started this process, and what it said."""
    for spec in specs():
        launch = spec.launched_by()
        if launch is not None:
            return spec, launch
    return None


def for_device(type: str) -> str | None:
    """The comm for a device type where the user named none: the first that can be loaded."""
    for spec in specs():
        if spec.priority >= 0 and type in spec.devices and _loads(spec):
            return spec.name
    return None


def for_host() -> str:
    """The comm for host memory where the user named none."""
    found = for_device(HOST)
    if found is None:
        known = ", ".join(discovery.comm_names()) or "none"
        raise RuntimeError(
            f"no communication plugin can be used ({known} declared): `tensorbus doctor` says why"
        )
    return found


def needed(table: dict[str, str]) -> list[str]:
    """The own names of the comms in a table, each once; ``RuntimeError`` where one can't be used.

    A program may name a comm for a type of device that is not here, as PyTorch's programs do in
    ``"cpu:gloo,cuda:..."``. Nothing will travel over that one, so it need not work.
    """
    names: dict[str, None] = {}
    for type, name in table.items():
        spec = _spec_of(name)
        if type in (ANY, HOST, "cpu") or _is_here(type) or _loads(spec):
            discovery.comm(name)
            names[spec.name] = None
    if table and not names:
        discovery.comm(next(iter(table.values())))
    return list(names)


def _spec_of(name: str) -> CommSpec:
    try:
        return discovery.comm_spec(name)
    except RuntimeError as error:
        if name in discovery.comm_names() or name in discovery.comm_aliases():
            raise
        raise UnknownBackendError(f"Unknown backend type {name}: {error}") from None


def _is_here(type: str) -> bool:
    try:
        return discovery.backend(type).device_count() > 0
    except RuntimeError:
        return False


def _loads(spec: CommSpec) -> bool:
    try:
        discovery.comm(spec.name)
    except RuntimeError:
        return False
    return True
