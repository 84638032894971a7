"""The names under which users ask for comms: their own, aliases, one for each type of device."""

from __future__ import annotations

import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.discovery.metadata import COMMS
from tensorbus.distributed import local

SOURCE = """
from tensorbus.plugin import CommSpec, hookimpl
from tensorbus_comm_local.comm import LocalComm

def absent():
    raise RuntimeError("no hardware here")

@hookimpl
def tensorbus_comm():
    return CommSpec("{name}", lambda: LocalComm, threads=True, api=2, {more})
"""


@pytest.fixture
def declare(install):
    """``declare(name, more)``: a plugin with a comm of that name."""

    def make(name: str, more: str) -> None:
        module = f"acme_{name}"
        source = SOURCE.format(name=name, more=more)
        install(f"acme-{name}", {COMMS: {name: module}}, {module: source})

    return make


def summed() -> list[float]:
    x = torch.ones(2) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    return x.tolist()


@pytest.mark.parametrize("name", ["gloo", "GLOO", "cpu:gloo", "cpu:gloo,cuda:gloo"])
def test_gloo_is_the_comm_that_serves_the_host(name):
    def rank():
        found = summed()
        pair = dist.new_group([0, 1], backend="gloo")
        return found, dist.get_backend(), dist.get_backend(pair)

    # What a program asked for is what it is told, as it may ask again: get_backend() == "gloo".
    assert local.run(rank, 2, backend=name) == [([3.0, 3.0], "gloo", "gloo")] * 2


def test_ranks_that_use_different_names_of_one_comm_meet(run_job):
    ended = run_job(
        """
        dist.init_process_group("gloo" if RANK else "tcp", f"tcp://{HOST}:{PORT}", rank=RANK,
                                world_size=SIZE, timeout=60)
        x = torch.ones(2)
        dist.all_reduce(x)
        print(x.tolist(), dist.get_backend())
        dist.destroy_process_group()
    """.replace("\n        ", "\n")
    )
    assert [e.out for e in ended] == ["[2.0, 2.0] tcp\n", "[2.0, 2.0] gloo\n"]


def test_what_programs_ask_about_names():
    assert (dist.Backend.GLOO, dist.Backend("GLOO")) == ("gloo", "gloo")
    assert dist.is_gloo_available() and dist.is_backend_available("cpu:gloo,cuda:gloo")
    # Declared, usable or not: a program compares with it before it asks whether it is there.
    assert (dist.Backend.NCCL, dist.Backend.MPI) == ("nccl", "mpi")
    assert not dist.is_ucc_available()
    with pytest.raises(AttributeError, match="'Backend' has no attribute 'NETWORK'"):
        _ = dist.Backend.NETWORK
    for error in (AssertionError, RuntimeError):  # PyTorch's, and that of all unusable plugins
        text = "^Unknown backend type network: no plugin declares 'network' .*: gloo, local, mpi,"
        with pytest.raises(error, match=text):
            dist.init_process_group("Network", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()


def test_a_comm_for_devices_that_are_not_here_need_not_work(declare):
    declare("absent", "probe=absent, devices=('npu',), aliases=('npulink',)")

    def rank():
        found = summed()
        pair = dist.new_group([0, 1])
        dist.barrier(pair)
        return found, dist.get_backend()

    named = local.run(rank, 2, backend="cpu:gloo,npu:npulink")
    assert named == [([3.0, 3.0], "gloo")] * 2
    for only in ("npulink", "npu:absent", "cpu:absent", "cpu:npulink,npu:gloo"):
        with pytest.raises(RuntimeError, match="comm 'absent' of acme-absent 1.0 .*no hardware"):
            dist.init_process_group(only, store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(RuntimeError, match="no plugin declares 'link'"):
        dist.init_process_group("cpu:gloo,npu:link", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_npulink_available() and dist.Backend.NPULINK == "npulink"


def test_a_comm_for_a_device_that_is_here_must_work(declare):
    declare("absent", "probe=absent")
    with discovery.plugged(type(discovery.backend("cpu"))()) as device:
        with pytest.raises(RuntimeError, match="no hardware here"):
            dist.init_process_group(
                f"cpu:gloo,{device}:absent", store=dist.HashStore(), rank=0, world_size=1
            )
        assert not dist.is_initialized()


def test_who_has_an_alias(declare, monkeypatch):
    declare("slow", "priority=-1, aliases=('gloo', 'mine')")
    assert discovery.comm_spec("gloo").name == "tcp"
    declare("fast", "priority=5, aliases=('gloo',)")
    assert discovery.comm_spec("gloo").name == "fast"
    assert discovery.comm_spec("mine").name == "slow"
    assert dist.Backend.MINE == "mine"
    declare("other", "priority=-1, aliases=('mine',)")
    with pytest.raises(RuntimeError, match="'mine' is another name of both '\\w+' and '\\w+' in"):
        discovery.comm("mine")
    # A comm's own name comes before aliases, and one that can't be used has none.
    declare("mine", "priority=-1")
    assert discovery.comm_spec("mine").name == "mine"
    declare("broken", "aliases=('shattered',), unknown=1")
    with pytest.raises(RuntimeError, match="no plugin declares 'shattered'"):
        discovery.comm("shattered")
    monkeypatch.setenv("TENSORBUS_PLUGINS", "cpu,comm:slow")
    discovery.reset()
    assert discovery.comm_spec("gloo").name == "slow"
