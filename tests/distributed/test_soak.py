"""Rounds of random collectives on four ranks, compared with NumPy."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import tensorbus.distributed as dist

ROUNDS = Path(__file__).with_name("soak_rounds.py")


@pytest.mark.parametrize(("backend", "seed"), [("local", 1), ("tcp", 2)])
def test_random_rounds_of_threads(backend, seed):
    rounds = runpy.run_path(str(ROUNDS))["rounds"]
    dist.local.run(lambda: rounds(seed, 25), 4, backend=backend, timeout=60)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(3, 100), *(pytest.param(seed, 1000, marks=pytest.mark.long) for seed in range(4, 8))],
)
def test_random_rounds_of_processes(run_job, seed, count):
    program = f"""
import runpy
start(timeout=60)
runpy.run_path({str(ROUNDS)!r})["rounds"]({seed}, {count})
dist.destroy_process_group()
print("SAME")
"""
    assert [one.out for one in run_job(program, 4, timeout=120)] == ["SAME\n"] * 4
