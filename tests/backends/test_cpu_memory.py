"""Arrays that come and go cost no new pages of the system."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

STEPS = """
import resource
import tensorbus as torch

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

model = torch.nn.Linear(784, 128)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(32, 784)

def steps(n):
    for _ in range(n):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

steps(10)
before = faults()
steps(100)
print((faults() - before) / 100)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc does")
def test_a_step_of_training_touches_no_new_pages() -> None:
    """Its gradient of 400 KB took 98 pages from the system in each step, and its buffer 66."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", STEPS], env=kept, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 8
