"""The suite's primitives on the device, with values: what CuPy's texts compute on the host."""

from __future__ import annotations

import pytest

from tensorbus_conformance import run

PARTS = ("L0/*", "L1/*/float32/*", "L1/*/int64/*", "L1/*/bool/*")
"""The other dtypes are in the long lane: each kernel takes the compiler a while."""


@pytest.mark.parametrize("pattern", PARTS)
def test_runtime_and_primitives_conform(pattern: str) -> None:
    report = run("cuda", pattern[:2], pattern, profile="core")
    assert len(report.results) > 100
    assert not [f"{r.id}: {r.message}" for r in report.failures]


@pytest.mark.long
def test_the_whole_profile_core_conforms() -> None:
    report = run("cuda", profile="core")
    assert report.whole and not [f"{r.id}: {r.message}" for r in report.failures]
