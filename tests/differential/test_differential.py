"""Random programs: what they are seen to do here is what they are seen to do in PyTorch.

The fast lane runs some whose answers are recorded; the long lane runs 50,000 beside PyTorch. The
latter by hand, in other numbers or from other seeds: ``python -m tests.differential.hunt --help``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from checkout import ROOT
from tests.differential.drawing import drawn
from tests.differential.hunt import FAMILIES, compared, rule, shrunk
from tests.differential.programs import Program, run
from tests.differential.seen import Seen

import tensorbus

SAMPLE = 43

# Their numbers are badly conditioned: how much so, PyTorch itself has to be asked.
MEASURED = {
    "linalg": {37},
    "autograd": {3, 11, 14, 15, 21, 26, 41},
}

LONG = 50_000


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    tensorbus.set_printoptions(profile="default")


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_do_as_recorded(family: str, oracle: Any) -> None:
    seeds = [seed for seed in range(SAMPLE) if seed not in MEASURED.get(family, ())]

    def program(torch: Any) -> Any:
        found = []
        for seed in seeds:
            drawn_program, seen = drawn(family, seed, torch, rule(family))
            found.append([drawn_program.lines, [s.data() for s in seen]])
        return found

    for seed, (lines, seen) in zip(seeds, oracle(program), strict=True):
        made = Program(family, seed, lines)
        found = compared(made, run(made, tensorbus), [Seen.of_data(data) for data in seen])
        assert not found, f"{made.script()}\n--> {found}"


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_thousands_of_programs_do_as_pytorch(family: str, live_torch: Any, capsys: Any) -> None:
    count = -(-LONG // len(FAMILIES))
    command = [sys.executable, "-m", "tests.differential.hunt", family, "--count", str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    with capsys.disabled():
        print(f"\n{done.stdout.splitlines()[-1] if done.stdout else done.stderr}")
    assert not done.returncode, done.stdout + done.stderr


def test_a_difference_is_found_and_shrunk() -> None:
    lines = ["a = torch.ones(3)", "b = a * 2", "c = a.roll(1)", "d = b.flip(0)", "e = torch.eye(2)"]

    class Library:
        """tensorbus, but that one function is wrong."""

        def __getattr__(self, name: str) -> Any:
            return (lambda n: tensorbus.ones(n) * 3) if name == "ones" else getattr(tensorbus, name)

    wrong = Library()
    program, found = shrunk(
        Program("indexing", 0, lines), lambda p: compared(p, run(p, wrong), run(p, tensorbus))
    )
    assert program.lines == ["a = torch.ones(3)"]
    assert "instead of" in found
    assert "seed 0" in program.script()
