"""Profiles: which of the cases a device has to pass to be good for something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tensorbus_conformance import formats
from tensorbus_conformance.case import LEVELS, Case

MAIN_DTYPES = frozenset((formats.FLOAT32, formats.INT64, formats.BOOL))
"""What programs compute in; the profiles core and training try ops in these."""
_WHOLE = frozenset((formats.BOOL, *formats.INTS))

# A device that compiles spends a tenth of a second or two on each new kernel, and every dtype and
# rank is one: of the primitives these profiles have all variants of float32, and these of others.
_CHIEF = {
    "reductions": frozenset(["0-dim-result", "edges"]),
    "scans": frozenset(["edges"]),
}
_CHIEF_ELSEWHERE = frozenset(
    "contiguous edges round-trip set-strided add-strided add-repeats exact".split()
)
_OF_INTEGERS = frozenset("strided accumulates ends steady changed".split())
"""These too, where the operands are whole numbers."""
_OF_MAIN = frozenset(
    "large large-broadcast held deep sharp window one-element apart threads parameters layouts "
    "twice fault-places fault-named fault-first fault-scalar".split()
)
"""And these, in the dtypes that programs compute in."""

_COMPILED = frozenset(
    "compiled compiled-one compiled-grad1 compiled-grad2 compiled-special "
    "compiled-special-grad1".split()
)
"""One sample of each composed op, in one layout, until it is compiled; ``full`` has all."""


def _chief(case: Case) -> bool:
    if case.level not in ("L0", "L1"):
        if case.variant.startswith("compiled-") and case.variant not in _COMPILED:
            return False
        return MAIN_DTYPES.issuperset(case.dtypes)
    if case.level == "L0" and case.variant == "sharp":
        return True
    chief = _CHIEF.get(case.family, _CHIEF_ELSEWHERE)
    if case.variant in chief or all(d is formats.FLOAT32 for d in case.dtypes):
        return True
    if case.variant in _OF_INTEGERS and _WHOLE.issuperset(case.dtypes):
        return True
    return case.variant in _OF_MAIN and MAIN_DTYPES.issuperset(case.dtypes)


@dataclass(frozen=True)
class Profile:
    """A choice of cases with a name."""

    name: str
    purpose: str
    levels: tuple[str, ...]
    has: Callable[[Case], bool] = _chief
    large: bool = False
    """Whether it has the cases of more than 2**31 elements, and these alone."""

    def choose(self, cases: tuple[Case, ...]) -> list[Case]:
        """The cases that belong to it, in their order."""
        return [
            case
            for case in cases
            if case.level in self.levels
            and (case.family == "large") == self.large
            and self.has(case)
        ]


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("core", "what inference needs", ("L0", "L1", "L2", "L4")),
        Profile("training", "core, derivatives, layers and optimisers", LEVELS),
        Profile("full", "every dtype and variant", LEVELS, lambda case: True),
        Profile("large", "more than 2**31 elements", LEVELS, lambda case: True, large=True),
    )
}


def find(name: str) -> Profile:
    """The profile of that name; ``ValueError`` names those there are."""
    if name not in PROFILES:
        raise ValueError(f"unknown profile {name}; there are {', '.join(PROFILES)}")
    return PROFILES[name]
