"""What the tests find on this machine."""

from __future__ import annotations

import pytest
from machine import LEFT_OUT, why_not

WAYS = {
    "opencl": "pip install pyopencl (extra opencl), and a device: "
    "apt-get install --no-install-recommends pocl-opencl-icd ocl-icd-libopencl1",
    "c": "apt-get install gcc libc6-dev",
    "mpi": "pip install 'tensorbus[mpi]'",
    "cuda-host": "pip install 'tensorbus[cuda-host]', and apt-get install g++ binutils",
    "pytorch": "scripts/venv test,opencl,demo,bench",
}


@pytest.mark.parametrize("need", WAYS)
def test_nothing_is_left_out(need: str, request: pytest.FixtureRequest) -> None:
    reason = why_not(need)
    if reason:
        count = request.config.stash[LEFT_OUT][need]
        pytest.skip(f"{count} tests of {need} were left out: {reason}. What to do: {WAYS[need]}")
    assert request.config.stash[LEFT_OUT][need] == 0


TESTS = """
import pytest

@pytest.fixture(params=["cpu", "opencl"])
def device(request):
    return request.param

def test_on(device):
    assert device == "cpu"

def test_kernels(opencl):
    pass
"""


def test_tests_of_a_device_that_is_missing_are_left_out(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    import machine

    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TESTS)
    missing = {"opencl": "there is none"}
    monkeypatch.setattr(machine, "why_not", lambda need: missing.get(need, ""))
    run = pytester.runpytest_inprocess("-p", "machine", "-p", "no:cacheprovider")
    run.assert_outcomes(passed=1, deselected=2)
    missing.clear()
    run = pytester.runpytest_inprocess("-p", "machine", "-p", "no:cacheprovider")
    run.assert_outcomes(passed=1, failed=1, errors=1)  # the test on opencl, a fixture that is not
