"""Calls that fit into the words that compare them: ranks that differ are told so."""

from __future__ import annotations

import pytest

SIDES = {
    "a small and a large one": ("torch.zeros(2)", "torch.zeros(3000)", "all_reduce"),
    "a middling and a large one": ("torch.zeros(300)", "torch.zeros(3000)", "all_reduce"),
    "a small and a middling one": ("torch.zeros(2)", "torch.zeros(300)", "all_reduce"),
    "two small ones": ("torch.zeros(2)", "torch.zeros(3)", "all_reduce"),
    "two dtypes of one size": ("torch.zeros(2)", "torch.zeros(2, dtype=torch.int32)", "all_reduce"),
    "two calls": ("None", "torch.zeros(2)", "barrier"),
}


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", SIDES)
def test_small_calls_that_differ_are_an_error_on_all_ranks(name, ranks, mpirun):
    first, others, call = SIDES[name]
    ended = mpirun(
        f"""
r, n = start()
x = {first} if r == 0 else {others}
try:
    dist.barrier() if x is None else dist.all_reduce(x)
except dist.DistBackendError as error:
    assert "the ranks call different operations" in str(error), error
    assert "rank 0" in str(error) and "{call}" in str(error), error
    print("told", flush=True)
""",
        ranks,
        TENSORBUS_MPI_ABORT="0",
    )
    assert ended.text.count("told") == ranks, ended.text
