"""Our backends are tested through the suite, not beside it."""

from __future__ import annotations

import os

import pytest

import tensorbus
from tensorbus import discovery
from tensorbus_conformance import Report, run


def _conforms(report: Report) -> None:
    lines = [f"{r.id}: {r.message}" for r in report.failures[:10]]
    assert report.ok, f"{len(report.failures)} failures\n" + "\n".join(lines)
    stale = [r.id for r in report.results if r.stale]
    assert not stale, f"exceptions that are no longer needed: {stale[:10]}"


def test_cpu(kernels: str) -> None:
    # What a program calls is tried by test_completeness, and in every dtype by scripts/reports.
    report = run("cpu", pattern=kernels)
    _conforms(report)
    # A skip is not a pass: it lacks a second one, an overlay, a compiler, streams, figures; its
    # memory is shared by files, not by handles.
    lacking = {r.id for r in report.results if r.outcome == "not supported"}
    absent = ("L0/streams/", "L0/memory_stats/", "L0/compile/")
    lacking = {i for i in lacking if not i.startswith(absent)}
    alone = {"L0/copy_/devices", "L0/handles/float32/back", "L0/overlays"}
    assert lacking == (alone if kernels == "L0/*" else set())
    assert report.counts()["pass"] > 850
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
PARTS = (
    *"L0/[!c]* L0/ca* L0/copy_/float32-* L1/*/float32/contiguous".split(),
    *(pytest.param(part, marks=pytest.mark.slow) for part in ("L1/take/*", "L1/sum/float*")),
)


@pytest.mark.parametrize("pattern", PARTS)
def test_opencl(opencl: str, pattern: str) -> None:
    report = run(opencl, pattern=pattern, profile="core")
    _conforms(report)
    assert not report.counts()["quality"]


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [True, False])
def test_opencl_with_fusion_on_and_off(opencl: str, enabled: bool) -> None:
    before = tensorbus.get_fusion()
    tensorbus.set_fusion(enabled)
    try:
        for op in ("softmax", "nn.functional.gelu", "logaddexp"):
            report = run(opencl, pattern=f"*/{op}/float32/*", profile="training")
            _conforms(report)
            compiled = [r for r in report.results if r.id.rpartition("/")[2].startswith("compiled")]
            outcomes = {r.outcome for r in compiled}
            assert outcomes == {"pass" if enabled else "not supported"}, op
    finally:
        tensorbus.set_fusion(before)
