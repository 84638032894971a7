"""The report of a comm: as a device's, but for its name and the command that repeats a case."""

from __future__ import annotations

from dataclasses import dataclass

from tensorbus_conformance.report import Report, Result


@dataclass
class CommReport(Report):
    """All results of one run on one comm; ``backend`` is its name with ``comm:`` before it."""

    @property
    def name(self) -> str:
        """The comm's name."""
        return self.backend.removeprefix("comm:")

    @property
    def target(self) -> str:
        """How reports name the comm."""
        return self.backend

    def repro(self, result: Result) -> str:
        """The command that runs the case of *result* again."""
        case, _, ranks = result.id.rpartition("/")
        if not ranks.endswith("-ranks"):
            return f"tensorbus conformance --comm {self.name} -k '{result.id}'"
        size = ranks.removesuffix("-ranks")
        return f"tensorbus conformance --comm {self.name} --ranks {size} -k '{case}'"
