"""Which processors each rank gets under ``--numa-binding``, from what Linux tells of the machine.

A rank belongs to the NUMA node of the device with its local number. Where no backend says on which
bus its devices are, ranks are spread over the nodes in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from tensorbus.cli import UsageError

MODES = ("node", "socket", "exclusive", "core-complex")
ADDRESS = "pci"
"""The detail of a device's capabilities that says where it is: ``0000:3b:00.0``."""

Processors = frozenset[int]


def processors(
    mode: str, nproc: int, addresses: Sequence[str], system: Path = Path("/sys")
) -> tuple[Processors, ...]:
    """The processors of each local rank; *addresses* are the devices' on the PCI bus, if known."""
    if not hasattr(os, "sched_getaffinity"):
        raise UsageError(f"--numa-binding {mode}: this system binds no process to processors")
    try:
        machine = Machine(system, os.sched_getaffinity(0))
        seats = _seats(machine, mode, nproc, addresses)
        found = tuple(_share(machine, mode, seats, rank) for rank in range(nproc))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--numa-binding {mode}: this machine does not say which processors belong together "
            f"({error}): leave the option out"
        ) from error
    for rank, share in enumerate(found):
        if not share:
            raise UsageError(
                f"--numa-binding {mode}: none of the processors near local rank {rank} is free "
                "for this process: leave the option out, or start it with more processors"
            )
    return found


class Machine:
    """The processors of a machine, as Linux lists them below ``/sys``."""

    def __init__(self, system: Path, allowed: Collection[int]):
        self.system, self.allowed = system, frozenset(allowed)
        self._nodes = system / "devices/system/node"

    def nodes(self) -> dict[int, Processors]:
        """The allowed processors of each NUMA node that has any."""
        numbers = _numbers(self._nodes / "online")
        found = {n: _numbers(self._nodes / f"node{n}/cpulist") & self.allowed for n in numbers}
        return {n: of for n, of in sorted(found.items()) if of}

    def node_of_device(self, address: str) -> int:
        """The node of a device on the PCI bus; 0 where the machine has but one."""
        text = (self.system / "bus/pci/devices" / address / "numa_node").read_text()
        return max(0, int(text))

    def socket(self, processor: int) -> int:
        """The physical package of a processor."""
        return int((self._processor(processor) / "topology/physical_package_id").read_text())

    def core(self, processor: int) -> int:
        """The least of the processors that are threads of the same core."""
        return min(_numbers(self._processor(processor) / "topology/thread_siblings_list"))

    def complex(self, processor: int) -> int:
        """The least of the processors that share its last cache."""
        found = [(0, processor)]
        for cache in (self._processor(processor) / "cache").glob("index[0-9]*"):
            if (cache / "type").read_text().strip() != "Instruction":
                level = int((cache / "level").read_text())
                found.append((level, min(_numbers(cache / "shared_cpu_list"))))
        return max(found)[1]

    def _processor(self, number: int) -> Path:
        return self.system / f"devices/system/cpu/cpu{number}"


def _seats(machine: Machine, mode: str, nproc: int, addresses: Sequence[str]) -> list[int]:
    """The node of each device, or of each rank where no device is known."""
    if addresses:
        if nproc > len(addresses):
            raise UsageError(
                f"--numa-binding {mode}: there are {nproc} ranks for {len(addresses)} device(s), "
                "and each is bound near its own: start no more ranks than devices"
            )
        return [machine.node_of_device(address) for address in addresses]
    nodes = [*machine.nodes()]
    return [nodes[rank * len(nodes) // nproc] for rank in range(nproc)] if nodes else [0] * nproc


def _share(machine: Machine, mode: str, seats: list[int], rank: int) -> Processors:
    """One rank's processors."""
    nodes = machine.nodes()
    near = nodes.get(seats[rank], Processors())
    if mode == "node" or not near:
        return near
    if mode == "socket":
        socket = machine.socket(min(near))
        return Processors().union(
            *(of for of in nodes.values() if machine.socket(min(of)) == socket)
        )
    mates = [seat for seat, node in enumerate(seats) if node == seats[rank]]
    place = mates.index(rank)
    if mode == "exclusive":
        cores = sorted(_groups(near, machine.core).items())
        if len(cores) < len(mates):
            raise UsageError(
                f"--numa-binding exclusive: NUMA node {seats[rank]} has {len(cores)} free cores "
                f"for {len(mates)} ranks: start fewer, or give node"
            )
        each, left = divmod(len(cores), len(mates))
        start = place * each + min(place, left)
        own = cores[start : start + each + (place < left)]
        return Processors().union(*(of for _, of in own))
    complexes = sorted(_groups(near, machine.complex).items(), key=lambda g: (-len(g[1]), g[0]))
    return complexes[place % len(complexes)][1]


def _groups(processors: Processors, key: Callable[[int], int]) -> dict[int, Processors]:
    keys = {processor: key(processor) for processor in processors}
    return {k: Processors(p for p in processors if keys[p] == k) for k in {*keys.values()}}


def _numbers(file: Path) -> Processors:
    """The numbers in a list of Linux': ``0-3,8``."""
    found: set[int] = set()
    for part in filter(None, file.read_text().strip().split(",")):
        first, _, last = part.partition("-")
        found |= {*range(int(first), int(last or first) + 1)}
    return Processors(found)
