"""Python's ``multiprocessing`` with tensors that pass without copying, and ``spawn``.

Once this is imported, tensors that go through queues and pipes, to pools and as arguments of
processes lie in memory that sender and receiver share: each sees what the other writes.
``spawn`` calls a function in several processes:

    def rank(number, size):
        dist.init_process_group("tcp", "tcp://127.0.0.1:29500", rank=number, world_size=size)

    if __name__ == "__main__":
        tensorbus.multiprocessing.spawn(rank, args=(4,), nprocs=4)

What goes wrong in one of them ends the others and is raised here, with its traceback.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as _standard

from tensorbus.multiprocessing.errors import (
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
)
from tensorbus.multiprocessing.reductions import init_reductions
from tensorbus.multiprocessing.sharing import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)
from tensorbus.multiprocessing.spawning import (
    ProcessContext,
    SpawnContext,
    spawn,
    start_processes,
)

init_reductions()

__all__ = [
    *_standard,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
