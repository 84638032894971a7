"""Averages, tables, traces, stacks, schedules."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.profiler.table_cases import tables

import tensorbus as tb
from tensorbus import profiler
from tensorbus.autograd import profiler as older
from tensorbus.profiler import ProfilerAction, profile, record_function, schedule


def test_tables_are_pytorchs(oracle: Any) -> None:
    expected = oracle(lambda torch: tables(torch.autograd.profiler))
    assert tables(older) == expected


def test_plans_are_pytorchs(oracle: Any) -> None:
    def plans(lib: Any) -> list[list[str]]:
        given = [
            {"wait": 1, "warmup": 1, "active": 2},
            {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
            {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
            {"wait": 0, "warmup": 2, "active": 1, "repeat": 1},
        ]
        return [[lib.profiler.schedule(**g)(i).name for i in range(14)] for g in given]

    assert plans(tb) == oracle(plans)


def test_steps_follow_the_plan_as_in_pytorch(oracle: Any) -> None:
    def run(lib: Any, **options: Any) -> Any:
        x, got = lib.ones(2), []
        kind = lib.profiler

        def ready(p: Any) -> None:
            got.append([p.step_num, [e.name for e in p.events()]])

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            plan = kind.schedule(wait=1, warmup=1, active=2, repeat=2)
            with kind.profile(schedule=plan, on_trace_ready=ready, **options) as p:
                for _ in range(9):
                    x + x
                    p.step()
        texts = [str(w.message) for w in told if w.category is UserWarning]
        return [got, [e.name for e in p.events()], texts]

    for options in ({}, {"acc_events": True}):
        assert run(tb, **options) == oracle(lambda torch, o=options: run(torch, **o))


def test_a_plan_that_records_last_is_ready_at_the_end() -> None:
    got: list[int] = []
    plan = schedule(wait=0, warmup=1, active=5)
    x = tb.ones(2)
    with profile(schedule=plan, on_trace_ready=lambda p: got.append(len(p.events()))) as p:
        x + x
        p.step()
        x * x
    assert got == [2]
    assert [e.name for e in p.events()] == ["ProfilerStep*", "aten::mul"]
    assert [e.trace_name for e in p.events()] == ["ProfilerStep#1", "aten::mul"]


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}])
def test_impossible_plans_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})
    with pytest.raises(AssertionError, match="non-negative"):
        schedule(wait=1, warmup=1, active=1)(-1)


def test_plans_that_end_in_the_middle_warn() -> None:
    actions = [ProfilerAction.WARMUP, ProfilerAction.NONE, ProfilerAction.RECORD]
    p = profile(schedule=lambda step: actions[min(step, 2)])
    p.start()
    with pytest.warns(UserWarning, match="WARMUP followed by NONE"):
        p.step()
    with pytest.warns(UserWarning, match="at the end of each cycle"):
        p.step()
    p.stop()
    assert [e.trace_name for e in p.events()] == ["ProfilerStep#2"]


def averaged() -> Any:
    x = tb.ones(2, 3)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        x + x
        with record_function("block"):
            x[0] + x[1]
        x + 1
    return p


def test_averages_add_up() -> None:
    p = averaged()
    by_name = {e.key: e for e in p.key_averages()}
    assert {k: e.count for k, e in by_name.items()} == {
        "aten::add": 3, "block": 1, "aten::select": 2
    }  # fmt: skip
    added = by_name["aten::add"]
    own = [e for e in p.events() if e.name == "aten::add"]
    assert added.cpu_time_total == pytest.approx(sum(e.cpu_time_total for e in own))
    assert added.cpu_time == pytest.approx(added.cpu_time_total / 3)
    assert added.cpu_memory_usage == (6 + 3 + 6) * 4
    assert added.usage == {"cpu": (3, 60)}
    assert by_name["block"].cpu_memory_usage == 12
    assert by_name["block"].self_cpu_memory_usage == 0
    shapes = {(e.key, str(e.input_shapes)): e.count for e in p.key_averages(True)}
    assert shapes["aten::add", "[[2, 3], [2, 3]]"] == 1
    assert shapes["aten::add", "[[3], [3]]"] == 1
    assert shapes["aten::add", "[[2, 3], []]"] == 1
    lines = [e.stack for e in p.key_averages(group_by_stack_n=1) if e.key == "aten::add"]
    assert len(lines) == 3 and all(len(stack) == 1 for stack in lines)
    total = p.key_averages().total_average()
    assert (total.key, total.count) == ("Total", 6)
    assert total.self_cpu_time_total == pytest.approx(p.events().self_cpu_time_total)


def test_tables_sort_and_refuse() -> None:
    p = averaged()
    rows = p.key_averages().table(sort_by="count", row_limit=2).splitlines()
    assert [row.split()[0] for row in rows[3:5]] == ["aten::add", "aten::select"]
    assert rows[5].startswith("---")
    with pytest.raises(AttributeError, match="foo"):
        p.key_averages().table(sort_by="foo")
    with pytest.raises(ValueError, match="time_unit"):
        p.key_averages().table(time_unit="h")


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_traces_are_whole(name: str, tmp_path: Path) -> None:
    p = averaged()
    p.add_metadata("note", "some words")
    p.add_metadata_json("numbers", "[1, 2]")
    path = str(tmp_path / name)
    p.export_chrome_trace(path)
    read: Any = gzip.open if name.endswith("gz") else open
    with read(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    assert (trace["note"], trace["numbers"]) == ("some words", [1, 2])
    assert (trace["record_shapes"], trace["with_flops"]) == (1, 0)
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == [e.name for e in p.events()]
    assert {e["cat"] for e in spans} == {"cpu_op", "user_annotation"}
    assert all(e["pid"] == os.getpid() and e["dur"] >= 0 for e in spans)
    block = next(e for e in spans if e["name"] == "block")
    inside = [e for e in spans if e["args"]["External id"] in (3, 4, 5)]
    assert len(inside) == 3
    for e in inside:
        assert block["ts"] <= e["ts"]
        assert e["ts"] + e["dur"] <= block["ts"] + block["dur"] + 0.002
    assert spans[0]["args"]["Input Dims"] == [[2, 3], [2, 3]]
    named = [e for e in trace["traceEvents"] if e["ph"] == "M"]
    assert {"process_name", "thread_name"} == {e["name"] for e in named}


def test_stacks_are_lines_with_whole_microseconds(tmp_path: Path) -> None:
    p = averaged()
    path = tmp_path / "stacks.txt"
    p.export_stacks(str(path))
    for line in path.read_text("utf-8").splitlines():
        frames, value = line.rsplit(" ", 1)
        assert int(value) > 0 and " " not in frames
        assert frames.split(";")[-1].endswith(":_averaged")
    with pytest.raises(ValueError, match="self_cpu_time_total"):
        p.export_stacks(str(path), "self_cuda_time_total")
    with profile() as q:
        pass
    with pytest.raises(AssertionError, match="with_stack=True"):
        q.export_stacks(str(path))


def test_the_handler_for_tensorboard_writes_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    x = tb.ones(2)
    for packed in (False, True):
        handler = profiler.tensorboard_trace_handler(str(folder), "me", use_gzip=packed)
        with profile(on_trace_ready=handler):
            x + x
    found = sorted(p.name for p in folder.iterdir())
    assert len(found) == 2 and all(n.startswith("me.") for n in found)
    assert sorted(n.endswith(".pt.trace.json.gz") for n in found) == [False, True]
    (tmp_path / "file").write_text("")
    with profile() as p:
        pass
    with pytest.raises(RuntimeError, match="Can't create directory"):
        profiler.tensorboard_trace_handler(str(tmp_path / "file" / "x"))(p)


def test_the_older_profile() -> None:
    x = tb.ones(2)
    p = older.profile(record_shapes=True)
    assert repr(p) == "<unfinished torch.autograd.profile>"
    with p:
        x + x
        with pytest.raises(RuntimeError, match="not reentrant"):
            p.__enter__()
    assert [e.name for e in p.function_events] == ["aten::add"]
    assert str(p) == p.table() == str(p.function_events)
    assert p.key_averages()[0].count == 1
    assert p.self_cpu_time_total == p.total_average().self_cpu_time_total > 0
    with older.profile(enabled=False) as nothing:
        x + x
    assert nothing is None
    with pytest.warns(UserWarning, match="cuda can't be profiled"):
        older.profile(use_cuda=True)


def test_what_other_profilers_would_need_is_refused() -> None:
    for emit in (older.emit_nvtx, older.emit_itt):
        with pytest.raises(RuntimeError, match="no ranges"):
            emit().__enter__()
        with emit(enabled=False):
            pass
    with pytest.raises(RuntimeError, match="nvprof"):
        older.load_nvprof("x")
    with pytest.raises(RuntimeError, match="nvprof"):
        older.parse_nvprof_trace("x")


def test_older_names_of_times_warn() -> None:
    event = older.FunctionEvent(1, "x", 3, 0.0, 2.0)
    for name in ("cuda_time", "cuda_time_total", "self_cuda_time_total"):
        with pytest.warns(FutureWarning, match=name.replace("cuda", "device")):
            assert getattr(event, name) == 0
    assert (event.device_resource_id, event.is_async, event.node_id) == (3, False, -1)


def test_small_helpers() -> None:
    unique = older.EnforceUnique()
    unique.see(1, "a")
    unique.see(1, "b")
    with pytest.raises(RuntimeError, match=r"duplicate key: \(1, 'a'\)"):
        unique.see(1, "a")
    tracker = older.KinetoStepTracker
    start = tracker.current_step()
    tracker.init_step_count("one")
    tracker.init_step_count("two")
    assert tracker.increment_step("one") == start + 1
    assert tracker.increment_step("two") == start + 1  # the same step of the program
    assert tracker.increment_step("two") == start + 2
    assert tracker.erase_step_count("one") and tracker.erase_step_count("two")
    assert not tracker.erase_step_count("one")

    class Held:
        def __init__(self, at: int) -> None:
            self.at = at

        def start_ns(self) -> int:
            return self.at

    records = [(Held(at), False) for at in (5000, 1000, 3000)]
    found = list(older.MemRecordsAcc(records).in_interval(1, 4))
    assert [r[0].at for r in found] == [1000, 3000]


def test_no_kineto() -> None:
    assert profiler.kineto_available() is False
    assert profiler.supported_activities() == {profiler.ProfilerActivity.CPU}
