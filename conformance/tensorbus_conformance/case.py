"""A case: an id, what it needs, and a check that raises where the contract is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tensorbus.plugin import dtype
from tensorbus_conformance.trial import Trial

LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5")
"""L0 is the runtime, L1 the primitives; through the frontend: L2 dtypes, promotion, layouts and
errors of views and primitives, L3 derivatives, L4 ops composed of others, L5 layers, optimisers,
random streams and serialisation."""


@dataclass(frozen=True)
class Case:
    """One thing that the contract says, checked on one device."""

    id: str
    """``level/op/dtype/variant``, such as ``L1/add/float32/transposed``; unique, and stable."""
    family: str
    """The group of the summary table that the case is counted in."""
    check: Callable[[Trial], None]
    """Returns, or raises ``Mismatch`` (fail) or ``Unsupported`` (declared)."""
    dtypes: tuple[dtype, ...] = ()
    """What the device must claim for the case to run."""

    @property
    def level(self) -> str:
        return self.id.partition("/")[0]

    @property
    def op(self) -> str:
        return self.id.split("/")[1]

    @property
    def variant(self) -> str:
        return self.id.rpartition("/")[2]
