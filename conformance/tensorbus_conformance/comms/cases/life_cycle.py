"""Beginning and end: joining, leaving, joining again, what is left, ``abort`` and time-outs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import tensorbus.distributed as dist
from tensorbus import discovery
from tensorbus.plugin import COMM_OPTIONAL, HOST, Comm, CommError, CommTimeout, dtype
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import CommCase
from tensorbus_conformance.comms.rank import Rank, beside, held

_D = formats.FLOAT32


def cases() -> Iterator[CommCase]:
    """All of them."""
    for op, name, check, least in (
        ("init", "rank-and-size", _rank_and_size, 1),
        ("init", "aliases", _aliases, 1),
        ("capabilities", "valid", _capabilities, 1),
        ("capabilities", "unclaimed-is-refused", _unclaimed, 1),
        ("close", "twice", _close_twice, 1),
        ("close", "frees-everything", _frees, 1),
        ("close", "calls-after-it", _after_close, 2),
        ("abort", "wakes-a-receive", _abort_receive, 2),
        ("abort", "wakes-a-collective", _abort_collective, 2),
        ("timeout", "collective", _timeout, 2),
        ("init", "again", _again, 1),
    ):
        yield CommCase(f"C0/{op}/any/{name}", "life cycle", check, least=least)
    yield CommCase("C0/end/any/orderly", "life cycle", _orderly, ends=True)


def _use(rank: Rank, comm: Comm) -> None:
    """A little of everything, with its results checked."""
    array = rank.encoded(np.full(10, rank.rank + 1.0), _D)
    comm.all_reduce(array, _D, "sum", rank.timeout)
    total = rank.size * (rank.size + 1) / 2
    rank.expect_values(array, np.full(10, total), _D, "all_reduce")
    if rank.size > 1:
        comm.send(array, _D, (rank.rank + 1) % rank.size, 0, rank.timeout)
        comm.recv(array, _D, (rank.rank - 1) % rank.size, 0, rank.timeout)
        rank.expect_values(array, np.full(10, total), _D, "recv")


def _rank_and_size(rank: Rank) -> None:
    found = dist.get_rank(), dist.get_world_size(), dist.get_backend()
    rank.expect(found == (rank.rank, rank.size, rank.name), f"the job says {found}")
    context = rank.comm.context
    rank.expect((context.rank, context.size) == (rank.rank, rank.size), f"the comm: {context}")


def _aliases(rank: Rank) -> None:
    """A group that is made under another name of the comm is this comm's."""
    for alias in discovery.comm_spec(rank.name).aliases:
        name = re.fullmatch(r"[a-z0-9_-]+", alias)
        rank.expect(name is not None, f"nobody can ask for the alias {alias!r}: lower case letters")
        if discovery.comm_spec(alias).name != rank.name:
            continue  # another comm has it here, by its own name or a higher priority
        group = dist.new_group(backend=alias)
        rank.expect(dist.get_backend(group) == alias, f"get_backend() of a group made as {alias}")
        rank.expect(isinstance(group.comm(alias), type(rank.comm)), f"{alias} leads elsewhere")
        dist.barrier(group)
        dist.destroy_process_group(group)


def _capabilities(rank: Rank) -> None:
    found = rank.comm.capabilities()
    rank.expect(bool(found), "capabilities() is empty: it names what the comm can move")
    for kind, dtypes in found.items():
        rank.expect(isinstance(kind, str), f"{kind!r} is no device type")
        wrong = [d for d in dtypes if not isinstance(d, dtype)]
        rank.expect(not wrong, f"for {kind}: {wrong} are no dtypes")
    for call in COMM_OPTIONAL:
        rank.expect(isinstance(rank.comm.overrides(call), bool), f"overrides({call!r})")


def _unclaimed(rank: Rank) -> None:
    """A dtype that is not claimed is refused before anything is sent."""
    if rank.device != "cpu":
        return
    for d in formats.ALL:
        if d not in rank.comm.capabilities()[HOST] and d is not formats.BFLOAT16:
            tensor = rank.tensor([1, 0], d.name)
            error = rank.expect_error(RuntimeError, partial(dist.all_reduce, tensor), d.name)
            rank.expect(d.name in str(error), f"the error does not name {d.name}: {error}")


def _close_twice(rank: Rank) -> None:
    comm = rank.open("twice")
    _use(rank, comm)
    rank.sync()
    comm.close()
    comm.close()


def _after_close(rank: Rank) -> None:
    comm = rank.open("closed")
    _use(rank, comm)
    rank.sync()
    comm.close()
    array = rank.encoded(np.ones(3), _D)
    rank.expect_error(CommError, lambda: comm.all_reduce(array, _D, "sum", 1.0), "a closed comm")
    rank.sync()


def _frees(rank: Rank) -> None:
    """Threads and open files are as many after ``close`` as before."""
    _open_and_close(rank, 1)
    rank.sync()
    before = held()
    _open_and_close(rank, 3)
    rank.sync()
    end = time.monotonic() + rank.timeout / 2
    now = held()
    # Both have to go down: fewer threads say nothing of the files.
    while (now[0] > before[0] or now[1] > before[1]) and time.monotonic() < end:
        time.sleep(0.02)
        now = held()
    for what, was, left in zip(("threads", "open files"), before, now, strict=True):
        rank.expect(left <= was, f"three comms closed: {was} {what} before, {left} after")
    rank.sync()


def _open_and_close(rank: Rank, times: int) -> None:
    for i in range(times):
        comm = rank.open(f"held-{times}-{i}")
        _use(rank, comm)
        rank.sync()
        rank.close_opened()


def _abort_receive(rank: Rank) -> None:
    """On the last rank, which has no connection yet."""
    comm = rank.open("abort")
    out = rank.blank(3, _D)
    if rank.rank == rank.size - 1:
        _abort(rank, comm, lambda: comm.recv(out, _D, 0, 0, 30.0))
    rank.sync()


def _abort_collective(rank: Rank) -> None:
    comm = rank.open("abort")
    _use(rank, comm)
    array = rank.encoded(np.ones(50_000), _D)
    if rank.rank == 0:
        _abort(rank, comm, lambda: comm.all_reduce(array, _D, "sum", 30.0))
    rank.sync()


def _abort(rank: Rank, comm: Comm, call: Callable[[], object]) -> None:
    with beside(call) as errors:
        time.sleep(0.1)
        comm.abort(CommError("told to stop", [7]))
    raised = [str(e) for e in errors if isinstance(e, CommError)]
    rank.expect(len(raised) == 1, f"the call that ran raised {errors}")
    rank.expect("told to stop" in "".join(raised), f"it raised {raised}, not what abort was given")
    array = rank.encoded(np.ones(3), _D)
    begun = time.monotonic()
    rank.expect_error(CommError, lambda: comm.all_reduce(array, _D, "sum", 30.0), "a later call")
    seconds = time.monotonic() - begun
    rank.expect(
        seconds < rank.timeout,
        f"after abort a call raised only when {seconds:.1f} seconds were over",
    )


def _timeout(rank: Rank) -> None:
    """A rank that is alone in a collective learns after its time-out who did not come."""
    comm = rank.open("alone")
    _use(rank, comm)
    rank.sync()
    if rank.rank == 0:
        begun = time.monotonic()
        array = rank.encoded(np.ones(50_000), _D)
        error = rank.expect_error(
            CommTimeout, lambda: comm.all_reduce(array, _D, "sum", 0.5), "all_reduce alone"
        )
        seconds = time.monotonic() - begun
        rank.expect(
            0.4 < seconds < rank.timeout, f"a time-out of 0.5 seconds came after {seconds:.2f}"
        )
        if isinstance(error, CommTimeout):
            others = set(range(1, rank.size))
            # None, where a library does not say who is late.
            rank.expect(
                others.issuperset(error.ranks),
                f"it names the ranks {error.ranks}, waited for are {others}",
            )
    rank.sync()


def _again(rank: Rank) -> None:
    """Leaving and joining a new job, several times."""
    for _ in range(3):
        dist.destroy_process_group()
        rank.expect(not dist.is_initialized(), "is_initialized() after destroy_process_group()")
        rank.join()
        _use(rank, rank.comm)


def _orderly(rank: Rank) -> None:
    _use(rank, rank.comm)
