"""A case of the comm suite: what every rank does, and what their accounts must agree on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorbus.plugin import dtype

if TYPE_CHECKING:
    from tensorbus_conformance.comms.rank import Rank

LEVELS = ("C0", "C1", "C2")
"""C0 is life cycle and messages, C1 collectives, C2 faults."""

Check = Callable[["Rank"], None]

Accounts = Sequence[dict[str, Any]]
"""What each rank reported, by rank; empty for one that a fault ended."""


@dataclass(frozen=True)
class Fault:
    """What the parent does to one rank when all have come to the point ``fault``."""

    action: str
    """``kill`` ends its process, ``hang`` stops it."""
    delay: float = 0.15
    """Seconds after the point."""
    first: bool = False
    """Whether it is rank 0 and not the last one."""

    def victim(self, size: int) -> int:
        """The rank it happens to."""
        return 0 if self.first else size - 1


@dataclass(frozen=True)
class CommCase:
    """One thing that the contract of comms says."""

    id: str
    """``level/op/dtype/variant``, such as ``C1/all_reduce/float32/sum-1009``."""
    family: str
    check: Check
    """Runs on every rank; what is wrong is reported to the rank or raised."""
    dtypes: tuple[dtype, ...] = ()
    """What the comm must claim for the case to run."""
    least: int = 1
    """The fewest ranks it makes sense for."""
    judge: Callable[[Accounts], None] | None = None
    """Looks at all ranks' accounts in the parent; raises ``Mismatch``."""
    fault: Fault | None = None
    ends: bool = False
    """Whether the processes must end by themselves after it, and leave nothing behind."""
    processes: bool = False
    """Whether it needs ranks that are processes."""
    chief: bool = True
    """Whether it belongs to the profile ``core``."""

    @property
    def apart(self) -> bool:
        """Whether it needs ranks of its own."""
        return self.fault is not None or self.ends

    @property
    def level(self) -> str:
        return self.id.partition("/")[0]

    @property
    def op(self) -> str:
        return self.id.split("/")[1]

    def instance(self, size: int) -> str:
        """The id of the case on so many ranks."""
        return f"{self.id}/{size}-ranks"
