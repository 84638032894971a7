"""What must happen when an index points outside: a fault, at once or at the next read."""

from __future__ import annotations

from collections.abc import Callable

from tensorbus.plugin import IndexFault
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial


def expect_fault(t: Trial, call: Callable[[], object], values: set[int], dim: int, n: int) -> None:
    """Raise ``Mismatch`` unless *call* faults over one of *values*, and the device goes on."""
    fault = _fault_of(t, call)
    if fault is None:
        when = "at once" if t.traits.host_sync else "by the next synchronize"
        shown = ", ".join(map(str, sorted(values)))
        raise Mismatch(f"index {shown} outside dimension {dim} of size {n}: no IndexFault {when}")
    if fault.value not in values or fault.n != n or (t.traits.host_sync and fault.dim != dim):
        raise Mismatch(
            f"the fault says value {fault.value}, dim {fault.dim}, n {fault.n}; "
            f"expected one of {sorted(values)}, dim {dim}, n {n}"
        )
    # The fault was raised: it must not be raised again to whoever reads next.
    t.backend.synchronize(t.index)


def _fault_of(t: Trial, call: Callable[[], object]) -> IndexFault | None:
    try:
        call()
    except IndexFault as fault:
        return fault
    if t.traits.host_sync:
        return None
    try:
        t.backend.synchronize(t.index)
    except IndexFault as fault:
        return fault
    return None


def expect_fault_at_read(
    t: Trial, call: Callable[[], object], read: Callable[[object], object]
) -> None:
    """Raise ``Mismatch`` unless a pending fault surfaces when a result is read."""
    try:
        read(call())
    except IndexFault:
        return
    raise Mismatch("an index outside its dimension: reading the result raised no IndexFault")
