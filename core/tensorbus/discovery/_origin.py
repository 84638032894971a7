"""Names the plugin that an exception of a kernel comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorbus import discovery
from tensorbus.discovery.metadata import BACKENDS, VARIABLE

if TYPE_CHECKING:
    from tensorbus._device.device import device as Device
    from tensorbus.discovery.metadata import Record

_OWN = "tensorbus"


def note_origin(error: Exception, op: str, device: Device) -> None:
    """See ``tensorbus.discovery.note_origin``."""
    record = _raising(error) or _owning(device.type)
    if record is None:
        return
    note = (
        f"{op} on device {device} ran in the plugin {record.name!r} of {record.owner}. If nothing "
        f"is wrong with the call, update or remove {record.distribution}, leave it out with "
        f"{VARIABLE}, or use another device"
    )
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _raising(error: Exception) -> Record | None:
    """The plugin whose code is innermost in the traceback: a backend's or an overlay's."""
    packages = {
        r.entry_point.module.partition(".")[0]: r
        for r in discovery.records()
        if r.entry_point is not None and r.distribution != _OWN
    }
    found, step = None, error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "")
        found = packages.get(module.partition(".")[0], found)
        step = step.tb_next
    return found


def _owning(type: str) -> Record | None:
    """The plugin of a device type: kernels that are no Python code leave no frame."""
    records = [r for r in discovery.records(BACKENDS) if r.name == type]
    return records[0] if records and records[0].distribution != _OWN else None
