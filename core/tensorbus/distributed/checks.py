"""What the operations ask of their arguments, in PyTorch's words."""

from __future__ import annotations

import warnings
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.distributed.lifecycle import get_group_rank, group_or_default
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.world import current


def check_tensor(value: Any, name: str) -> None:
    """TypeError unless *value* is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_list(value: Any, name: str) -> None:
    """TypeError unless *value* is a list of tensors."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} instead."
        )
    if not all(isinstance(t, Tensor) for t in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} with elements of type {[type(t) for t in value]}."
        )


def check_same_dtype(*tensors: Tensor) -> None:
    """ValueError unless all have one dtype."""
    for t in tensors[1:]:
        if t._k.dtype is not tensors[0]._k.dtype:
            raise ValueError(
                "Invalid usage of tensors with different dtypes"
                f"Found {tensors[0]._k.dtype} and  {t._k.dtype}"
            )


def check_count(tensors: Any, group: ProcessGroup, call: str, name: str) -> None:
    """ValueError unless there is one tensor for each rank."""
    if len(tensors) != group.size():
        raise ValueError(
            f"{call}: {name} must have one tensor for each of the group's {group.size()} ranks, "
            f"but has {len(tensors)}"
        )


def check_sizes(call: str, one: Tensor, name: str, others: Any, list_name: str) -> None:
    """ValueError unless the list's tensors have as many elements as *one*."""
    for i, t in enumerate(others):
        if t._s.numel() != one._s.numel():
            raise ValueError(
                f"{call}: {list_name}[{i}] has shape {tuple(t._s)}, but {name} has "
                f"{tuple(one._s)}: all must have equally many elements"
            )


def member(group: Any, call: str) -> ProcessGroup | None:
    """The group, or None with PyTorch's warning on a rank outside of it."""
    if isinstance(group, ProcessGroup) or group is None:
        return group_or_default(group)
    world = current().default
    warnings.warn(
        f"Running {call} on global rank {-1 if world is None else world.rank()} which does not "
        "belong to the given group.",
        stacklevel=3,
    )
    return None


def peer_rank(
    group: ProcessGroup, global_rank: int | None, group_rank: int | None, what: str = ""
) -> int:
    """The rank within the group, from either kind; with *what*, refuse this process's own."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    elif global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    else:
        group_rank = get_group_rank(group, global_rank)
    if what and group_rank == group.rank():
        raise ValueError(
            f"Invalid {what} rank: {what} rank should not be the same as "
            "the rank of the current process."
        )
    return group_rank
