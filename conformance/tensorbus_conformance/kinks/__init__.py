"""Kinks: values and derivatives where a function has a corner, a limit or an end.

There a derivative is a convention, and the convention is PyTorch's. The programs stand in
``pointwise``, ``reductions``, ``windows``, ``distances``, ``losses`` and ``half``;
``expected.txt`` holds what PyTorch gives for them on a CPU, and ``departures`` where it is not
followed.
``scripts/kinks`` checks the file against an installed PyTorch, and writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorbus_conformance.kinks import distances, half, losses, pointwise, reductions, windows
from tensorbus_conformance.kinks.program import Program


def programs() -> Iterator[Program]:
    """Every program, in the order of the table."""
    for module in (pointwise, reductions, windows, distances, losses, half):
        yield from module.programs()
