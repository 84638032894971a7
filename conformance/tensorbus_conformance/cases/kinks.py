"""Level 3: values and derivatives at kinks, limits and ends are those of the table."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.nn.functional
from tensorbus_conformance.bench import Bench, require
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.kinks import program, programs, table
from tensorbus_conformance.trial import Trial

FAMILY = "kinks"


def cases() -> Iterator[Case]:
    for one in programs():
        stem = f"L3/{one.op}/{one.dtype}/kink-{one.variant}"
        dtype = getattr(tensorbus, one.dtype)
        yield Case(stem, FAMILY, functools.partial(_check, one), (dtype,))


def _check(one: program.Program, t: Trial) -> None:
    bench = Bench(t)
    want, _ = table.expected(one.key, "value")
    if isinstance(want, str):  # the error depends on values
        require(t.traits.host_sync, "faults of values are not reported")
    found = program.evaluate(tensorbus, one, bench.device, bench.read)
    for line in differences(one, found):
        raise Mismatch(line)


def differences(one: program.Program, found: program.Found) -> Iterator[str]:
    """What differs from the table, a line for each result."""
    for name, got in found.items():
        want, nan = table.expected(one.key, name.removeprefix("plain "))
        if want is not None and not table.agree(got, want, one.tolerance, nan):
            yield f"{one.text}: {_named(name)} {_differs(got, want, one.tolerance, nan)}"


def _named(name: str) -> str:
    mark = " (create_graph=False)" if name.startswith("plain ") else ""
    name = name.removeprefix("plain ")
    if name == "value":
        return "the value"
    first, _, second = name.partition(".")
    if not second:
        return f"the gradient of {first}{mark}"
    return f"the gradient of {first} differentiated by {second}"


def _differs(got: Any, want: Any, tolerance: float, nan: float | None) -> str:
    if isinstance(got, str) or isinstance(want, str) or np.size(got) != np.size(want):
        return f"is {_short(got)}, expected {_short(want)}"
    wrong = np.flatnonzero(table.differing(got, want, tolerance, nan))
    at = wrong[0]
    both = f"{np.asarray(got).reshape(-1)[at]}, expected {want.reshape(-1)[at]}"
    return f"differs at {wrong.size} of {want.size} elements; at {at}: {both}"


def _short(value: Any) -> str:
    text = table.show(value)
    return text if len(text) < 80 else text[:77] + "..."
