"""The suite's primitives on the device, with values: what CuPy's texts compute on the host."""

from __future__ import annotations

import pytest

from tensorbus_conformance import run

PARTS = (
    "L0/*",
    "L1/*/bool/[!l]*",
    *(pytest.param(f"L1/*/{name}/*", marks=pytest.mark.long) for name in ("float32", "int64")),
)
"""The rest is in the long lane: the host takes minutes for the suite's larger operands."""


@pytest.mark.parametrize("pattern", PARTS)
def test_runtime_and_primitives_conform(pattern: str) -> None:
    report = run("cuda", pattern[:2], pattern, profile="core")
    assert len(report.results) > 100
    assert not [f"{r.id}: {r.message}" for r in report.failures]


@pytest.mark.long
def test_the_whole_profile_core_conforms() -> None:
    report = run("cuda", profile="core")
    assert report.whole and not [f"{r.id}: {r.message}" for r in report.failures]
