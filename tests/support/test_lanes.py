"""The lanes: their table, and that a test or a lane above its budget fails."""

from __future__ import annotations

import re
from pathlib import Path

import lanes
import pytest
import yardstick
from lanes import LANES, Lane

ROOT = Path(__file__).parents[2]

TESTS = """
import os, subprocess, sys, time
import pytest

BURN = "import time\\nwhile time.process_time() < {}: pass"

def test_waits():
    time.sleep(0.5)

def test_works():
    exec(BURN.format(time.process_time() + 0.4), {})

def test_lets_work():
    subprocess.run([sys.executable, "-c", BURN.format(0.4)], check=True)

@pytest.mark.slow
def test_may_work():
    exec(BURN.format(time.process_time() + 0.4), {})
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(yardstick, "factor", lambda: 1.0)
    pytester.makeini(
        "[pytest]\ntestpaths = .\naddopts = -m 'not slow and not long'\n"
        "markers =\n  slow: slow\n  long: long"
    )
    pytester.makepyfile(test_it=TESTS)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "lanes", "-p", "no:cacheprovider", *options)


def test_a_test_above_its_budget_fails(project: pytest.Pytester) -> None:
    with pytest.MonkeyPatch.context() as patch:  # this test has its own budget again
        patch.setitem(LANES, "fast", Lane("fast", "", None, 0.2))
        result = run(project, "-m", "")
    result.assert_outcomes(passed=2, failed=2)  # waiting is free, and the slow lane may work
    result.stdout.fnmatch_lines(
        [
            "*s of processor time, but a test of the fast lane may take 0.2*",
            "FAILED test_it.py::test_works*",
            "FAILED test_it.py::test_lets_work*",
        ]
    )


def test_a_lane_above_its_budget_fails(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes, status in ((10_000, pytest.ExitCode.OK), (0, pytest.ExitCode.TESTS_FAILED)):
        monkeypatch.setitem(LANES, "fast", Lane("fast", "", minutes, None))
        result = run(project)
        result.assert_outcomes(passed=3, deselected=1)
        assert result.ret == status
        budget = minutes * 60 * lanes.CORES
        result.stdout.fnmatch_lines([f"fast lane: * s of processor time, of the {budget} that *"])
    for part in (["test_it.py"], ["-k", "waits"], ["-m", "slow"]):
        assert run(project, *part).ret == pytest.ExitCode.OK


def test_slower_cores_have_more_time(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANES, "fast", Lane("fast", "", 1, 0.2))
    monkeypatch.setattr(yardstick, "factor", lambda: 50.0)
    result = run(project)
    result.assert_outcomes(passed=3, deselected=1)
    result.stdout.fnmatch_lines(["fast lane: * s of processor time, of the 6000 that *"])


def test_the_yardstick_is_as_long_as_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.1, 3.0, 0.8, 0.4, 0.2])  # a round that was interrupted says nothing
    monkeypatch.setattr(yardstick, "work", lambda: next(seconds) * yardstick.SECONDS * 4)
    assert yardstick.factor.__wrapped__() == pytest.approx(1.6)
    monkeypatch.setattr(yardstick, "work", lambda: yardstick.SECONDS / 2)
    assert yardstick.factor.__wrapped__() == 1.0


def test_the_costliest_are_listed(project: pytest.Pytester) -> None:
    result = run(project, "--durations=2")
    result.stdout.fnmatch_lines(["*costliest 2 tests*", "0.* s test_it.py::test_*ork*"])
    assert not re.search(r"0\.\d+ s test_it.py::test_waits", result.stdout.str())


def test_the_table_in_contributing_is_that_of_the_tests() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    assert {name: (command, whole, one) for name, command, whole, one in rows} == {
        lane.name: (
            lane.command,
            f"{lane.minutes} minutes" if lane.minutes else "hours",
            f"{lane.seconds} s" if lane.seconds else "no limit",
        )
        for lane in LANES.values()
    }


def test_scripts_hold_the_slow_lane_to_its_budget() -> None:
    budget = LANES["slow"].budget
    text = (ROOT / "scripts" / "check").read_text("utf-8")
    assert f"budget={budget} " in text and "tests/support/yardstick.py" in text
