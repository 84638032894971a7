"""``--numa-binding``: which processors each rank gets, over a machine that a folder describes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tensorbus.cli import UsageError
from tensorbus.cli.probe import Device
from tensorbus.distributed.run import arguments, binding, options

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system binds no process to processors"
)
CORES = 16
ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in range(4)]


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Path:
    """Two sockets of two nodes of four cores of two threads; two cores share a last cache.

    Core c has the threads c and c + 16. The devices 0 and 1 are at node 1, 2 and 3 at node 3.
    """

    def write(path: str, text: object) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n")

    write("devices/system/node/online", "0-3")
    for node in range(4):
        cores = f"{4 * node}-{4 * node + 3},{4 * node + CORES}-{4 * node + CORES + 3}"
        write(f"devices/system/node/node{node}/cpulist", cores)
    for processor in range(2 * CORES):
        own = f"devices/system/cpu/cpu{processor}"
        core = processor % CORES
        first = core // 2 * 2
        write(f"{own}/topology/physical_package_id", core // 8)
        write(f"{own}/topology/thread_siblings_list", f"{core},{core + CORES}")
        shared = f"{first}-{first + 1},{first + CORES}-{first + CORES + 1}"
        for index, (level, kind, whose) in enumerate(
            [(1, "Data", core), (9, "Instruction", 0), (3, "Unified", shared), (2, "Unified", core)]
        ):
            write(f"{own}/cache/index{index}/level", level)
            write(f"{own}/cache/index{index}/type", kind)
            write(f"{own}/cache/index{index}/shared_cpu_list", whose)
    for address, node in zip(ADDRESSES, (1, 1, 3, 3), strict=True):
        write(f"bus/pci/devices/{address}/numa_node", node)
    allow(monkeypatch, range(2 * CORES))
    return tmp_path


def allow(monkeypatch, processors) -> None:
    """Let the launcher's own processors be these."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*processors}, raising=False)


def both(*cores: int) -> set[int]:
    """The threads of cores."""
    return {*cores, *(core + CORES for core in cores)}


NEAR_DEVICES = {
    "node": [both(4, 5, 6, 7), both(4, 5, 6, 7), both(12, 13, 14, 15), both(12, 13, 14, 15)],
    "socket": [both(*range(8)), both(*range(8)), both(*range(8, 16)), both(*range(8, 16))],
    "exclusive": [both(4, 5), both(6, 7), both(12, 13), both(14, 15)],
    "core-complex": [both(4, 5), both(6, 7), both(12, 13), both(14, 15)],
}


@pytest.mark.parametrize("mode", binding.MODES)
def test_ranks_get_processors_near_their_devices(machine, mode):
    found = binding.processors(mode, 4, ADDRESSES, machine)
    assert [*found] == NEAR_DEVICES[mode]
    # A device that no rank uses keeps its share.
    assert [*binding.processors(mode, 1, ADDRESSES, machine)] == NEAR_DEVICES[mode][:1]


def test_without_known_devices_ranks_are_spread_over_the_nodes(machine):
    def nodes(nproc: int) -> list[int]:
        return [min(share) // 4 for share in binding.processors("node", nproc, [], machine)]

    assert (nodes(1), nodes(2), nodes(4)) == ([0], [0, 2], [0, 1, 2, 3])
    assert nodes(6) == [0, 0, 1, 2, 2, 3]
    found = binding.processors("exclusive", 6, [], machine)
    assert [*found] == [
        both(0, 1), both(2, 3), both(4, 5, 6, 7), both(8, 9), both(10, 11), both(12, 13, 14, 15),
    ]  # fmt: skip


def test_only_what_the_launcher_may_use_is_given_out(machine, monkeypatch):
    allow(monkeypatch, {4, 5, 6, 22, 12})
    assert [*binding.processors("exclusive", 2, ADDRESSES, machine)] == [{4, 5}, {6, 22}]
    assert [*binding.processors("core-complex", 2, ADDRESSES, machine)] == [{4, 5}, {6, 22}]
    assert [*binding.processors("node", 2, [], machine)] == [{4, 5, 6, 22}, {12}]
    allow(monkeypatch, {6, 7, 12, 23})  # the complex of 6 and 7 has most, and is both ranks'
    assert [*binding.processors("core-complex", 2, ADDRESSES, machine)] == [{6, 7, 23}, {6, 7, 23}]
    allow(monkeypatch, {4, 6, 7, 23})
    assert [*binding.processors("core-complex", 2, ADDRESSES, machine)] == [{6, 7, 23}, {4}]
    assert [*binding.processors("exclusive", 2, ADDRESSES, machine)] == [{4, 6}, {7, 23}]


def test_cores_that_can_t_be_divided_go_to_the_first_ranks(machine, monkeypatch):
    allow(monkeypatch, both(4, 5, 7))
    assert [*binding.processors("exclusive", 2, ADDRESSES, machine)] == [both(4, 5), both(7)]


@pytest.mark.parametrize(
    ("mode", "nproc", "addresses", "allowed", "text"),
    [
        ("node", 5, ADDRESSES, range(32), "there are 5 ranks for 4 device(s)"),
        ("node", 1, ADDRESSES, range(4), "none of the processors near local rank 0 is free"),
        ("exclusive", 2, ADDRESSES, {4, 20}, "NUMA node 1 has 1 free cores for 2 ranks"),
        ("node", 1, ["0000:ff:00.0"], range(32), "does not say which processors belong together"),
        ("node", 1, [], {99}, "none of the processors near local rank 0 is free"),
    ],
)
def test_what_can_t_be_done_is_refused(machine, monkeypatch, mode, nproc, addresses, allowed, text):
    allow(monkeypatch, allowed)
    with pytest.raises(UsageError, match=f"--numa-binding {mode}: .*{re.escape(text)}"):
        binding.processors(mode, nproc, addresses, machine)


def test_a_machine_that_says_nothing_is_refused(tmp_path, monkeypatch):
    allow(monkeypatch, {0})
    with pytest.raises(UsageError, match="does not say which processors"):
        binding.processors("node", 1, [], tmp_path)


@needs_affinity
def test_ranks_are_bound_from_their_first_moment(launcher, monkeypatch):
    own = sorted(os.sched_getaffinity(0))
    shares, asked = (frozenset(own[:1]), frozenset(own[-1:])), []

    def processors(*question):
        asked.append(question)
        return shares

    details = [{"pci": address} for address in ADDRESSES[:2]]
    devices = [Device(i, "", [], None, each) for i, each in enumerate(details)]
    monkeypatch.setattr(options, "processors", processors)
    monkeypatch.setattr(options, "_asked", lambda type: devices if type == "opencl" else [])
    script = launcher.script("import os; print(sorted(os.sched_getaffinity(0)))")
    told = launcher.run("--nproc", "2", "--numa-binding", "node", script)
    assert told.returncode == 0, told.stderr
    assert sorted(told.stdout.splitlines()) == [
        f"[rank {rank}] {[*share]}" for rank, share in enumerate(shares)
    ]
    assert asked == [("node", 2, ADDRESSES[:2])]
    assert sorted(os.sched_getaffinity(0)) == own


TORCHRUN = """
--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --standalone
--max-restarts --monitor-interval --start-method --event-log-handler --role --module --no-python
--run-path --log-dir --redirects --tee --local-ranks-filter --duplicate-stdout-filters
--duplicate-stderr-filters --node-rank --master-addr --master-port --local-addr --logs-specs
--numa-binding --signals-to-handle --shutdown-timeout --virtual-local-rank -m -r -t
"""
"""The options of PyTorch 2.13's torchrun."""


def test_all_options_of_torchrun_are_there():
    import argparse

    parser = argparse.ArgumentParser()
    arguments.add_arguments(parser)
    known = {word for action in parser._actions for word in action.option_strings}
    wanted = {*TORCHRUN.split()} | {
        f"--{w[2:].replace('-', '_')}" for w in TORCHRUN.split() if w[:2] == "--"
    }
    assert wanted <= known
