"""Collectives of lists, later names, answers about groups, and rendezvous of a program's own."""

from __future__ import annotations

import warnings

import pytest

import tensorbus
import tensorbus.distributed as dist
from tensorbus.nn.parallel.comm_hook import GradBucket


def run(fn, ranks=3):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return dist.local.run(fn, ranks)


@pytest.mark.parametrize("async_op", [False, True])
def test_lists_are_reduced_and_gathered_element_by_element(async_op):
    def rank():
        me = dist.get_rank()
        x = [tensorbus.ones(2) * me, tensorbus.tensor([[float(me)]])]
        work = dist.all_reduce_coalesced(x, dist.ReduceOp.MAX, async_op=async_op)
        if async_op:
            work.wait()
        out = [[tensorbus.zeros(2), tensorbus.zeros(1, 1)] for _ in range(3)]
        second = dist.all_gather_coalesced(out, [t + me for t in x], async_op=async_op)
        for w in (work, second) if async_op else ():
            assert w.wait() and w.is_completed() and w.is_success() and w.exception() is None
            assert len(w.result()) in (2, 6)
            assert len(w.get_future().wait()) == len(w.result())
        assert async_op or (work, second) == (None, None)
        return [t.tolist() for t in x], [[t.sum().item() for t in ts] for ts in out]

    expected = ([[2.0, 2.0], [[2.0]]], [[4.0 + 2 * r, 2.0 + r] for r in range(3)])
    assert run(rank) == [expected] * 3


def test_lists_warn_and_lists_of_other_lengths_are_refused():
    def rank():
        with pytest.warns(FutureWarning, match="all_reduce_coalesced` will be deprecated"):
            dist.all_reduce_coalesced([tensorbus.ones(1)])
        with pytest.raises(RuntimeError, match="has to have 2 tensors.*but one has 1"):
            dist.all_gather_coalesced([[tensorbus.ones(1)]], [tensorbus.ones(1)] * 2)
        return True

    assert dist.local.run(rank, 1) == [True]


def test_later_names_of_collectives_into_one_tensor():
    def rank():
        mine = tensorbus.ones(2) * dist.get_rank()
        whole, part = tensorbus.zeros(6), tensorbus.zeros(2)
        dist.all_gather_single(whole, mine)
        dist.reduce_scatter_single(part, whole)
        return whole.tolist(), part.tolist()

    assert run(rank) == [([0, 0, 1, 1, 2, 2], [3.0 * r] * 2) for r in range(3)]


def test_answers_about_groups():
    def rank():
        dist.new_group([0, 1])
        return dist.get_pg_count(), dist.get_backend_config()

    assert run(rank) == [(2, "cpu:local"), (2, "cpu:local"), (1, "cpu:local")]
    config = dist.BackendConfig("cpu:tcp,cuda:nccl")
    assert config.get_device_backend_map() == {"cpu": "tcp", "cuda": "nccl"}
    assert repr(config) == "cpu:tcp,cuda:nccl"
    assert dist.supports_complex(dist.ReduceOp.AVG)
    assert not dist.supports_complex(dist.ReduceOp.MIN)
    assert dist.GradBucket is GradBucket
    assert [h.name for h in dist.BuiltinCommHookType] == ["ALLREDUCE", "FP16_COMPRESS"]
    assert issubclass(dist.QueueEmptyError, dist.DistStoreError)


def test_the_environment_says_the_debug_level_again(monkeypatch):
    before = dist.get_debug_level()
    try:
        monkeypatch.setenv("TENSORBUS_DISTRIBUTED_DEBUG", "DETAIL")
        dist.set_debug_level_from_env()
        assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    finally:
        dist.set_debug_level(before)


def test_a_block_has_its_name_in_profiles():
    with tensorbus.profiler.profile() as profile, dist.record_comm("layer 1"):
        tensorbus.ones(2)
    assert "layer 1" in {event.key for event in profile.key_averages()}


def test_ranks_meet_as_a_program_s_handler_says():
    asked = []

    def handler(url, timeout=None):
        asked.append((url, timeout.total_seconds()))
        yield dist.HashStore(), 0, 1

    dist.register_rendezvous_handler("mine", handler)
    with pytest.raises(RuntimeError, match="handler for mine:// already registered"):
        dist.register_rendezvous_handler("mine", handler)
    with pytest.raises(RuntimeError, match="handler for tcp:// already registered"):
        dist.register_rendezvous_handler("tcp", handler)
    dist.init_process_group("tcp", init_method="mine://x", timeout=7)
    try:
        assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    finally:
        dist.destroy_process_group()
    assert asked == [("mine://x", 7.0)]


def test_modules_in_other_processes_are_refused_with_words():
    with pytest.raises(NotImplementedError, match="no remote procedure calls here"):
        dist.nn.RemoteModule("worker1/cpu", tensorbus.nn.Linear, (1, 1))
