"""Groups of equal size, and the names of comms as PyTorch writes them."""

from __future__ import annotations

from typing import Any

from tensorbus import discovery
from tensorbus.distributed.durations import Duration
from tensorbus.distributed.lifecycle import get_world_size, group_or_default, new_group
from tensorbus.distributed.process_group import ProcessGroup


class _Names(type):
    def __getattr__(cls, name: str) -> str:
        if name == "UNDEFINED" or (name.isupper() and _is_declared(name.lower())):
            return name.lower()
        raise AttributeError(f"type object 'Backend' has no attribute {name!r}")


def _is_declared(name: str) -> bool:
    return name in discovery.comm_names() or name in discovery.comm_aliases()


class Backend(str, metaclass=_Names):
    """A comm's name in lower case; names and aliases of comms are attributes in upper case.

    >>> from tensorbus.distributed import Backend
    >>> Backend("TCP"), Backend.TCP, Backend.GLOO, Backend.UNDEFINED
    ('tcp', 'tcp', 'gloo', 'undefined')
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: Duration = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Cut a group into groups of *group_size* neighbours; this rank's group, and all of them.

    *group_size* divides the world's size; None asks for the size of one machine, which only
    launchers know: give it. All ranks must call this.

    >>> import tensorbus.distributed as dist
    >>> def rank():
    ...     mine, _ = dist.new_subgroups(2)
    ...     return dist.get_process_group_ranks(mine)
    >>> dist.local.run(rank, 4)
    [[0, 1], [0, 1], [2, 3], [2, 3]]
    """
    if group_size is None:
        raise ValueError("new_subgroups needs group_size here: how many ranks each group has")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    ranks = list(group_or_default(group).ranks)
    world_size = get_world_size(group)
    if world_size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({world_size})"
        )
    if world_size % group_size:
        raise ValueError(
            f"The world size ({world_size}) must be divisible by 'group_size={group_size}'"
        )
    parts = [ranks[i : i + group_size] for i in range(0, world_size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]],
    timeout: Duration = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make a group of each list of ranks; this rank's group (None without one), and all of them.

    ``ValueError`` where a rank is in two lists. All ranks of the job must call this.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, int] = {}
    for number, ranks in enumerate(ranks_per_subgroup_list):
        for rank in ranks:
            if rank in seen:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {seen[rank]} and {number}"
                )
            seen[rank] = number
    mine, made = None, []
    for ranks in ranks_per_subgroup_list:
        group = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(group)
        if isinstance(group, ProcessGroup):
            mine = group
    return mine, made
