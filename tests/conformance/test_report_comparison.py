"""What changed between two reports, and whether it is for the worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tensorbus_conformance import (
    Report,
    Result,
    compare_reports,
)
from tensorbus_conformance.report import (
    BLOCKED,
    CRASH,
    FAIL,
    FALLBACK,
    PASS,
    QUALITY,
    UNSUPPORTED,
)
from tensorbus_conformance.reporting import comparison


def _case(outcome: str, ulp: float | None = None, excepted: str | None = None) -> Result:
    return Result("L1/add/float32/a", "pointwise", outcome, "why", ulp, 0.0, excepted)


@pytest.mark.parametrize(
    ("was", "now", "where", "regressed"),
    [
        (_case(PASS), _case(PASS), None, False),
        (_case(PASS), _case(FAIL), "failing", True),
        (_case(PASS), _case(CRASH), "failing", True),
        (_case(BLOCKED), _case(FAIL), "failing", True),
        (_case(FAIL, excepted="known"), _case(FAIL), "failing", True),
        (_case(FAIL), _case(CRASH), "worse", True),
        (_case(PASS), _case(QUALITY), "worse", True),
        (_case(PASS), _case(FALLBACK), "worse", True),
        (_case(PASS), _case(UNSUPPORTED), "worse", True),
        (_case(PASS), _case(FAIL, excepted="known"), "worse", True),
        (_case(FAIL), _case(PASS), "passing", False),
        (_case(UNSUPPORTED), _case(PASS), "passing", False),
        (_case(FALLBACK), _case(QUALITY), "passing", False),
        (_case(QUALITY), _case(PASS), "better", False),
        (_case(FAIL), _case(FAIL, excepted="known"), "better", False),
        (_case(PASS, 0.5), _case(PASS, 1.5), "less_accurate", True),
        (_case(PASS, 0.5), _case(PASS, 0.6), None, False),
        (_case(PASS, 0.01), _case(PASS, 0.2), None, False),
        (_case(PASS, 1.5), _case(PASS, 0.5), None, False),
        (_case(PASS, 1.5), _case(PASS), None, False),
    ],
)
def test_a_step(
    was: Result, now: Result, where: str | None, regressed: bool, only: Callable[..., Report]
) -> None:
    found = compare_reports(only(was), only(now))
    lists = ("failing", "passing", "worse", "better", "less_accurate")
    assert {name: len(getattr(found, name)) for name in lists} == {
        name: int(name == where) for name in lists
    }
    assert found.regressed is regressed
    assert not found.new and not found.removed


def test_cases_that_come_and_go(only: Callable[..., Report]) -> None:
    old, fine = _case(PASS), Result("L1/mul/int8/a", "pointwise", PASS)
    broken = Result("L1/sub/int8/a", "pointwise", FAIL, "wrong")
    found = compare_reports(only(old), only(fine))
    assert (found.removed, found.new, found.regressed) == ([old], [fine], False)
    found = compare_reports(only(old), only(old, broken))
    assert found.failing == [(None, broken)] and found.regressed
    text = "\n".join(comparison.lines(found))
    assert "newly failing (1):\n  L1/sub/int8/a: new -> fail: wrong" in text
    assert text.endswith("1 case worse, 0 better, 1 new, 0 removed")


def test_times_are_told_where_they_differ_much_and_over_shared_cases(
    only: Callable[..., Report],
) -> None:
    def timed(*seconds: float) -> Report:
        return only(
            *(Result(f"L1/a/int8/{i}", "f", PASS, "", None, s) for i, s in enumerate(seconds))
        )

    assert compare_reports(timed(1.0, 1.0), timed(2.0, 3.0)).times == [("L1 f", 2.0, 5.0)]
    assert compare_reports(timed(5.0), timed(1.0)).times == [("L1 f", 5.0, 1.0)]
    assert compare_reports(timed(0.1), timed(0.9)).times == []
    assert compare_reports(timed(10.0), timed(13.0)).times == []
    assert compare_reports(timed(1.0), timed(1.0, 50.0)).times == []
    slower = compare_reports(timed(1.0), timed(4.0))
    assert not slower.regressed
    assert "  L1 f: 1.0 s -> 4.0 s, 4.0 times as long" in list(comparison.lines(slower))


def test_conditions_that_differ_are_told(sample: Report) -> None:
    after = replace(
        sample,
        device="Other",
        versions={"python": "3.14.0"},
        git=None,
        profile="core",
        capabilities={"details": {"driver": "6"}},
    )
    told = list(comparison.lines(compare_reports(sample, after)))
    assert "  device: npu:1 Example <NPU> -> npu:1 Other" in told
    assert "  profile: full -> core" in told
    assert "  commit: 0123456789ab with changes -> none" in told
    assert "  python: 3.13.1 -> 3.14.0" in told
    assert "  npu-driver: 5 <beta> -> none" in told
    assert "  device driver: 5 -> 6" in told
    assert not any(line.startswith("  seed") for line in told)
