"""The report of a comm: as a device's, but for its name and the command that repeats a case."""

from __future__ import annotations

from dataclasses import dataclass

from tensorbus_conformance.comms.case import LEVELS
from tensorbus_conformance.report import Report, Result


@dataclass
class CommReport(Report):
    """All results of one run on one comm; ``backend`` is its name with ``comm:`` before it."""

    options: str = ""
    """How the ranks were started, as the command takes it, with a space before it."""

    @property
    def name(self) -> str:
        """The comm's name."""
        return self.backend.removeprefix("comm:")

    @property
    def target(self) -> str:
        """How reports name the comm."""
        return self.backend

    @property
    def whole(self) -> bool:
        """Whether all of the profile ran, and not a soak in its place."""
        return self.pattern is None and self.levels == LEVELS and not self.seeds

    def repro(self, result: Result) -> str:
        """The command that runs the case of *result* again."""
        case, _, ranks = result.id.rpartition("/")
        size = ranks.removesuffix("-ranks")
        how = f"--comm {self.name} --ranks {size}{self.options}"
        return f"tensorbus conformance {how} -k '{case}'"
