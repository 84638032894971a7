"""A rank is killed, hangs or leaves: every other one says so in time, and who it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tensorbus
import tensorbus.distributed as dist
from tensorbus_conformance import formats
from tensorbus_conformance.comms.case import Accounts, CommCase, Fault
from tensorbus_conformance.comms.rank import Rank
from tensorbus_conformance.compare import Mismatch, present
from tensorbus_conformance.trial import Unsupported

_D = formats.FLOAT32
_KILL, _HANG = Fault("kill"), Fault("hang")
LIMIT = 4.0
"""The time-out of the groups in which faults happen: some cases wait for it."""
JOIN_LIMIT = 4.0
SLACK = 10.0
"""Seconds beyond the time-out in which a survivor must have raised: ranks ask each other first."""


def cases() -> Iterator[CommCase]:
    """All of them."""

    def case(
        id: str, check: Callable[[Rank], None], fault: Fault | None, all_name: bool = True
    ) -> CommCase:
        return CommCase(
            f"C2/{id}", "faults", check, (), 2, partial(_judge, all_name), fault,
            ends=fault is None, processes=fault is not None,
        )  # fmt: skip

    yield case("kill/any/in-all_reduce", _all_reduce, _KILL)
    yield case("kill/any/rank-0-in-all_reduce", _all_reduce, Fault("kill", first=True))
    yield case("kill/any/in-recv", _receive, _KILL)
    yield case("kill/any/in-rendezvous", _rendezvous, _KILL)
    yield case("hang/any/in-all_reduce", _all_reduce, _HANG)
    yield case("hang/any/in-recv", _receive, _HANG)
    # The comm alone: nobody watches the processes, so the comm itself must notice.
    yield case("kill/any/comm-all_reduce", _comm_all_reduce, _KILL, False)
    yield case("kill/any/comm-recv", _comm_receive, _KILL, False)
    yield case("hang/any/comm-all_reduce", _comm_all_reduce, _HANG, False)
    yield case("kill/any/comm-connecting", _comm_connecting, _KILL, False)
    yield case("leave/any/early", _leaves, None)
    # A rank that ends after its last call harms nobody.
    for end, fault in (("leave", None), ("kill", _KILL)):
        yield CommCase(
            f"C2/{end}/any/after-its-last-send", "faults", partial(_after_last_send, fault), (), 3,
            partial(_judge_unharmed, fault), fault, ends=fault is None, processes=fault is not None,
        )  # fmt: skip


def _judge(all_name: bool, accounts: Accounts) -> None:
    """Each survivor raised in time, and names the rank.

    A comm alone may know of nobody, or of a neighbour that gave up for its sake: one is enough.
    """
    victims = [r for r, account in enumerate(accounts) if not account]
    blamed = set()
    for rank, account in enumerate(accounts):
        if rank in victims:
            continue
        raised = account.get("raised")
        if raised is None:
            raise Mismatch(f"rank {rank} raised nothing: its calls went on as if nothing happened")
        if raised["seconds"] > account["limit"] + SLACK:
            raise Mismatch(
                f"rank {rank} raised after {raised['seconds']:.1f} seconds, with a time-out of "
                f"{account['limit']:g}"
            )
        blamed.update(raised["ranks"])
        if all_name and victims != raised["ranks"]:
            raise Mismatch(
                f"rank {rank} blames the ranks {raised['ranks']}, not {victims}: {raised['text']}"
            )
    if blamed and not blamed.intersection(victims):
        texts = "; ".join(account["raised"]["text"] for account in accounts if account)
        raise Mismatch(f"ranks {sorted(blamed)} are blamed, not {victims}: {texts}")


def _judge_unharmed(fault: Fault | None, accounts: Accounts) -> None:
    """All but the one that ended got what it had sent, and could do without it from there on."""
    for rank, account in enumerate(accounts):
        if rank != len(accounts) - 1 and account.get("got") != [7.0, 7.0, 3.0]:
            raise Mismatch(f"rank {rank} got {account.get('got')} of [7.0, 7.0, 3.0]")


def _is_victim(rank: Rank, first: bool = False) -> bool:
    return rank.rank == (0 if first else rank.size - 1)


def _group(rank: Rank) -> Any:
    """A group of all ranks, connected, with a short time-out."""
    rank.reported["limit"] = LIMIT
    group = dist.new_group(timeout=LIMIT)
    dist.all_reduce(tensorbus.ones(10, device=rank.device), group=group)
    return group


def _all_reduce(rank: Rank) -> None:
    group = _group(rank)
    x = tensorbus.ones(1_000_000, device=rank.device)
    rank.sync("fault")
    rank.survive(lambda: dist.all_reduce(x, group=group))
    _after(rank, group)


def _receive(rank: Rank) -> None:
    group = _group(rank)
    x = tensorbus.ones(10, device=rank.device)
    rank.sync("fault")
    if _is_victim(rank):
        time.sleep(60)
    rank.survive(lambda: dist.recv(x, rank.size - 1, group))
    _after(rank, group)


def _after(rank: Rank, group: Any) -> None:
    """The group is over, and its ranks are free to begin anew."""
    try:
        dist.all_reduce(tensorbus.ones(2, device=rank.device), group=group)
        rank.expect(False, "after a fault the group can still be used")
    except dist.DistError:
        pass
    dist.destroy_process_group()
    rank.expect(not dist.is_initialized(), "destroy_process_group() did not end the job")


def _rendezvous(rank: Rank) -> None:
    dist.destroy_process_group()
    rank.reported["limit"] = JOIN_LIMIT
    rank.sync("fault")
    if _is_victim(rank):
        time.sleep(60)
    rank.survive(lambda: _join(rank))
    raised = rank.reported.get("raised")
    if raised and not raised["ranks"] and f": {rank.size - 1}" in raised["text"]:
        raised["ranks"] = [rank.size - 1]  # an error of the store names ranks in its text


def _join(rank: Rank) -> None:
    rank.join(rank.reported["limit"])
    dist.all_reduce(tensorbus.ones(1, device=rank.device))


def _comm_all_reduce(rank: Rank) -> None:
    rank.reported["limit"] = LIMIT
    comm = rank.open("fault")
    array = rank.encoded(np.ones(1_000_000), _D)
    comm.all_reduce(array, _D, "sum", rank.timeout)
    rank.sync("fault")
    rank.survive(lambda: comm.all_reduce(array, _D, "max", LIMIT))


def _comm_receive(rank: Rank) -> None:
    rank.reported["limit"] = LIMIT
    comm = rank.open("fault")
    array = rank.encoded(np.ones(10), _D)
    comm.all_reduce(array, _D, "sum", rank.timeout)
    if _is_victim(rank):
        for r in range(rank.size - 1):
            comm.send(array, _D, r, 0, rank.timeout)
    else:
        comm.recv(array, _D, rank.size - 1, 0, rank.timeout)
    rank.sync("fault")
    if _is_victim(rank):
        time.sleep(60)
    rank.survive(lambda: comm.recv(array, _D, rank.size - 1, 0, LIMIT))


def _comm_connecting(rank: Rank) -> None:
    rank.reported["limit"] = LIMIT
    rank.sync("fault")
    if _is_victim(rank):
        time.sleep(60)
    array = rank.encoded(np.ones(1000), _D)
    rank.survive(lambda: rank.open("fault", timeout=LIMIT).all_reduce(array, _D, "sum", LIMIT))


def _leaves(rank: Rank) -> None:
    """The last rank leaves in order, while the others go on."""
    group = _group(rank)
    x = tensorbus.ones(1000, device=rank.device)
    if _is_victim(rank):
        dist.destroy_process_group()
        rank.reported.clear()
        return
    rank.survive(lambda: dist.all_reduce(x, group=group))
    _after(rank, group)


def _after_last_send(fault: Fault | None, rank: Rank) -> None:
    """The last rank sends, ends, and only then do the others receive, and send to each other."""
    if fault is not None and not rank.comm.overrides("peer_died"):
        raise Unsupported("the comm ends with the first of its ranks: it has no peer_died")
    last, others = rank.size - 1, range(rank.size - 1)
    mine = rank.tensor([7.0])
    dist.barrier()
    if rank.rank == last:
        for r in others:
            dist.send(mine, r, tag=1)
            present("isend", dist.isend(mine, r, tag=2)).wait()
        if fault is None:
            dist.destroy_process_group()
            rank.sync()
        else:
            rank.sync("fault")
            time.sleep(60)
        return
    rank.sync("fault" if fault is not None else "sync")
    end = time.monotonic() + rank.timeout
    while not rank.ended(last) and time.monotonic() < end:
        time.sleep(0.02)
    out, got = rank.tensor([0.0]), []
    for tag in (2, 1):
        dist.recv(out, last, tag=tag)
        got.append(out.item())
    dist.send(rank.tensor([3.0]), (rank.rank + 1) % last)
    dist.recv(out, (rank.rank - 1) % last)
    rank.reported["got"] = [*got, out.item()]
    dist.destroy_process_group()
