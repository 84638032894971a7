"""Each mutant of the streams of ``opencl`` must be caught, by the case whose subject it breaks."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from tests.conftest import usable_or_skip

from tensorbus import discovery
from tensorbus.plugin import IndexFault
from tensorbus_conformance import run


def nothing(*_: Any) -> None:
    """What a forgotten step does."""


def chooses_for_all(self: Any, stream: Any) -> None:
    self.default = self.only = stream


MUTANTS = {
    "wait_event": ("streams.Queue", "wait_event", nothing),
    "record_stream": ("streams.Queue", "hold", nothing),
    "order": ("runtime.Runtime", "choose", nothing),
    "threads": ("runtime.Runtime", "choose", chooses_for_all),
    "query": ("streams.Queue", "query", lambda self: False),
    "faults": ("backend.OpenCLBackend", "current_queue", nothing),
    "elapsed_time": ("streams.Mark", "elapsed_time", lambda self, end: 0.0),
}


@pytest.mark.parametrize("case", MUTANTS)
def test_a_mutant_is_caught(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usable_or_skip("opencl")
    pattern = f"L0/streams/float32/{case}"
    (result,) = run("opencl", pattern=pattern).results
    assert result.outcome == "pass", result.message
    owner, name, mutation = MUTANTS[case]
    monkeypatch.setattr(f"tensorbus_opencl.{owner}.{name}", mutation)
    (result,) = run("opencl", pattern=pattern).results
    assert result.outcome == "fail"
    with contextlib.suppress(IndexFault):  # what the mutant kept is not for the next test
        discovery.backend("opencl").synchronize(0)
