"""Joining and leaving the job, and making groups of its ranks."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Sequence
from typing import Any

from tensorbus import discovery
from tensorbus.distributed import bootstrap, choice, rendezvous
from tensorbus.distributed.agreement import all_made
from tensorbus.distributed.durations import DEFAULT, Duration, seconds
from tensorbus.distributed.monitor import Monitor
from tensorbus.distributed.process_group import GroupMember, ProcessGroup
from tensorbus.distributed.store import Store
from tensorbus.distributed.world import World, current

_LINGER = 5.0
"""Seconds that the rank which serves the store waits for the others before it ends."""
_DEFAULT = "0"
_exit_registered = False


def is_available() -> bool:
    """Whether ``tensorbus.distributed`` can be used: always."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called and ``destroy_process_group`` not yet."""
    return current().default is not None


def is_torchelastic_launched() -> bool:
    """Whether the launcher started this process, as one that restarts ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Whether a comm of that name, or all of ``"cpu:tcp,cuda:other"``, can be loaded."""
    try:
        for name in choice.parse(backend).values():
            discovery.comm(name)
    except (RuntimeError, ValueError):
        return False
    return True


def get_default_backend_for_device(device: Any) -> str:
    """The comm that is taken for a device where none is named."""
    kind = str(device).split(":")[0]
    found = None if kind == "cpu" else choice.for_device(kind)
    return found or choice.for_host()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Duration = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the job: find the other ranks and make the group of all of them.

    *backend* names the comm, or one for each device type (``"cpu:tcp,cuda:other"``); None lets the
    way the process was started and the devices decide. *init_method* is ``tcp://HOST:PORT`` (rank
    0 listens), ``tcp://[GROUP]:PORT`` of IP multicast, ``file:///PATH`` or ``env://`` (the
    default: ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK``, ``WORLD_SIZE``); *store* takes its place.
    With an address, multicast or a file *world_size* is enough. *timeout*, a timedelta or seconds,
    holds for every operation (default: 30 minutes). ``ValueError`` for what is missing,
    ``DistStoreError`` and ``DistNetworkError`` where the ranks do not come together.

    >>> import tensorbus.distributed as dist
    >>> dist.init_process_group("tcp", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'tcp')
    >>> dist.destroy_process_group()
    """
    world = current()
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise ValueError("Cannot specify both init_method and store.")
    limit = seconds(timeout, DEFAULT.total_seconds())
    table = choice.parse(backend)
    choice.needed(table)
    launched = choice.launched()
    launch = launched[1] if launched else None
    if store is not None:
        meeting = rendezvous.by_store(store, rank, world_size, limit)
    elif launched and init_method is None and bootstrap.suits(launched[0], table):
        table = table or {choice.ANY: launched[0].name}
        meeting = bootstrap.meet(launched[0], launched[1], limit)
    else:
        meeting = rendezvous.meet(init_method or "env://", rank, world_size, limit, launch)
    _enter(world, meeting, table, limit, group_name)


def _enter(
    world: World, meeting: rendezvous.Meeting, table: dict[str, str], limit: float, title: str
) -> None:
    world.store, world.owns_store, world.made = meeting.store, meeting.serves, 1
    try:
        world.monitor = Monitor(world, meeting.store, meeting.rank, meeting.world_size)
        group = ProcessGroup(
            world, _DEFAULT, tuple(range(meeting.world_size)), meeting.rank, table, limit,
            meeting.store, meeting.secret, {"address": meeting.address}, description=title,
        )  # fmt: skip
        world.groups[_DEFAULT] = world.default = group
        world.monitor.tell(group)
        _prepare(world, group, meeting.store, group.ranks, limit)
    except BaseException:
        with contextlib.suppress(Exception):
            _leave_all(world)
        raise
    global _exit_registered
    if not _exit_registered:
        _exit_registered = True
        atexit.register(_at_exit)


def _prepare(
    world: World, group: ProcessGroup | None, store: Store, everyone: Sequence[int], limit: float,
    name: str = "",
) -> None:  # fmt: skip
    """Open a new group's comms, and return when all who make it have.

    Then none of them needs the store for that any more, which ends with the rank that serves it.
    """
    if group is not None:
        group.prepare(limit)
        name = group.group_name
    check = world.monitor.check if world.monitor is not None else lambda ranks: None
    all_made(store, f"made/{name}", world.default_group().me, everyone, limit, check)


def destroy_process_group(group: Any = None) -> None:
    """Leave the job, or one group of it, and free connections, threads and ports.

    >>> import tensorbus.distributed as dist
    >>> dist.is_initialized()
    False
    """
    world = current()
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    if group is None or group is world.default:
        world.default_group()
        _leave_all(world)
    elif isinstance(group, ProcessGroup) and world.groups.get(group.group_name) is group:
        world.groups.pop(group.group_name).close()
    else:
        raise ValueError("Invalid process group specified or has been destroyed.")


def _leave_all(world: World) -> None:
    failed = any(g.failure is not None for g in world.groups.values())
    monitor, store, owns = world.monitor, world.store, world.owns_store
    if monitor is not None:
        monitor.leave()
        if owns:
            monitor.await_others(1.0 if failed else _LINGER)
    for group in world.groups.values():
        group.close()
    if store is not None and (owns or store.connected):
        store.close()
    fresh = World()
    world.__dict__.update(fresh.__dict__)


def _at_exit() -> None:
    world = current()
    if world.default is not None:
        with contextlib.suppress(Exception):
            _leave_all(world)


# -- questions ---------------------------------------------------------------------------------
def group_or_default(group: ProcessGroup | None) -> ProcessGroup:
    """The group given, or that of all ranks."""
    return current().default_group() if group is None else group


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in the group; -1 where it is outside.

    >>> import tensorbus.distributed as dist
    >>> dist.local.run(dist.get_rank, 3)
    [0, 1, 2]
    """
    if not isinstance(group, ProcessGroup) and group is not None:
        return -1
    return group_or_default(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many ranks the group has; -1 where this process is outside."""
    if not isinstance(group, ProcessGroup) and group is not None:
        return -1
    return group_or_default(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of the group's comm for host memory."""
    if not isinstance(group, ProcessGroup) and group is not None:
        raise ValueError("Invalid process group specified")
    return group_or_default(group).backend_name()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine: ``LOCAL_RANK``, or what the launcher says."""
    text = os.environ.get("LOCAL_RANK")
    if text:
        return int(text)
    launched = choice.launched()
    if launched:
        return launched[1].local_rank
    if fallback_rank is not None:
        return fallback_rank
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The global ranks of the members, by rank within the group."""
    return list(group_or_default(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank within the group of a global rank; ValueError where it is outside."""
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Group {group} is not registered, please create group with "
            f"torch.distributed.new_group API"
        )
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a rank within the group; ValueError where there is none."""
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


# -- groups ------------------------------------------------------------------------------------
def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Duration = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some of the ranks, in ascending order; all ranks of the job must call this.

    Ranks outside get ``GroupMember.NON_GROUP_MEMBER``. ``ValueError`` for ranks that do not exist.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     even = dist.new_group([0, 2])
    ...     return dist.get_rank(even)
    >>> dist.local.run(rank, 3)
    [0, -1, 1]
    """
    world = current()
    default = world.default_group()
    members = list(default.ranks) if ranks is None else sorted(ranks)
    if not members:
        raise ValueError("a group needs at least one rank")
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks or ())}")
    if len(members) > default.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    for rank in members:
        if not 0 <= rank < default.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {default.size() - 1} "
                f"(world_size={default.size()})"
            )
    if use_local_synchronization:
        # Those outside do not call, so their count must not matter.
        same = sum(g.ranks == tuple(members) for g in world.groups.values())
        name = f"local-{'-'.join(map(str, members))}-{same}"
    else:
        name = str(world.made)
        world.made += 1
    limit = seconds(timeout, default.timeout)
    callers = members if use_local_synchronization else default.ranks
    return _make(world, default, name, members, callers, backend, limit, group_desc)


def _make(
    world: World, parent: ProcessGroup, name: str, members: list[int], callers: Sequence[int],
    backend: str | None, limit: float, description: str | None,
) -> Any:  # fmt: skip
    """Make a group of *members* of *parent*; all *callers* are here."""
    patience, store = max(limit, parent.timeout), parent._store
    if parent.me not in members:
        if store is not None and parent.me in callers:
            _prepare(world, None, store, callers, patience, name)
        return GroupMember.NON_GROUP_MEMBER
    parent.check()
    table = choice.parse(backend) or parent._backends
    group = ProcessGroup(
        world, name, tuple(members), members.index(parent.me), table, limit, parent._store,
        parent._secret, parent._options, parent, description or "",
    )  # fmt: skip
    world.groups[name] = group
    if world.monitor is not None:
        world.monitor.tell(group)
    try:
        if store is not None:
            _prepare(world, group, store, callers, patience)
        else:
            group.prepare(patience)
    except BaseException:
        world.groups.pop(name, None)
        group.close()
        raise
    return group


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: Duration = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Split a group: each list of group ranks becomes one. All of the parent's ranks must call.

    None on ranks that are in no list.
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    world = current()
    parent = group_or_default(parent_pg)
    seen: set[int] = set()
    for part in split_ranks:
        if not part:
            raise ValueError("the split group cannot be empty")
        if len(set(part)) != len(part) or seen & set(part):
            raise ValueError("the split group cannot have duplicate ranks")
        if any(not 0 <= r < parent.size() for r in part):
            raise ValueError(f"the parent group has ranks 0 to {parent.size() - 1}, not {part}")
        seen |= set(part)
    parent.splits += 1
    for number, part in enumerate(split_ranks):
        if parent.rank() in part:
            members = [parent.ranks[r] for r in sorted(part)]
            name = f"{parent.group_name}-split{parent.splits}-{number}"
            limit = seconds(timeout, parent.timeout)
            made: ProcessGroup = _make(
                world, parent, name, members, members, backend, limit, group_desc
            )
            return made
    return None
