"""Nothing public is without a case: the checks run in a process where nothing else has run.

What is called for the first time, such as a module's own statements, counts as called there; and
they take minutes, which should be spent once and not in each process of a test run.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from checkout import ROOT


@pytest.mark.slow
def test_nothing_public_is_without_a_case() -> None:
    checks = "tests/conformance/completeness_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", checks]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout[-4000:] + done.stderr[-1000:]
