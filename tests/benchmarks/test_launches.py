"""Launches of the demo's step are counted, with fusion and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from benchmarks import launches
from checkout import ROOT

from tensorbus import discovery

PROGRAM = """
import json
import tensorbus
from benchmarks import launches

before = tensorbus.get_fusion()
off, on = launches.of_a_step("opencl")
assert tensorbus.get_fusion() is before
assert "build" not in vars(tensorbus.discovery.backend("opencl"))
launches.show(off, on, most=3)
print(json.dumps([off, on]))
"""


def test_launches_of_the_demo_with_fusion_are_less_than_half() -> None:
    try:
        discovery.backend("opencl").capabilities(0)
    except Exception as error:
        if "opencl" in os.environ.get("TENSORBUS_REQUIRE", "").split(","):
            raise
        pytest.skip(f"no OpenCL device: {error}")
    # In a process of its own: kernels that were built before are not counted.
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    said, _, found = done.stdout.rstrip().rpartition("\n")
    off, on = map(Counter, json.loads(found))
    assert off["k_graph"] == off["k_rows"] == 0 < on["k_graph"]
    # What no graph has is launched as often: products, windows, random bits.
    for name in ("k_matmul", "k_matmul_blocks", "k_unfold", "k_philox"):
        assert off[name] == on[name] > 0
    assert on.total() < off.total() / 2
    assert f"{on.total()} ({on.total() / off.total():.0%})" in said and "more" in said


def test_a_device_whose_kernels_are_no_text_is_refused() -> None:
    with pytest.raises(SystemExit, match="launches of cpu can't be counted"):
        launches.of_a_step("cpu")


def test_kernels_are_counted_by_their_names() -> None:
    class Device:
        def build(self, index: int, source: str, name: str, types: object) -> object:
            return lambda *arguments: seen.append((name, arguments))

    seen: list[object] = []
    device = Device()
    with launches.counted(device) as found:  # type: ignore[arg-type]
        launch = device.build(0, "", "k_add", ())
        launch((8,), 1, 2)  # type: ignore[operator]
        launch((8,), 3, 4)  # type: ignore[operator]
    assert found == Counter(k_add=2) and seen == [("k_add", ((8,), 1, 2)), ("k_add", ((8,), 3, 4))]
    assert "build" not in vars(device)
