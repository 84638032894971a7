"""Our backends are tested through the suite, not beside it."""

from __future__ import annotations

import os

import pytest

from tensorbus import discovery
from tensorbus_conformance import Report, run


def _conforms(report: Report) -> None:
    lines = [f"{r.id}: {r.message}" for r in report.failures[:10]]
    assert report.ok, f"{len(report.failures)} failures\n" + "\n".join(lines)
    stale = [r.id for r in report.results if r.stale]
    assert not stale, f"exceptions that are no longer needed: {stale[:10]}"


def test_cpu() -> None:
    # What a program calls is tried by test_completeness, and in every dtype by scripts/reports.
    report = run("cpu", "L0,L1")
    _conforms(report)
    # A skip is not a pass: this device lacks a second one, an overlay, streams and their figures.
    lacking = {r.id for r in report.results if r.outcome == "not supported"}
    lacking = {i for i in lacking if not i.startswith(("L0/streams/", "L0/memory_stats/"))}
    assert lacking == {"L0/copy_/devices", "L0/overlays"}
    assert report.counts()["pass"] > 7000
    assert not report.counts()["quality"]


@pytest.fixture(scope="module")
def opencl() -> str:
    try:
        discovery.backend("opencl").capabilities(0)
    except Exception as error:
        if "opencl" in os.environ.get("TENSORBUS_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no OpenCL device: {error}")
    return "opencl"


# A part, because each new kernel is compiled; scripts/check runs the whole profile.
PARTS = "L0/[!c]* L0/ca* L0/copy_/float32-* L1/*/float32/contiguous L1/take/* L1/sum/float*".split()


@pytest.mark.parametrize("pattern", PARTS)
def test_opencl(opencl: str, pattern: str) -> None:
    report = run(opencl, pattern=pattern, profile="core")
    _conforms(report)
    assert not report.counts()["quality"]
