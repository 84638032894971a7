"""What programs ask of groups and comms besides, by PyTorch's names."""

from __future__ import annotations

import enum
from typing import Any

from tensorbus.distributed import choice
from tensorbus.distributed.collectives import barrier
from tensorbus.distributed.lifecycle import (
    get_default_backend_for_device,
    get_rank,
    group_or_default,
)
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.distributed.reduce_op import ReduceOp
from tensorbus.distributed.subgroups import Backend
from tensorbus.distributed.world import current


class GroupName(str):
    """The name of a group: a text.

    >>> import tensorbus as torch
    >>> torch.distributed.GroupName("mine")
    'mine'
    """

    __slots__ = ()

    def __new__(cls, name: str) -> GroupName:
        return super().__new__(cls, name)


RankType = int | str
"""What a rank is given as, for type checkers."""


class BuiltinCommHookType(enum.Enum):
    """Ways of reducing gradients that PyTorch has built in: see ``ddp_comm_hooks``.

    >>> import tensorbus as torch
    >>> [hook.name for hook in torch.distributed.BuiltinCommHookType]
    ['ALLREDUCE', 'FP16_COMPRESS']
    """

    ALLREDUCE = 0
    FP16_COMPRESS = 1


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether complex tensors can be combined so.

    >>> import tensorbus.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return reduceOp not in (
        ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR,
    )  # fmt: skip


class BackendConfig:
    """Which comm serves each type of device, of a text such as ``"cpu:tcp,cuda:other"``.

    One name alone serves the devices that it can; ValueError for other texts.

    >>> import tensorbus.distributed as dist
    >>> dist.BackendConfig(dist.Backend("cpu:tcp")).get_device_backend_map()
    {'cpu': 'tcp'}
    """

    def __init__(self, backend: str):
        text = str(backend)
        if text == "undefined":
            table = {"cpu": get_default_backend_for_device("cpu")}
        else:
            table = choice.parse(text)
        self.device_backend_map = {
            ("cpu" if device == choice.ANY else device): Backend(name)
            for device, name in table.items()
        }

    def get_device_backend_map(self) -> dict[str, Backend]:
        """The name of the comm for each type of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Which comm serves each type of device in a group, as ``cpu:tcp``.

    >>> import tensorbus.distributed as dist
    >>> dist.local.run(dist.get_backend_config, 1)
    ['cpu:local']
    """
    return f"cpu:{group_or_default(group).backend_name()}"


def get_pg_count() -> int:
    """How many groups this process is in.

    >>> import tensorbus.distributed as dist
    >>> dist.local.run(dist.get_pg_count, 2)
    [1, 1]
    """
    return len(current().groups)


def record_comm(name: str) -> Any:
    """A block that has a name in profiles, as ``profiler.record_function``.

    >>> import tensorbus as torch
    >>> with torch.distributed.record_comm("gather of layer 1"): x = torch.ones(2)
    """
    from tensorbus.profiler import record_function

    return record_function(name)


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: int = 3600) -> None:
    """Stop in the debugger on one rank, while the others wait.

    The first *skip* calls from a line do nothing. *timeout_s* changes nothing: the others wait as
    long as the group's time-out lets them.
    """
    import pdb
    import sys

    frame = sys._getframe(1)
    place = (frame.f_code.co_filename, frame.f_lineno)
    _passed[place] = _passed.get(place, 0) + 1
    if _passed[place] <= skip:
        return
    if get_rank() == rank:
        pdb.Pdb().set_trace(frame)
    barrier()


_passed: dict[tuple[str, int], int] = {}
