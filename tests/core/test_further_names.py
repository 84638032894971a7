"""Names that programs touch beside tensors: jit's questions, CUDA's runtime, checkpoint groups."""

# ruff: noqa: UP006, UP007, UP035, UP045 -- types in the spellings that programs have
from __future__ import annotations

import warnings
from typing import Dict, List, Optional, Tuple, Union

import pytest

import tensorbus as torch


def tried(f):
    try:
        return f()
    except Exception as error:
        return [type(error).__name__, str(error)]


VALUES = [
    ([1], List[int]), ([1, "a"], List[int]), ({}, Dict[str, int]), ((1, "a"), Tuple[int, str]),
    ((1,), Tuple[int, str]), (None, Optional[int]), (3, (int, str)), ("a", Union[int, str]),
    ([1], list), ([1], List), ({"a": [1]}, Dict[str, List[int]]), (1.0, int), ([], List[int]),
]  # fmt: skip


def test_types_of_containers_are_told_as_pytorch_does(oracle):
    def program(lib):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [tried(lambda v=v, t=t: lib.jit.isinstance(v, t)) for v, t in VALUES]

    assert program(torch) == list(oracle(program))
    with pytest.warns(UserWarning, match="inner type of a container is lost"):
        torch.jit.isinstance([], list[int])


def test_jit_s_settings_are_kept(oracle):
    def program(lib):
        first = lib.jit.set_fusion_strategy([("DYNAMIC", 3)])
        second = lib.jit.set_fusion_strategy(first)
        wrong = tried(lambda: lib.jit.set_fusion_strategy([("X", 1)]))
        return [list(map(list, first)), list(map(list, second)), wrong]

    assert program(torch) == list(oracle(program))
    assert torch.wait(torch.fork(lambda x: x + 1, 2)) == 3


def test_a_group_of_backward_passes_computes_once(oracle):
    def program(lib):
        calls, x = [], lib.ones(3, requires_grad=True)

        def f(x):
            calls.append(1)
            return x.sin(), x.exp()

        check = lib.utils.checkpoint
        y, z = check.checkpoint(f, x, use_reentrant=False)
        with check.GraphExecGroup() as group:
            assert check.GraphExecGroup._get_current_group() is group
            y.sum().backward(retain_graph=True)
            z.sum().backward()
            nested = tried(lambda: check.GraphExecGroup().__enter__())
        once = len(calls)
        y, z = check.checkpoint(f, x, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        z.sum().backward()
        left = check.GraphExecGroup._get_current_group()
        return [once, len(calls), nested[0], nested[1][:42], left, x.grad.tolist()]

    ours, theirs = program(torch), list(oracle(program))
    assert ours[:-1] == theirs[:-1]
    assert ours[-1] == pytest.approx(theirs[-1], rel=1e-6)


def test_a_second_use_of_a_saved_tensor_in_a_group_is_refused():
    x = torch.ones(2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: x.sin(), x, use_reentrant=False)
    with torch.utils.checkpoint.GraphExecGroup():
        y.sum().backward(retain_graph=True)
        with pytest.raises(torch.utils.checkpoint.CheckpointError, match="already unpacked once"):
            y.sum().backward()


def test_settings_of_compiled_regions_and_captures_are_checked(oracle):
    def program(lib):
        graph = lib.autograd.graph
        return [
            tried(lambda b=b: graph.region_activation_memory_budget(b).__enter__())
            for b in (0.4, 2, True)
        ]

    assert program(torch) == [list(r) for r in oracle(program)]
    torch.autograd.graph.set_override_stale_capture_stream(True)
    with pytest.raises(RuntimeError, match="enabled must be a bool, but got int"):
        torch.autograd.graph.set_override_stale_capture_stream(1)


ABSENT = {
    "CUDAGraph": (), "graph": (None,), "graph_pool_handle": (), "MemPool": (),
    "make_graphed_callables": (None, ()), "use_mem_pool": (None,), "GreenContext": (),
    "CUDAPluggableAllocator": ("a", "b", "c"), "change_current_allocator": (None,),
    "caching_allocator_alloc": (1,), "caching_allocator_delete": (1,),
    "caching_allocator_enable": (False,), "caching_allocator_disabled": (),
    "memory_snapshot": (), "set_per_process_memory_fraction": (0.5,), "current_blas_handle": (),
    "current_solver_handle": (), "utilization": (), "memory_usage": (), "temperature": (),
    "power_draw": (), "clock_rate": (),
}  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_what_no_backend_offers_says_so_when_it_is_used(name):
    with pytest.raises(NotImplementedError, match=rf"^torch.cuda.{name}.*: no backend offers "):
        getattr(torch.cuda, name)(*ABSENT[name])


def test_what_has_a_true_answer_gives_it():
    cuda = torch.cuda
    assert cuda.get_allocator_backend() == "native"
    assert (cuda.host_memory_stats(), cuda.host_memory_stats_as_nested_dict()) == ({}, {})
    assert (cuda.get_per_process_memory_fraction(), cuda.check_error(0)) == (1.0, None)
    assert cuda.caching_allocator_enable(True) is None
    assert cuda.set_per_process_memory_fraction(1.0) is None
    with pytest.raises(RuntimeError, match="returned the code 2"):
        cuda.check_error(2)
    with pytest.raises(TypeError, match="Invalid type for fraction argument, must be `float`"):
        cuda.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="Invalid fraction value: 2.0. Allowed range: 0~1"):
        cuda.set_per_process_memory_fraction(2.0)
    wanted = "offers no graphs of a stream's work|Cannot access accelerator device when none"
    with pytest.raises(RuntimeError, match=wanted):  # NotImplementedError is one
        torch.accelerator.Graph()
