"""Every benchmark case runs once, on both libraries; nothing here is timed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import environment, harness, import_time, loading, overhead, program, training_cases
from benchmarks.overhead_cases import CASES as OVERHEAD
from benchmarks.training_cases import CASES as TRAINING

import tensorbus

CASES = [*OVERHEAD, *TRAINING]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_case_runs(case):
    assert case.make(tensorbus)(2) is not None


def test_each_case_runs_on_pytorch(live_torch):
    for case in CASES:
        assert case.make(live_torch)(2) is not None, case.name


def test_the_limits_are_those_that_were_set():
    limits = {case.name: case.limit for case in OVERHEAD}
    assert [*limits.values()] == [0.70, 0.80, 0.60, 0.50, 0.95, 0.60, 0.60, 0.40, 0.85]
    assert training_cases.LIMIT == 2.5 and import_time.LIMIT_MS == 80
    bags = [1.0] * len(training_cases.BAG_MODES) + [0.4, 0.4]
    assert [*training_cases.ONE_THREAD.values()] == [1.1, 1.2, 0.65, 1.6, 0.9, *bags]
    assert {*training_cases.ONE_THREAD} <= {case.name for case in TRAINING}


@pytest.mark.parametrize(
    ("path", "argument"),
    [
        *((training_cases.GPT, fused) for fused in (True, False)),
        *((training_cases.RECURRENT, name) for name in ("char-LSTM", "char-GRU", "BiLSTM tagger")),
    ],
)
def test_both_libraries_compute_the_same_losses_in_a_step(live_torch, path, argument):
    torch = live_torch
    ours, theirs = (
        program.load(path, library, f"{path.stem}_test_{library}")["Trainer"](argument)
        for library in ("tensorbus", "torch")
    )
    weights = {name: torch.from_numpy(w.numpy()) for name, w in ours.net.state_dict().items()}
    theirs.net.load_state_dict(weights)
    theirs.tokens, theirs.targets = (
        torch.from_numpy(t.numpy()) for t in (ours.tokens, ours.targets)
    )
    expected = [theirs.step().item() for _ in range(3)]
    assert [ours.step().item() for _ in range(3)] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("mode", training_cases.BAG_MODES)
def test_both_libraries_join_the_same_bags(live_torch, mode, apart):
    ours, theirs = (
        program.load(training_cases.BAGS, library, f"bags_test_{library}")["Trainer"](mode, apart)
        for library in ("tensorbus", "torch")
    )
    for name in ("words", "gradient", "factors"):
        if (made := getattr(ours, name)) is not None:
            tensor = live_torch.from_numpy(made.detach().numpy().copy())
            setattr(theirs, name, tensor.requires_grad_(made.requires_grad))
    theirs.table.load_state_dict(
        {"weight": live_torch.from_numpy(ours.table.weight.detach().numpy().copy())}
    )
    found = [[each.step().detach(), each.table.weight.grad.to_dense()] for each in (ours, theirs)]
    for mine, own in zip(*found, strict=True):
        np.testing.assert_allclose(mine.numpy(), own.numpy(), rtol=1e-4, atol=1e-4)


def test_both_libraries_compute_the_same_losses_in_the_demo_step(live_torch):
    torch = live_torch
    ours, images, labels = training_cases.trainer(tensorbus)
    theirs, _, _ = training_cases.trainer(torch)
    for trainer in (ours, theirs):
        trainer.net.dropout.p = 0.0
    weights = {name: torch.from_numpy(w.numpy()) for name, w in ours.net.state_dict().items()}
    theirs.net.load_state_dict(weights)
    pair = torch.from_numpy(images.numpy()), torch.from_numpy(labels.numpy())
    expected = [theirs.step(*pair) for _ in range(5)]
    assert [ours.step(images, labels) for _ in range(5)] == pytest.approx(expected, abs=1e-5)


def test_a_private_copy_shares_no_code():
    one, two = harness.private_copy("overhead_cases"), harness.private_copy("overhead_cases")
    assert one.add.__code__ is not two.add.__code__
    assert [case.name for case in one.CASES] == [case.name for case in two.CASES]


def test_interleaved_takes_the_median_of_alternating_rounds():
    now = 0.0
    seen = []

    def loop(name, cost):
        def run(n):
            nonlocal now
            # Every fifth round a pause of the machine, which a median does not see.
            pause = 9.0 if len(seen) % 5 == 4 else 0.0
            seen.append(name)
            now += n * cost + pause

        return run

    loops = {"one": loop("one", 1e-6), "two": loop("two", 3e-6)}
    found = harness.interleaved(loops, rounds=11, seconds=0.005, clock=lambda: now)
    assert found == pytest.approx({"one": 1.0, "two": 3.0})
    rounds = [set(pair) for pair in zip(seen[-22::2], seen[-21::2], strict=True)]
    assert rounds == [{"one", "two"}] * 11


def test_rows_are_medians_of_ratios_and_know_their_limit(tmp_path, capsys):
    cases = [harness.Case("x", 0.5, lambda m: None, per_call=10), harness.Case("y", 1, lambda m: 0)]
    results = [{"x": {"ours": o, "theirs": 100.0}, "y": {"error": "E"}} for o in (40, 60, 70)]
    x, y = harness.merge(cases, results)
    assert (x.ours, x.theirs, x.ratio, x.low, x.high) == (6, 10, 0.6, 0.4, 0.7)
    assert (x.verdict, y.verdict) == ("OVER", "error")
    harness.show("Title", [x, y])
    assert "OVER" in capsys.readouterr().out
    harness.write_json(tmp_path / "x.json", {"numpy": "2"}, {"t": [x, y]})
    content = json.loads((tmp_path / "x.json").read_text())
    assert content["tables"]["t"][0]["ratio"] == 0.6 and content["environment"] == {"numpy": "2"}


def test_a_worker_that_fails_shows_why():
    with pytest.raises(RuntimeError, match=r"No module named benchmarks\.nonsense"):
        harness.run_worker("nonsense", [], threads=1)


def test_numpy_alone_runs():
    assert overhead.numpy_add(np)(2)[0, 0] == 0.75


def test_the_header_names_what_the_figures_depend_on(live_torch):
    header = environment.describe()
    assert "cores usable" in header["processor"]
    assert "threads" in header["numpy's BLAS"] or "core type unknown" in header["numpy's BLAS"]
    assert header["torch's BLAS"].endswith("threads")


def test_import_time_is_measured_in_a_fresh_process():
    base, more, modules = import_time.once("tensorbus", cache="", write=False)
    assert base > 0 and more > 0 and modules > 50


def test_peak_memory_is_that_of_this_process():
    assert 20 < program.peak_megabytes() < 20_000


@pytest.mark.slow
def test_epochs_of_the_digits_run_on_both_libraries(live_torch):
    rows = loading.collect(processes=1, epochs=1, only="kept")
    assert [row.limit for row in rows] == [1.1, None]
    assert all(row.ours > 0 and row.theirs > 0 for row in rows)
