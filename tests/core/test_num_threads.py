"""The number of host threads reaches a backend whenever that is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tensorbus as torch

PROGRAM = """
import tensorbus as torch
torch.set_num_threads({first})
from tensorbus_cpu_numpy import threads
torch.ones(2) + 1
found = [threads.count()]
torch.set_num_threads({second})
print(*found, threads.count(), torch.get_num_threads())
"""


def test_a_number_set_before_the_first_op_holds() -> None:
    program = PROGRAM.format(first=3, second=1)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["3", "1", "1"], done.stderr


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_other_numbers_are_refused(n: float) -> None:
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        torch.set_num_threads(n)  # type: ignore[arg-type]
