"""DistributedDataParallel between real processes over sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("ddp_job.py")


@pytest.mark.parametrize("size", [2, 4])
def test_training_equals_one_process(tools: Any, size: int) -> None:
    """SGD and Adam, an MLP, a convolution and a tied embedding; the job compares them itself."""
    for code, out in tools.processes([PROGRAM, "train"], size):
        assert (code, out.count("same")) == (0, 6), out


def test_gradients_of_bfloat16_are_averaged_with_one_rounding(tools: Any) -> None:
    """Parameters of bfloat16, and of float32 under autocast."""
    for code, out in tools.processes([PROGRAM, "bfloat16"], 2):
        assert (code, out.count("same")) == (0, 4), out


def test_a_rank_that_is_killed_in_backward_is_named(tools: Any) -> None:
    results = tools.processes([PROGRAM, "killed"], 3)
    assert results[1][0] == -9
    for rank in (0, 2):
        code, out = results[rank]
        assert code == 0, out
        assert "raised" in out
        assert "rank 1 died" in out
