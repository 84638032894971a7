"""The table of kinks beside PyTorch, where that is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tensorbus_conformance.kinks import programs, table
from tensorbus_conformance.kinks.departures import DEPARTURES

SCRIPT = Path(__file__).parents[2] / "scripts" / "kinks"


@pytest.mark.slow
@pytest.mark.usefixtures("live_torch")
def test_the_table_is_what_pytorch_gives() -> None:
    found = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_table_has_every_program_and_no_other() -> None:
    keys = [program.key for program in programs()]
    assert len(keys) == len(set(keys))
    assert set(keys) == set(table.recorded())


def test_each_departure_is_met_by_some_result() -> None:
    names = [(key, name) for key, found in table.recorded().items() for name in found]
    names += [(key, f"plain {name}") for key, name in names]
    for departure in DEPARTURES:
        assert any(departure.covers(*name) for name in names), departure
