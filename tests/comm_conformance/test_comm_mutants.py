"""The comm suite catches comms that are wrong in one way, each by a case that is named here."""

from __future__ import annotations

import importlib

import pytest

from tensorbus_conformance.comms import run_comm

WRONG = [
    ("MovesNothing", 2, "C1/all_reduce/int32/sum-1009", "elements differ"),
    ("MovesNothing", 2, "C0/send/int32/ring-1009", "have other bits"),
    ("MovesNothing", 2, "C1/barrier/any/nobody-early", "left a barrier"),
    ("Truncates", 2, "C0/send/float32/ring-1009", "9 of 1,009 elements have other bits"),
    ("MixesRanks", 2, "C1/all_gather/int16/1009", "have other bits"),
    ("DropsTheLastChunk", 2, "C1/all_reduce/float32/sum-700001", "elements differ"),
    ("WaitsForTheReceiver", 2, "C0/send/int64/crossing", "CommTimeout"),
    ("ReducesInFloat32", 2, "C1/all_reduce/float64/sum-1009", "elements differ"),
    ("OwnOrderOnEachRank", 3, "C1/all_reduce/float32/sum-rounded", "not the same bits"),
    ("IgnoresTags", 2, "C0/recv/int64/tags-apart", "got the message of tag"),
    ("Averages", 2, "C1/all_reduce/float32/sum-1009", "elements differ"),
    ("OverwritesItsInput", 2, "C1/reduce_scatter/int64/sum-1009", "must stay as it was"),
    ("BarrierOfNobody", 3, "C1/barrier/any/nobody-early", "left a barrier"),
    ("SendsWhatComesLater", 2, "C0/send/int64/array-is-free-after", "written after it"),
    ("NotANumberLoses", 2, "C1/all_reduce/float16/min-nan", "elements differ"),
    ("AddsBitsOfBfloat16", 2, "C1/all_reduce/bfloat16/sum-1009", "elements differ"),
    ("LiesAboutTheSender", 3, "C0/recv/int64/from-any", "recv said rank 0 sent"),
    ("HasNoGathering", 2, "C1/all_gather/float32/1009", "all_gather is not offered"),
    ("LeaksAThread", 2, "C0/close/any/frees-everything", "threads before"),
    ("ComparesNothing", 2, "C2/disagree/any/all_reduce-operation-10", "raised nothing"),
    ("ForgetsWhatALeaverSent", 3, "C2/leave/any/after-its-last-send", "raised DistBackendError"),
]


def mutant(name: str):
    return getattr(importlib.import_module("mutant_comms"), name)


@pytest.mark.parametrize(("name", "ranks", "case", "text"), WRONG)
def test_a_named_case_catches_it(name, ranks, case, text):
    report = run_comm(mutant(name), ranks, pattern=case, threads=True, timeout=10)
    (result,) = report.results
    assert result.outcome == "fail" and text in result.message, result
    assert result.id == f"{case}/{ranks}-ranks"


def test_none_of_these_cases_fails_for_a_healthy_one():
    for ranks in (2, 3):
        cases = {case for _, n, case, _ in WRONG if n == ranks}
        pattern = ",".join(cases)
        report = run_comm(mutant("Healthy"), ranks, pattern=pattern, threads=True, timeout=20)
        assert {r.id.rpartition("/")[0] for r in report.results} == cases
        assert {r.outcome for r in report.results} == {"pass"}, report.failures


@pytest.mark.parametrize(
    ("name", "ranks", "case", "timeout", "text"),
    [
        ("LeaksAPort", 2, "C0/close/any/frees-everything", 10, "open files before"),
        ("SwallowsALostPeer", 2, "C2/kill/any/comm-all_reduce", 10, "raised nothing"),
        ("DropsWhatADeadRankSent", 3, "C2/kill/any/after-its-last-send", 10, "DistBackendError"),
        ("ComparesSizesAlone", 2, "C2/disagree/any/all_reduce-dtype-10", 10, "raised nothing"),
    ],
)
def test_a_named_case_catches_it_in_processes(name, ranks, case, timeout, text):
    report = run_comm(mutant(name), ranks, pattern=case, timeout=timeout)
    (result,) = report.results
    assert result.outcome == "fail" and text in result.message, result


@pytest.mark.slow
def test_a_comm_that_hangs_is_ended_and_not_tried_for_long():
    report = run_comm(mutant("Hangs"), 2, pattern="C1/all_reduce/*int16/*", timeout=6)
    outcomes = [(r.id.split("/")[3], r.outcome) for r in report.results]
    assert outcomes[:2] == [("sum-0", "pass"), ("sum-1", "pass")]
    assert [o for _, o in outcomes[2:]] == ["crash"] * 3 + ["blocked"] * (len(outcomes) - 5)
    assert report.results[-1].message == "3 cases of all_reduce hang already"
    assert "ranks 0, 1: gave no result in time" in report.results[2].message


def test_ranks_that_never_meet_end_the_run():
    pattern = "C1/all_gather/int8/*,C1/broadcast/int8/*,C1/all_reduce/int8/*,C2/kill/*"
    report = run_comm(mutant("Healthy"), 2, pattern=pattern, timeout=0.6)  # and not threads
    tried = [r for r in report.results if r.outcome != "blocked"]
    assert len(tried) == 6 and all(r.bad for r in tried) and len(report.results) > 15
    assert "say --threads" in report.results[-1].message


def test_the_memory_of_a_device_is_taken_as_well():
    report = run_comm(mutant("OnADevice"), 2, "C0,C1", profile="core", threads=True)
    assert report.ok, report.failures[:5]
    declared = [r for r in report.results if r.outcome == "not supported"]
    assert len(declared) < len(report.results) / 4
    assert {r.message.split(" which")[0] for r in declared if "objects" in r.id} == {
        "the comm takes no host memory,"
    }


def test_what_is_not_claimed_is_declared_and_not_tried(monkeypatch):
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu,comm:tcp")  # the one under test is let through
    pattern = "C0/capabilities/*,C1/all_reduce/*,C1/all_gather_object/*"
    report = run_comm(mutant("OnlyFloat32"), 2, pattern=pattern, profile="core", threads=True)
    outcomes = {r.id: r.outcome for r in report.results}
    assert report.ok and report.capabilities["dtypes"] == ["float32"], report.failures
    for id, outcome in outcomes.items():
        claimed = "/float32/" in id or "/capabilities/" in id
        assert outcome == ("pass" if claimed else "not supported"), id


def test_a_rank_that_dies_is_one_result_with_its_last_words():
    report = run_comm(mutant("Dies"), 2, pattern="C1/broadcast/int8/*", timeout=30)
    by_size = {r.id.split("/")[3]: r for r in report.results}
    assert by_size["0"].outcome == "pass"
    assert by_size["1"].outcome in ("crash", "fail")
    assert "rank 1" in by_size["1"].message and "a library says why" in by_size["1"].message


def test_ranks_that_cannot_join_fail_with_the_reason():
    report = run_comm(mutant("DoesNotStart"), 2, pattern="C1/barrier/*", timeout=30)
    assert [r.outcome for r in report.results] == ["fail"] * 3
    assert "init_process_group on rank" in report.results[0].message
    assert "no such network" in report.results[0].message
