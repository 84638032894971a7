"""Short programs, each with what PyTorch 2.13 answers: values, or the error's type and text.

The tables are text files beside this one. A program runs with ``torch`` bound to tensorbus and
tells by ``out(...)``; lines after ``#>`` are what it must tell. One that ends with ``...`` is the
beginning of an error's text. The last test runs all of them with PyTorch itself, where it is.
"""

from __future__ import annotations

import copy
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus

TABLES = sorted(Path(__file__).parent.glob("*.txt"))


def read(table: Path) -> list[tuple[str, list[str]]]:
    found = []
    for block in re.split(r"\n\s*\n", table.read_text("utf-8").strip()):
        lines = block.splitlines()
        program = "\n".join(line for line in lines if not line.startswith("#>"))
        found.append((program, [line[3:] for line in lines if line.startswith("#>")]))
    return found


PROGRAMS = {
    f"{table.stem}-{n}": program for table in TABLES for n, program in enumerate(read(table), 1)
}


def shown(value: Any) -> str:
    if type(value).__name__ in ("Tensor", "Parameter"):
        wants = ", requires_grad" if value.requires_grad else ""
        return f"{str(value.dtype).removeprefix('torch.')} {value.tolist()}{wants}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    return repr(value)


def told(program: str, library: Any) -> list[str]:
    lines: list[str] = []

    def out(*values: Any) -> None:
        lines.append(" ".join(map(shown, values)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, {"torch": library, "np": np, "copy": copy, "out": out})
        except Exception as error:
            lines.append(f"{type(error).__name__}: {error}".splitlines()[0])
    return lines


def differences(program: str, expected: list[str], library: Any) -> str:
    got = told(program, library)
    same = len(got) == len(expected) and all(
        g.startswith(e[:-3]) if e.endswith("...") else g == e
        for g, e in zip(got, expected, strict=True)
    )
    return "" if same else f"{program}\ntold     {got}\nexpected {expected}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    wrong = differences(*PROGRAMS[name], tensorbus)
    assert not wrong, wrong


def test_pytorch_tells_what_the_tables_say(live_torch: Any) -> None:
    wrong = [differences(*entry, live_torch) for entry in PROGRAMS.values()]
    assert not any(wrong), "".join(wrong)
