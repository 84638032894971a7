"""Profiles: events of ops, backward nodes, labels and modules, and what is recorded of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tensorbus as tb
import tensorbus.nn.functional as F
from tensorbus._base.modes import RARE, this_thread
from tensorbus._dispatch import watched_entries
from tensorbus.autograd.watched_nodes import WATCHED_NODES
from tensorbus.op_engine.cores import core
from tensorbus.profiler import ProfilerActivity, profile, record_function
from tensorbus.rows.registry import TABLES


def names(p: Any) -> list[str]:
    return [event.name for event in p.events()]


def tree(events: Any) -> list[Any]:
    """The names of events that ran in no other, each with those inside."""
    return [_branch(e) for e in events if e.cpu_parent is None]


def _branch(event: Any) -> Any:
    inside = [_branch(child) for child in event.cpu_children]
    return (event.name, inside) if inside else event.name


@pytest.fixture(autouse=True)
def nothing_stays() -> Any:
    """Whatever a test does, nothing of a profile is left."""
    yield
    assert not RARE.on and not this_thread.handlers
    assert WATCHED_NODES.around is None
    assert not watched_entries._replaced
    for kind in TABLES:
        assert not set(watched_entries.MOVES).intersection(vars(kind))


def test_ops_are_events_in_their_order() -> None:
    x = tb.ones(2, 3)
    with profile() as p:
        y = x + x
        y.exp_()
        y.sum()
        x.double()
    assert names(p)[:2] == ["aten::add", "aten::exp"]
    assert tree(p.events())[-2:] == ["aten::sum", ("aten::to", ["aten::copy_"])]
    assert all(e.time_range.start <= e.time_range.end for e in p.events())
    starts = [e.time_range.start for e in p.events()]
    assert starts == sorted(starts)


def test_a_composition_holds_its_parts_and_times_add_up() -> None:
    # Of integers, for which no backend has a kernel of the whole.
    x, w, b = (tb.ones(*shape, dtype=tb.int64) for shape in ((2, 3), (4, 3), (4,)))
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as p:
        F.linear(x, w, b)
    assert tree(p.events()) == [("aten::linear", ["aten::permute", "aten::matmul", "aten::add"])]
    whole, _, product, _ = p.events()
    inside = sum(e.cpu_time_total for e in whole.cpu_children)
    assert whole.cpu_time_total >= inside
    assert whole.self_cpu_time_total == pytest.approx(whole.cpu_time_total - inside)
    assert product.cpu_parent is whole
    assert whole.input_shapes == [[2, 3], [4, 3], [4]]
    assert product.input_shapes == [[2, 3], [3, 4]]
    assert [e.flops for e in p.events()] == [0, 0, 2 * 2 * 3 * 4, 8]
    assert product.cpu_memory_usage == 2 * 4 * 8
    assert whole.cpu_memory_usage == 2 * 4 * 8  # what it leaves, whatever its parts held
    assert (product.launches, product.written) == (1, 64)
    assert (whole.launches, whole.usage) == (0, {})
    assert p.events().device_usage() == {"cpu": (2, 128)}
    assert p.events().self_cpu_time_total == pytest.approx(whole.cpu_time_total)


def test_recorded_compositions_hold_their_parts_too() -> None:
    x = tb.ones(2, 3, requires_grad=True)
    with profile() as p:
        core("reshape")(x, (3, 2))
    assert tree(p.events()) == [("aten::reshape", ["aten::view"])]


def test_floating_point_operations_of_convolutions(oracle: Any) -> None:
    def counted(lib: Any) -> list[int]:
        x, w, b = lib.ones(2, 4, 9, 8), lib.ones(6, 2, 3, 2), lib.ones(6)
        with lib.profiler.profile(with_flops=True) as p:
            lib.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2)
            lib.conv2d(x, lib.ones(1, 4, 1, 1))
        return [e.flops for e in p.events() if e.name == "aten::conv2d"]

    assert counted(tb) == oracle(counted) == [8640, 1152]


def test_recording_is_left_off_and_on() -> None:
    x = tb.ones(2)
    p = profile()
    p.toggle_collection_dynamic(False, [ProfilerActivity.CPU])  # nothing is recorded yet
    with p:
        x + x
        with record_function("block"):
            p.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
            x * x
            with record_function("left out"):
                p.toggle_collection_dynamic(True, [ProfilerActivity.CUDA])
                x * x
            p.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
            x - x
    assert names(p) == ["aten::add", "block", "aten::sub"]
    with profile() as p:
        x + x
        p.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    assert names(p) == ["aten::add"]


def test_another_profile_where_one_is_left_off() -> None:
    x = tb.ones(2)
    with profile() as p:
        p.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with profile() as inner:
            x + x
            with pytest.raises(RuntimeError, match="already enabled on this thread"):
                p.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        p.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        x * x
    assert (names(inner), names(p)) == (["aten::add"], ["aten::mul"])


def test_joining_has_pytorchs_name() -> None:
    x = tb.ones(2)
    with profile() as p:
        tb.cat([x, x])
    assert names(p) == ["aten::cat"]


def test_views_are_no_launches_and_hold_no_memory() -> None:
    x = tb.ones(2, 3)
    with profile(profile_memory=True) as p:
        x.t()
        x[0]
    assert [e.launches for e in p.events()] == [0, 0]
    assert [e.cpu_memory_usage for e in p.events()] == [0, 0]


def test_writes_into_given_memory_allocate_nothing() -> None:
    x, out = tb.ones(4), tb.empty(4)
    with profile(profile_memory=True) as p:
        x.copy_(out)
        x.zero_()
    assert sum(e.cpu_memory_usage for e in p.events()) == 0
    assert sum(e.written for e in p.events()) == 32


def test_backward_nodes_and_their_ops() -> None:
    x = tb.ones(3, requires_grad=True)
    y = (x * x).sum()
    with profile(record_shapes=True) as p:
        y.backward()
    found = [t for t in tree(p.events()) if t[0].startswith("autograd::engine")]
    assert [t[0] for t in found] == [
        "autograd::engine::evaluate_function: SumBackward0",
        "autograd::engine::evaluate_function: MulBackward0",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    ]
    ((name, inside),) = found[1][1]
    assert name == "MulBackward0"
    assert inside[:2] == ["aten::mul", "aten::mul"]
    assert names(p)[-1] == "torch::autograd::AccumulateGrad" or "aten::copy_" in names(p)
    assert names(p).count("torch::autograd::AccumulateGrad") == 1
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_backward_passes_that_record_and_hooks() -> None:
    x = tb.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 3)
    with profile() as p:
        (g,) = tb.autograd.grad((x * x * x).sum(), x, create_graph=True)
        (h,) = tb.autograd.grad(g.sum(), x)
    assert (g.tolist(), h.tolist()) == ([9.0, 9.0], [54.0, 54.0])
    assert names(p).count("autograd::engine::evaluate_function: SumBackward0") == 2


def test_sequence_numbers_tie_nodes_to_the_ops_that_made_them() -> None:
    x = tb.ones(2, requires_grad=True)
    with profile() as p:
        y = x * x
        y + 1
    first, second = p.events()
    assert 0 < first.sequence_nr < second.sequence_nr
    with profile() as q:
        y.sum().backward()
    made = {e.name: e.sequence_nr for e in q.events()}
    assert made["MulBackward0"] == first.sequence_nr
    assert made["autograd::engine::evaluate_function: MulBackward0"] == first.sequence_nr
    assert made["SumBackward0"] == made["aten::sum"] > second.sequence_nr
    assert made["torch::autograd::AccumulateGrad"] == -1


def test_nodes_of_several_results_have_the_number_of_their_op() -> None:
    x = tb.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    with profile() as p:
        values, vectors = tb.linalg.eigh(x)
        (values.sum() + vectors.sum()).backward()
    made = {e.name: e.sequence_nr for e in p.events()}
    assert made["LinalgEighBackward0"] == made["aten::linalg_eigh"] > 0


def test_labels_hold_what_runs_inside() -> None:
    x = tb.ones(2)

    @record_function("called", "with a text")
    def call() -> Any:
        return x + x

    with profile() as p:
        with record_function("outer"):
            call()
            with record_function("empty"):
                pass
        call()
    assert tree(p.events()) == [
        ("outer", [("called", ["aten::add"]), "empty"]),
        ("called", ["aten::add"]),
    ]
    labels = [e for e in p.events() if e.is_user_annotation]
    assert [e.name for e in labels] == ["outer", "called", "empty", "called"]
    assert {e.scope for e in labels} == {7}
    assert labels[1].args == "with a text"


def test_an_exception_closes_what_it_leaves() -> None:
    x = tb.ones(2)
    with profile() as p:
        with pytest.raises(RuntimeError, match="must match the size"), record_function("broken"):
            x + tb.ones(3)
        x * 2
    shown = tree(p.events())
    assert shown[-1] == "aten::mul"
    assert shown[-2][0] == "broken"
    with pytest.raises(KeyError), profile() as p:
        raise KeyError
    assert p.events() == []


def test_an_op_on_integers_is_one_event() -> None:
    x = tb.tensor([1, 2])
    with profile() as p:
        x.exp()
    ((name, inside),) = tree(p.events())
    assert name == "aten::exp"
    assert inside == ["aten::copy_"]


def test_modules_are_numbered() -> None:
    net, x = tb.nn.Sequential(tb.nn.Linear(2, 2), tb.nn.ReLU(), tb.nn.Linear(2, 2)), tb.ones(1, 2)
    with profile(with_modules=True) as p, tb.no_grad():
        net(x)
    ((name, inside),) = tree(p.events())
    assert name == "nn.Module: Sequential_0"
    assert [part[0] for part in inside] == [
        "nn.Module: Linear_0", "nn.Module: ReLU_0", "nn.Module: Linear_1"
    ]  # fmt: skip
    with profile() as p:
        net(x)
    assert not any(name.startswith("nn.Module") for name in names(p))


def test_stacks_show_the_lines_of_the_program() -> None:
    x = tb.ones(2)

    def inner() -> Any:
        return x + x

    with profile(with_stack=True) as p:
        inner()
    (event,) = p.events()
    assert event.stack[0].endswith(": inner")
    assert event.stack[0].startswith(__file__)
    assert event.stack[1].endswith(": test_stacks_show_the_lines_of_the_program")


def test_only_its_own_thread_is_recorded() -> None:
    x = tb.ones(2)
    got: list[Any] = []

    def work() -> None:
        with profile() as other:
            got.append((x * 3).tolist())
        got.append(names(other))
        got.append((x - 1).tolist())

    with profile() as p:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        x + x
    assert names(p) == ["aten::add"]
    assert got[0] == [3.0, 3.0] and got[2] == [0.0, 0.0]
    assert got[1][0] == "aten::mul"


def test_a_profile_in_a_profile_is_refused_and_the_outer_goes_on() -> None:
    x = tb.ones(2)
    with profile() as p:
        with pytest.raises(RuntimeError, match="Profiler is already enabled on this thread"):
            profile().start()
        x + x
    assert names(p) == ["aten::add"]


def test_profiles_may_begin_and_end_inside_other_modes() -> None:
    x = tb.ones(2)
    p = profile()
    with tb.inference_mode():
        p.start()
        x + x
    x * x
    p.stop()
    assert names(p) == ["aten::add", "aten::mul"]


@pytest.mark.parametrize("device", ["opencl"], indirect=True)
def test_other_devices_are_told_in_the_table(device: str) -> None:
    x = tb.ones(4, device=device)
    with profile() as p:
        (x + x).cpu()
    text = p.key_averages().table()
    add = next(e for e in p.events() if e.name == "aten::add")
    ((name, usage),) = add.usage.items()
    assert (name, usage) == (str(x.device), (1, 16))
    assert f"{name}: " in text.splitlines()[-1] and "launches on the host" in text


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: profile(activities=[]), AssertionError, "No valid profiler activities"),
        (lambda: profile(activities=["CPU"]), AssertionError, "No valid"),  # type: ignore[list-item]
        (lambda: profile().events(), AssertionError, "initialized before accessing events"),
        (lambda: profile().key_averages(), AssertionError, "before getting key averages"),
        (lambda: profile().stop(), AssertionError, "before stopping trace"),
        (lambda: profile().export_chrome_trace("x"), AssertionError, "before exporting"),
        (lambda: record_function(3), TypeError, "str"),  # type: ignore[arg-type]
        (lambda: profile(execution_trace_observer=1), NotImplementedError, "leave it out"),
    ],
)
def test_wrong_use_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_running_profiles_have_no_events() -> None:
    with profile() as p, pytest.raises(AssertionError, match="didn't finish"):
        p.events()


def test_activities_that_are_not_measured_are_told() -> None:
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with pytest.warns(UserWarning, match="timed on the host"):
        profile(activities=both)
    with pytest.warns(FutureWarning, match="use_cuda"):
        profile(use_cuda=True)


def test_a_memory_timeline_is_refused_with_the_reason() -> None:
    with (
        pytest.warns(FutureWarning, match="export_memory_timeline"),
        pytest.raises(NotImplementedError, match="when memory is freed is not recorded"),
    ):
        profile().export_memory_timeline("x.json")
