"""Pytest plugin: the lanes that tests run in, and what they may cost.

Costs are processor time, of the tests' process and of those that it started and waited for: the
wall clock of a busy machine tells nothing. ``--durations=N`` lists the N costliest tests as well.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
import yardstick

CORES = 2

# Processors differ, and cores that others keep busy do less in a second: budgets grow by what
# yardstick measures of that, and a lane fails above this many times its own.
ROOM = 1.5


@dataclass(frozen=True)
class Lane:
    """*minutes* on two idle cores for all of it, *seconds* of processor time for one test."""

    name: str
    command: str
    minutes: int | None
    seconds: float | None

    @property
    def budget(self) -> int | None:
        """Seconds of processor time for all of it."""
        return None if self.minutes is None else self.minutes * 60 * CORES


# CONTRIBUTING.md shows this table.
LANES = {
    lane.name: lane
    for lane in (
        Lane("fast", "scripts/test", 8, 30),
        Lane("slow", ".ci/run", 40, 300),
        Lane("long", "scripts/test -m long", None, None),
    )
}


def lane_of(item: pytest.Item) -> Lane:
    """The slowest lane that a test's markers name."""
    return LANES[next((name for name in ("long", "slow") if item.get_closest_marker(name)), "fast")]


def processor_seconds() -> float:
    return sum(os.times()[:4])


class Costs:
    """What each test cost, and what the processes of this run cost together."""

    def __init__(self) -> None:
        self.tests: dict[str, float] = {}
        self.workers = 0.0

    def total(self) -> float:
        return self.workers + processor_seconds()


COSTS = pytest.StashKey[Costs]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COSTS] = Costs()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Any:
    """What a test's fixtures cost is listed and fails nothing: the first user pays for all."""
    before = processor_seconds()
    result = yield
    item.user_properties.append(("processor_seconds", processor_seconds() - before))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """A test that costs more than its lane allows fails."""
    before = processor_seconds()
    result = yield
    used = processor_seconds() - before
    item.user_properties.append(("processor_seconds", used))
    lane = lane_of(item)
    if lane.seconds is None or used <= lane.seconds:
        return result
    most = lane.seconds * yardstick.factor()
    if used > most:
        pytest.fail(
            f"{used:.1f} s of processor time, but a test of the {lane.name} lane may take "
            f"{most:.3g}: make it cheaper, or mark it for a slower lane (CONTRIBUTING.md)",
            pytrace=False,
        )
    return result


def whole_lane(config: pytest.Config) -> Lane | None:
    """The lane that this run is all of: no files and no names were chosen, PyTorch isn't asked."""
    if config.getoption("--oracle", "recorded") != "recorded":
        return None
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.keyword:
        return None
    expression = config.option.markexpr
    return LANES["fast"] if expression == "not slow and not long" else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["processor_seconds"] = processor_seconds()
        return
    reporter, lane = config.pluginmanager.get_plugin("terminalreporter"), whole_lane(config)
    if reporter is None or lane is None or lane.budget is None:
        return
    used = config.stash[COSTS].total()
    budget = lane.budget * yardstick.factor()
    reporter.write_line(
        f"\n{lane.name} lane: {used:.0f} s of processor time, of the {budget:.0f} that it may take"
    )
    if used > budget * ROOM and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker of pytest-xdist cost."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[COSTS].workers += output.get("processor_seconds", 0.0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    count = config.option.durations
    if not count:
        return
    files: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, seconds in getattr(report, "user_properties", ()):
                if name == "processor_seconds" and report.when == "call":
                    files[report.nodeid.partition("::")[0]] += seconds
                    tests[report.nodeid] += seconds
    for what, rows in (("files", files), ("tests", tests)):
        terminalreporter.section(f"costliest {count} {what}, in processor time")
        for name, seconds in rows.most_common(count):
            terminalreporter.write_line(f"{seconds:.2f} s {name}")
