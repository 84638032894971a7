"""Short programs, each with what PyTorch 2.13 answers: values, or the error's type and text.

The tables are text files beside this one. A program runs with ``torch`` bound to tensorbus and
tells by ``out(...)``; lines after ``#>`` are what it must tell. One that ends with ``...`` is the
beginning of an error's text. The last test runs them with PyTorch itself, where it is, but
for the folder ``older``: there stands what older versions answered, or what ours adds. A program
that begins with ``#! warnings`` tells the warnings, too, with the line that they point at.
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

HERE = Path(__file__).parent
TABLES = sorted(HERE.glob("*.txt"))
OLDER = sorted(HERE.glob("older/*.txt"))


def read(table: Path) -> list[tuple[str, list[str]]]:
    found = []
    for block in re.split(r"\n\s*\n", table.read_text("utf-8").strip()):
        lines = block.splitlines()
        program = "\n".join(line for line in lines if not line.startswith("#>"))
        found.append((program, [line[3:] for line in lines if line.startswith("#>")]))
    return found


def programs(tables: list[Path]) -> dict[str, tuple[str, list[str]]]:
    return {f"{table.stem}-{n}": p for table in tables for n, p in enumerate(read(table), 1)}


PROGRAMS = programs(TABLES)
OLDER_PROGRAMS = programs(OLDER)


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

    def warned(message: Any, category: Any, filename: str, line: int, *_: Any) -> None:
        where = f"line {line}" if filename == "<program>" else filename
        lines.append(f"{category.__name__} at {where}: {' '.join(str(message).split())}")

    given = {"__name__": "__main__", "torch": library, "np": np, "copy": copy, "out": out}
    before, wanted = library.is_warn_always_enabled(), program.startswith("#! warnings")
    with warnings.catch_warnings():
        warnings.simplefilter("always" if wanted else "ignore")
        warnings.showwarning = warned
        library.set_warn_always(wanted)  # those too that are shown once in a process
        try:
            exec(compile(program, "<program>", "exec"), given)
        except Exception as error:
            lines.append(f"{type(error).__name__}: {error}".splitlines()[0])
        finally:
            library.set_warn_always(before)
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


@pytest.mark.parametrize("name", OLDER_PROGRAMS)
def test_program_of_older_times(name: str) -> None:
    wrong = differences(*OLDER_PROGRAMS[name], tensorbus)
    assert not wrong, wrong


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_pytorch_tells_what_the_table_says(table: Path, live_torch: Any) -> None:
    wrong = [differences(*entry, live_torch) for entry in read(table)]
    assert not any(wrong), "".join(wrong)
