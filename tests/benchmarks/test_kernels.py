"""The kernels' cases at small sizes, and how their table is made; nothing here is timed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import kernels
from benchmarks.kernel_cases import CASES, COPY, PRODUCT

import tensorbus


def _arrays(result):
    return [x.detach().numpy() for x in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_case_runs(case):
    call = case.small(tensorbus)
    for _ in range(2):
        for array in _arrays(call()):
            assert array.size and np.isfinite(array).all()


def test_each_case_gives_what_pytorch_gives(live_torch):
    for case in CASES:
        ours, theirs = case.small(tensorbus), case.small(live_torch)
        for _ in range(2):
            found, expected = _arrays(ours()), _arrays(theirs())
        assert [x.shape for x in found] == [x.shape for x in expected], case.name
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype, case.name
            if not case.random:
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6, err_msg=case.name)


def test_the_cases_are_those_that_were_fixed():
    assert len({case.name for case in CASES}) == len(CASES) == 48
    assert {case.bound for case in CASES} == {COPY, PRODUCT}
    work = {case.name: case.work for case in CASES}
    assert work["matmul 1024 x 1024"] == 2 * 1024**3
    assert work["add 1e7"] == 1.2e8 and work["sum 1e7"] == 4e7
    assert all(work.values())


def test_a_case_at_full_size_runs_as_often_as_it_is_told():
    [case] = [case for case in CASES if case.name == "add 1e5"]
    assert case.make(tensorbus)(2).shape == (100_000,)


def test_rows_carry_their_time_at_the_limit_and_end_with_the_mean(capsys):
    names = "add 1e5", "matmul 1024 x 1024", "exp 1e6"
    times = {"add 1e5": (200.0, 100.0), "matmul 1024 x 1024": (40_000.0, 80_000.0)}
    cases = {name: {"ours": a, "theirs": b} for name, (a, b) in times.items()}
    cases["exp 1e6"] = {"error": "ValueError: no"}
    found = [
        {"cases": cases, "limits": {COPY: bytes, PRODUCT: 50_000.0}} for bytes in (8e3, 12e3, 1e3)
    ]
    rows, most = kernels.merged(found)
    assert [row.name for row in rows[:-1]] == sorted(names, key=[c.name for c in CASES].index)
    assert most == {COPY: 12e3, PRODUCT: 50_000.0}
    by_name = {row.name: row for row in rows}
    assert by_name["add 1e5"].beside == {COPY: pytest.approx(100.0)}
    assert by_name["matmul 1024 x 1024"].beside == {PRODUCT: pytest.approx(2 * 1024**3 / 5e4)}
    assert rows[-1].name == kernels.MEAN and rows[-1].ratio == pytest.approx(1.0)
    kernels.show("Title", rows)
    printed = capsys.readouterr().out
    assert "50%" in printed and "100%" in printed and "ValueError: no" in printed


def test_the_limits_are_those_of_a_machine(live_torch):
    found = kernels.limits(kernels.time.perf_counter, rounds=1)
    assert 1e2 < found[COPY] < 1e7 and 1e2 < found[PRODUCT] < 1e9


def test_one_benchmark_is_run_by_its_name(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "argv", ["benchmarks", "kernels", "--only", "x"])
    monkeypatch.setattr(kernels, "main", lambda: seen.append(sys.argv[1:]) or 3)
    assert command.main() == 3
    assert seen == [["--only", "x"]]
