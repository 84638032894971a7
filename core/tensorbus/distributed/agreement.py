"""Who has which rank: agreed in a store, with clear words for those who do not fit."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial

from tensorbus.distributed.errors import DistError, DistStoreError
from tensorbus.distributed.monitor import last_will
from tensorbus.distributed.store import Store

_SLICE = 0.25
"""Seconds after which one who waits looks whether others have failed."""


def agree(
    store: Store, rank: int, world_size: int, timeout: float, where: str = "", served: bool = False
) -> int:
    """Take a rank in the job (the next free one where *rank* is -1) and wait for the others.

    *served* says that one of the ranks serves the store, and names its own: nobody is given one
    before that is taken. ``DistStoreError`` on the ranks concerned for a wrong world size, a rank
    that is taken, a job that is complete, and for ranks that do not come.
    """
    me = f"process {os.getpid()} on {socket.gethostname()}"
    where = where or "this address"
    taken = rank >= 0 and store.add(f"taken/{rank}", 1) > 1
    if served and store.is_server:
        store.set("begun", "1")
    elif served and rank < 0:
        store.wait(["begun"], timeout)
    agreed = int(store.compare_set("world_size", "", str(world_size)))
    if agreed != world_size:
        _refuse(
            store,
            f"{me} was started with world_size {world_size}, but the job at {where} has "
            f"world_size {agreed}: start all ranks with the same number, or two jobs apart",
        )
    if rank < 0:
        rank = _next_free(store)
        if rank >= world_size:
            raise DistStoreError(_full(me, where, world_size))
    elif taken:
        if store.check(["ready"]):
            raise DistStoreError(f"rank {rank}: " + _full(me, where, world_size))
        other = store.get(f"who/{rank}").decode()
        _refuse(
            store,
            f"rank {rank} was started twice, as {other} and as {me}, or two jobs use {where}: give "
            f"each process a rank of its own, and each job an address of its own",
        )
    store.set(f"who/{rank}", me)
    last_will(store, rank)
    if store.add("joined", 1) == world_size:
        store.set("ready", "1")
    _await(store, rank, world_size, timeout)
    return rank


def _next_free(store: Store) -> int:
    """The lowest rank that nobody has, who named it or was given it."""
    while True:
        rank = store.add("next_rank", 1) - 1
        if store.add(f"taken/{rank}", 1) == 1:
            return rank


def all_made(
    store: Store,
    name: str,
    rank: int,
    everyone: Sequence[int],
    timeout: float,
    check: Callable[[Sequence[int]], object],
) -> None:
    """Wait until all these ranks have made what *name* stands for; *check* raises for one that
    ended.

    None needs the store for it any more when the process that serves the store goes on.
    """
    if len(everyone) == 1:
        return
    end = time.monotonic() + timeout
    if store.add(f"{name}/here", 1) == len(everyone):
        store.set(f"{name}/all", "1")
    if not _wait(store, f"{name}/all", end, lambda: check(everyone)):
        raise DistStoreError(
            f"of {len(everyone)} ranks {store.add(f'{name}/here', 0)} came within {timeout:g} "
            f"seconds to make {name}: all must call init_process_group, new_group and split_group "
            f"alike"
        )
    # Who served it may have ended since.
    with contextlib.suppress(DistError):
        if not store.is_server:
            store.set(f"{name}/saw/{rank}", "1")
            return
    for other in everyone:
        if other != rank:
            with contextlib.suppress(DistError):
                _wait(store, f"{name}/saw/{other}", end, partial(check, [other]))


def _wait(store: Store, key: str, end: float, check: Callable[[], object]) -> bool:
    while not store._wait([key], max(0.001, min(_SLICE, end - time.monotonic()))):
        try:
            check()
        except DistError:
            # The one that ended may have been here before, and have let the others go on.
            if store.check([key]):
                return True
            raise
        if time.monotonic() >= end:
            return False
    return True


def _full(me: str, where: str, world_size: int) -> str:
    return (
        f"{me} comes too late: the job at {where} has all its {world_size} ranks already. Two jobs "
        f"may use the same address, or one that crashed has left it behind: choose another"
    )


def _refuse(store: Store, text: str) -> None:
    """Raise here, and on the ranks that still wait for others."""
    if not store.check(["ready"]):
        _set_last(store, "refused", text)
    raise DistStoreError(text)


def _set_last(store: Store, key: str, text: str) -> None:
    """Set what the rank that serves the store waits for: it may leave before its answer is out."""
    with contextlib.suppress(DistError):
        store.set(key, text)


def _await(store: Store, rank: int, world_size: int, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not store._wait(["ready"], max(0.001, min(_SLICE, end - time.monotonic()))):
        if store.check(["refused"]):
            text = f"rank {rank} stops: {store.get('refused').decode()}"
            _set_last(store, f"heard/{rank}", "1")
            raise DistStoreError(text)
        if time.monotonic() >= end:
            missing = [r for r in range(world_size) if not store.check([f"who/{r}"])]
            names = ", ".join(map(str, missing))
            text = (
                f"rank {rank} waited {timeout:g} seconds for the others, but of {world_size} ranks "
                f"{len(missing)} did not come: {names}. Start them, or give a longer timeout"
            )
            _set_last(store, "refused", text)
            _set_last(store, f"heard/{rank}", "1")
            raise DistStoreError(text)


def await_heard(store: Store, rank: int, world_size: int, seconds: float) -> None:
    """Wait until all ranks that have come know why the job does not come about: they need the
    store for that, which ends with this rank.
    """
    others = [r for r in range(world_size) if r != rank and store.check([f"who/{r}"])]
    store._wait([f"heard/{r}" for r in others], seconds)
