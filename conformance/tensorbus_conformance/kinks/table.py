"""The recorded results: a text file with one line for each array of a program."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np

Expected = dict[str, Any]
"""By name as in ``program.Found``: an array of numbers in the order of the elements, or a word."""


@functools.cache
def recorded() -> Mapping[str, Expected]:
    """What PyTorch gives, by program and name."""
    file = resources.files(__package__) / "expected.txt"
    return parse(file.read_text(encoding="utf-8").splitlines())


NONE = object()
"""Stands where PyTorch has no answer to compare with."""


def expected(key: str) -> Expected:
    """The results of a program that are compared: where PyTorch refuses a gradient, none is."""
    found = recorded()[key]
    return {
        name: NONE if name != "value" and str(value).startswith("error") else value
        for name, value in found.items()
    }


def parse(lines: Iterable[str]) -> dict[str, Expected]:
    """A table from its lines; those that begin with ``#`` are remarks."""
    found: dict[str, Expected] = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            where, _, values = line.partition(": ")
            key, _, name = where.partition(" ")
            found.setdefault(key, {})[name] = _read(values)
    return found


def _read(text: str) -> Any:
    if text[:1].isalpha() and not text.startswith(("nan", "inf")):
        return text
    numbers: list[float] = []
    for part in text.split():
        value, _, times = part.partition("x")
        numbers += [float(value)] * int(times or 1)
    return np.array(numbers, np.float32)


def show(value: Any) -> str:
    """An array or a word as it stands in the file; repetitions are counted."""
    if isinstance(value, str):
        return value
    runs: list[tuple[str, int]] = []
    for number in np.asarray(value, np.float32).reshape(-1):
        text = _number(number)
        if runs and runs[-1][0] == text:
            runs[-1] = text, runs[-1][1] + 1
        else:
            runs.append((text, 1))
    return " ".join(text if n == 1 else f"{text}x{n}" for text, n in runs)


def _number(value: np.float32) -> str:
    """Seven digits: enough for what is compared, and the same from every computer."""
    return f"{float(value):.7g}"


RELATIVE, ABSOLUTE = 2e-5, 2e-6
"""How far results may lie from the table's: kinks are told apart, not digits."""


def agree(found: Any, expected: Any) -> bool:
    """Whether two results are the same word, or the same numbers but for rounding."""
    if isinstance(found, str) or isinstance(expected, str):
        return isinstance(found, str) and isinstance(expected, str) and found == expected
    found = np.asarray(found, np.float64).reshape(-1)
    return found.shape == expected.reshape(-1).shape and not differing(found, expected).any()


def differing(found: Any, expected: Any) -> Any:
    """Where two arrays differ."""
    found, expected = (np.asarray(a, np.float64).reshape(-1) for a in (found, expected))
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= RELATIVE * np.abs(expected) + ABSOLUTE
    return ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
