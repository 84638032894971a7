"""The debug mode, and how comms are found, chosen and launched."""

from __future__ import annotations

import threading

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.discovery.metadata import COMMS
from tensorbus.distributed import ReduceOp, choice

SOURCE = """
from tensorbus.plugin import CommSpec, Launch, hookimpl

@hookimpl
def tensorbus_comm():
    return CommSpec("{name}", {arguments})
"""


@pytest.fixture
def debug():
    dist.set_debug_level(1)
    yield
    dist.set_debug_level(0)


# -- debug -----------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["local", "tcp"])
def test_debug_mode_tells_both_sides_before_anything_is_sent(backend, debug):
    def rank():
        me, x = dist.get_rank(), torch.ones(4)
        pairs = [
            (lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0), "all_reduce", "broadcast"),
            (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x[:3]), r"\\(4,\\)", r"\\(3,\\)"),
            (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x.int()), "float32", "int32"),
            (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x, ReduceOp.MAX), "SUM", "MAX"),
            (lambda: dist.broadcast(x, 0), lambda: dist.broadcast(x, 1), "from 0", "from 1"),
        ]
        for zero, one, first, second in pairs:
            with pytest.raises(dist.DistBackendError, match="do not agree") as caught:
                (one if me else zero)()
            text = str(caught.value)
            zeros, ones = text.split("rank 0 calls")[1].split("; rank 1 calls")
            assert first.replace("\\\\", "") in zeros and second.replace("\\\\", "") in ones
        dist.all_reduce(x)
        assert x.tolist() == [2] * 4
        outs = [torch.zeros(1), torch.zeros(2)]
        dist.all_gather(outs, torch.ones(me + 1))
        dist.barrier()

    dist.local.run(rank, 2, backend=backend)


def test_the_debug_level_comes_from_the_environment(monkeypatch):
    from tensorbus.distributed import debug as module

    for text, level in [("", 0), ("OFF", 0), ("1", 1), ("detail", 2)]:
        monkeypatch.setattr(module, "_level", None)
        monkeypatch.setenv(module.VARIABLE, text)
        assert dist.get_debug_level() == level
    monkeypatch.setattr(module, "_level", None)
    monkeypatch.setenv(module.VARIABLE, "loud")
    with pytest.raises(ValueError, match="TENSORBUS_DISTRIBUTED_DEBUG=loud: it may be 0 or OFF"):
        dist.get_debug_level()
    monkeypatch.setattr(module, "_level", module.DebugLevel.OFF)


# -- plugins ---------------------------------------------------------------------------------
def test_comms_are_listed_without_being_loaded_and_fail_alone(install, monkeypatch):
    def module(name, arguments):
        return SOURCE.format(name=name, arguments=arguments)

    install("acme-a", {COMMS: {"broken": "acme_a"}}, {"acme_a": "raise OSError('no library')"})
    probe = "def probe(): raise RuntimeError('no hardware here')\n"
    arguments = "None, ('host', 'npu'), 9, probe=probe, install='pip install it'"
    source = {"acme_b": probe + module("absent", arguments)}
    install("acme-b", {COMMS: {"absent": "acme_b"}}, source)
    install(
        "acme-c",
        {COMMS: {"odd": "acme_c"}},
        {"acme_c": module("odd", "load=lambda: 3, priority=-1")},
    )
    assert {"broken", "absent", "odd", "tcp", "local"} <= set(discovery.comm_names())
    assert {r.state for r in discovery.records(COMMS)} == {"found"}
    with pytest.raises(RuntimeError, match="comm 'broken' of acme-a 1.0 can't be used: OSError"):
        discovery.comm("broken")
    with pytest.raises(RuntimeError, match="no hardware here. What to do: pip install it"):
        discovery.comm("absent")
    with pytest.raises(
        RuntimeError, match=r"returned int, not a subclass of tensorbus.plugin.Comm"
    ):
        discovery.comm("odd")
    assert choice.for_host() == "tcp" and choice.for_device("npu") is None
    assert dist.get_default_backend_for_device("npu:1") == "tcp"
    assert dist.is_backend_available("cpu:tcp,npu:local") and not dist.is_backend_available(
        "absent"
    )
    assert dist.is_tcp_available() and not dist.is_absent_available()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dist.nothing
    discovery.reset()
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu,comm:local")
    assert discovery.comm_names() == ["local"]
    with pytest.raises(RuntimeError, match="left out by TENSORBUS_PLUGINS"):
        discovery.comm("tcp")


def test_the_launcher_of_a_comm_gives_rank_and_size(install):
    source = """
from tensorbus_comm_local.comm import LocalComm
from tensorbus.plugin import Comm, CommSpec, Launch, float32, uint8, hookimpl
class Born(Comm):
    name = "born"
    def capabilities(self): return {"host": frozenset({float32, uint8})}
    def broadcast(self, *a): pass
    def all_reduce(self, *a): pass
    def barrier(self, *a): pass
@hookimpl
def tensorbus_comm():
    return CommSpec("born", lambda: Born, needs_store=False, launched_by=lambda: Launch(0, 1, 3))
"""
    install("acme-born", {COMMS: {"born": "acme_born"}}, {"acme_born": source})
    dist.init_process_group(timeout=5)
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "born")
    assert dist.get_node_local_rank() == 3
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


def test_threads_that_are_no_ranks_see_the_process():
    seen = []

    def rank():
        thread = threading.Thread(target=lambda: seen.append(dist.is_initialized()))
        thread.start()
        thread.join()
        return dist.is_initialized()

    assert dist.local.run(rank, 2) == [True, True] and seen == [False, False]
