"""Processes that compute together: ranks, collectives, messages, by PyTorch's names.

>>> import tensorbus.distributed as dist
>>> def rank():
...     x = tensorbus.ones(2) * dist.get_rank()
...     dist.all_reduce(x)
...     return x.tolist()
>>> dist.local.run(rank, 3)
[[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]

What moves the bytes is a plugin of the entry-point group ``tensorbus.comms``.
"""

from typing import Any as _Any

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.distributed import local
from tensorbus.distributed.coalesced import (
    all_gather_coalesced,
    all_gather_single,
    all_reduce_coalesced,
    reduce_scatter_single,
)
from tensorbus.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    reduce_scatter,
    reduce_scatter_tensor,
)
from tensorbus.distributed.debug import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from tensorbus.distributed.device_mesh import DeviceMesh, init_device_mesh
from tensorbus.distributed.durations import DEFAULT as default_pg_timeout
from tensorbus.distributed.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from tensorbus.distributed.file_store import FileStore
from tensorbus.distributed.lifecycle import (
    destroy_process_group,
    get_backend,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_backend_available,
    is_initialized,
    is_torchelastic_launched,
    new_group,
    split_group,
)
from tensorbus.distributed.object_collectives import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from tensorbus.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from tensorbus.distributed.process_group import GroupMember, ProcessGroup, group
from tensorbus.distributed.questions import (
    BackendConfig,
    BuiltinCommHookType,
    GroupName,
    RankType,
    breakpoint,
    get_backend_config,
    get_pg_count,
    record_comm,
    supports_complex,
)
from tensorbus.distributed.reduce_op import ReduceOp, reduce_op
from tensorbus.distributed.rendezvous import register_rendezvous_handler
from tensorbus.distributed.rooted import gather, monitored_barrier, reduce, scatter
from tensorbus.distributed.store import HashStore, PrefixStore, Store
from tensorbus.distributed.subgroups import (
    Backend,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.distributed.work import Work


def __getattr__(name: str) -> _Any:
    """``is_NAME_available()`` for every comm that a plugin declares, as PyTorch has for its own."""
    comm = name.removeprefix("is_").removesuffix("_available")
    if name == f"is_{comm}_available":
        return lambda: is_backend_available(comm)
    return _attributes(__name__, None, _elsewhere)(name)


def _elsewhere(name: str) -> _Any:
    if name == "GradBucket":
        from tensorbus.nn.parallel.comm_hook import GradBucket

        return GradBucket
    if name == "_get_default_group":
        from tensorbus.distributed.world import current

        return lambda: current().default_group()
    return None


__all__ = [
    "Backend",
    "BackendConfig",
    "BuiltinCommHookType",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GroupMember",
    "GroupName",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "RankType",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "breakpoint",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_initialized",
    "is_torchelastic_launched",
    "isend",
    "local",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "record_comm",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split_group",
    "supports_complex",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])
