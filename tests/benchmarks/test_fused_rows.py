"""Compiled ops are timed beside their compositions."""

from __future__ import annotations

import os

import pytest
from benchmarks import fused_rows
from benchmarks.fused_cases import CASES

from tensorbus import discovery


def test_what_is_compiled_is_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        discovery.backend("opencl").capabilities(0)
    except Exception as error:
        if "opencl" in os.environ.get("TENSORBUS_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no OpenCL device: {error}")
    monkeypatch.setattr(fused_rows, "ROUND_SECONDS", 1e-4)
    with fused_rows.Pair("opencl") as pair:
        found = fused_rows.measure(pair, "functional.silu", [64], 1)
        found += fused_rows.measure(pair, "SGD with momentum", [2048], 1)
    names = {one.name for one in found}
    assert {"nn.functional.silu", "nn.functional.silu, backward", "SGD with momentum"} <= names
    assert all(one.fused > 0 and one.composed > 0 for one in found)
    fused_rows.show(found, most=2)
    said = capsys.readouterr().out
    assert "Compiled over composed" in said and "The slowest" in said


def test_a_device_that_compiles_nothing_is_refused() -> None:
    with pytest.raises(SystemExit, match="cpu compiles nothing"):
        fused_rows.Pair("cpu")


@pytest.mark.parametrize("name", CASES)
def test_each_case_runs(name: str) -> None:
    CASES[name]("cpu", 2048)()
