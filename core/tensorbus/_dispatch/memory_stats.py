"""What backends tell of their devices' memory, by PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict

from tensorbus import discovery
from tensorbus._base import registered
from tensorbus.plugin.backend import Backend

_NAMES = {
    "allocated": "allocated_bytes.all.current",
    "allocated_peak": "allocated_bytes.all.peak",
    "reserved": "reserved_bytes.all.current",
    "reserved_peak": "reserved_bytes.all.peak",
}
"""Those of ``MEMORY_STATS`` that PyTorch shows as they are."""

_counted_from: dict[tuple[str, int], tuple[int, int]] = {}
"""What each device had given and got back when the program let it count anew."""


def _told(backend: Backend, index: int) -> dict[str, int]:
    ask = discovery.offered(backend, "memory_stats")
    found: dict[str, int] | None = None if ask is None else ask(index)
    if found is None:
        used = backend.memory_allocated(index)
        found = {} if used is None else {"allocated": used}
    return found


def figures(backend: Backend, index: int) -> OrderedDict[str, int]:
    """The figures that are known of a device, sorted by their names."""
    told = _told(backend, index)
    found = {name: told[own] for own, name in _NAMES.items() if own in told}
    if "allocated_total" in told and "allocated" in told:
        given, got_back = _counted_from.get((backend.name, index), (0, 0))
        found["allocated_bytes.all.allocated"] = told["allocated_total"] - given
        found["allocated_bytes.all.freed"] = told["allocated_total"] - told["allocated"] - got_back
    return OrderedDict(sorted(found.items()))


def reset_peaks(backend: Backend, index: int) -> None:
    """Let the peaks begin again, where the backend keeps them."""
    reset = discovery.offered(backend, "reset_memory_peaks")
    if reset is not None:
        reset(index)


def reset_accumulated(backend: Backend, index: int) -> None:
    """Let what was allocated and freed be counted anew."""
    told = _told(backend, index)
    if "allocated_total" in told and "allocated" in told:
        total = told["allocated_total"]
        _counted_from[backend.name, index] = total, total - told["allocated"]


def free_and_total(backend: Backend, index: int) -> tuple[int, int]:
    """The free bytes of a device, and all; RuntimeError where they are not known."""
    free, total = _told(backend, index).get("free"), backend.capabilities(index).memory_total
    if free is None or total is None:
        raise RuntimeError(
            f"device {backend.name}:{index} does not tell how much of its memory is free; "
            "memory_stats() has what it tells"
        )
    return free, total


@registered.device_forgotten.listen
def _forget(type: str) -> None:
    for key in [key for key in _counted_from if key[0] == type]:
        del _counted_from[key]
