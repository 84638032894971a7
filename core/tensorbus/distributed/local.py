"""Threads as ranks: a job within one process, for tests and examples."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from tensorbus.distributed import world as worlds
from tensorbus.distributed.durations import Duration
from tensorbus.distributed.lifecycle import destroy_process_group, init_process_group
from tensorbus.distributed.store import HashStore


def run(
    fn: Callable[..., Any],
    nprocs: int,
    args: tuple[Any, ...] = (),
    backend: str = "local",
    timeout: Duration = 60.0,
) -> list[Any]:
    """Call ``fn(*args)`` in *nprocs* threads, each a rank of its own job; what they return.

    The first error of a rank is raised, after all threads have ended.

    >>> import tensorbus.distributed as dist
    >>> dist.local.run(dist.get_world_size, 2)
    [2, 2]
    """
    store = HashStore()
    results: list[Any] = [None] * nprocs
    errors: list[BaseException] = []

    def rank(number: int) -> None:
        world = worlds.World()
        token = worlds.enter(world)
        try:
            init_process_group(backend, store=store, rank=number, world_size=nprocs,
                               timeout=timeout)  # fmt: skip
            results[number] = fn(*args)
        except BaseException as e:
            errors.append(e)
            if world.monitor is not None:
                world.monitor.publish_death()
        finally:
            if world.default is not None:
                destroy_process_group()
            worlds.leave(token)

    threads = [
        threading.Thread(target=contextvars.Context().run, args=(rank, i), name=f"rank-{i}")
        for i in range(nprocs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    if errors:
        raise errors[0]
    return results
