"""The recorded results: a text file with one line for each array of a program."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from tensorbus_conformance.kinks.departures import departure


# -- the file --------------------------------------------------------------------------------
@functools.cache
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """What PyTorch gives, by program and name: arrays in the order of the elements, or words."""
    file = resources.files(__package__) / "expected.txt"
    return parse(file.read_text(encoding="utf-8").splitlines())


def parse(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A table from its lines; those that begin with ``#`` are remarks."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            where, _, values = line.partition(": ")
            key, _, name = where.partition(" ")
            found.setdefault(key, {})[name] = read(values)
    return found


def read(text: str) -> Any:
    """An array or a word, as ``show`` writes them."""
    if text[:1].isalpha() and not text.startswith(("nan", "inf")):
        return text
    numbers: list[float] = []
    for part in text.split():
        value, _, times = part.partition("x")
        numbers += [float(value)] * int(times or 1)
    return np.array(numbers, np.float32)


def show(value: Any) -> str:
    """An array or a word as it stands in the file: seven digits, repetitions counted."""
    if isinstance(value, str):
        return value
    runs: list[tuple[str, int]] = []
    for number in np.asarray(value, np.float32).reshape(-1):
        text = f"{float(number):.7g}"
        if runs and runs[-1][0] == text:
            runs[-1] = text, runs[-1][1] + 1
        else:
            runs.append((text, 1))
    return " ".join(text if n == 1 else f"{text}x{n}" for text, n in runs)


# -- comparison ------------------------------------------------------------------------------
def expected(key: str, name: str) -> tuple[Any, float | None]:
    """(what a result has to be, a number that may stand where that has NaN).

    The first is None where PyTorch has no answer: derivatives that it does not implement.
    """
    want, nan = recorded()[key].get(name), None
    found = departure(key, name)
    if found is not None:
        want, nan = read(found.ours) if found.ours else want, found.nan
    if isinstance(want, str) and want.startswith("error") and name != "value":
        want = None
    return want, nan


def agree(found: Any, want: Any, tolerance: float, nan: float | None = None) -> bool:
    """Whether two results are the same word, or the same numbers but for rounding."""
    if isinstance(found, str) or isinstance(want, str):
        return isinstance(found, str) and isinstance(want, str) and found == want
    return np.size(found) == np.size(want) and not differing(found, want, tolerance, nan).any()


def differing(found: Any, want: Any, tolerance: float, nan: float | None = None) -> Any:
    """Where two arrays of one size differ; *nan* may stand where *want* has NaN."""
    found, want = (np.asarray(a, np.float64).reshape(-1) for a in (found, want))
    if nan is not None:
        want = np.where(np.isnan(want) & ~np.isnan(found), nan, want)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - want) <= tolerance * (np.abs(want) + 1)
    return ~(near | (found == want) | (np.isnan(found) & np.isnan(want)))
