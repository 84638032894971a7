"""Makes the communicator of a group, after all its ranks have shown that they are there."""

from __future__ import annotations

import functools
import zlib

import numpy as np
from mpi4py import MPI

from tensorbus.plugin import CommContext, CommError, CommTimeout
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_mpi.progress import Progress, test
from tensorbus_comm_mpi.runtime import guard, library

_TAGS = 4096


def world_ranks(context: CommContext) -> tuple[int, ...]:
    """Each member's rank in MPI's world."""
    world, parent = MPI.COMM_WORLD, context.parent
    own = world.Get_rank()
    known = getattr(parent, "world_ranks", None)
    if parent is not None and known is not None:
        return tuple(known[parent.context.ranks.index(r)] for r in context.ranks)
    if context.store is not None:
        context.store.set(f"rank/{context.rank}", str(own))
        found = tuple(int(context.store.get(f"rank/{r}")) for r in range(context.size))
    else:
        found = tuple(context.ranks)
    if len(set(found)) < len(found) or found[context.rank] != own or max(found) >= world.Get_size():
        raise CommError(
            f"rank {context.ranks[context.rank]} of {context.size} is rank {own} of "
            f"{world.Get_size()} for {library()}, the MPI library that mpi4py uses: its ranks were "
            f"not started together. Start them with that library's own launcher, such as `mpiexec "
            f"-n {context.size} python script.py`, or name another comm, such as 'tcp'"
        )
    return found


def make(context: CommContext, ranks: tuple[int, ...], progress: Progress) -> MPI.Intracomm:
    """The communicator of these ranks of MPI's world; ``CommTimeout`` where one does not come."""
    world, number = MPI.COMM_WORLD, zlib.crc32(context.name.encode()) % _TAGS
    _meet(context, ranks, progress, (world.Get_attr(MPI.TAG_UB) or 32767) - number)
    with guard:
        group = world.Get_group().Incl(list(ranks))
        made = world.Create_group(group, number)
        group.Free()
    return made


def _meet(context: CommContext, ranks: tuple[int, ...], progress: Progress, tag: int) -> None:
    """Return when all are here: making a communicator blocks, and knows no time-out.

    In step k a rank hears of the 2**k ranks before it, by way of the last of them.
    """
    world, deadline, step = MPI.COMM_WORLD, Deadline(context.timeout), 1
    nothing = np.empty(0, np.uint8)
    while step < context.size:
        before = (context.rank - step) % context.size
        with guard:
            receive = world.Irecv(nothing, ranks[before], tag)
            send = world.Isend(nothing, ranks[(context.rank + step) % context.size], tag)
        if not progress.until(functools.partial(test, [receive, send]), deadline):
            with guard:
                receive.Cancel()
                receive.Wait()
            raise CommTimeout(
                f"{context.peer(before)} did not come within {context.timeout:g} seconds",
                [context.ranks[before]],
            )
        step *= 2
