"""Meeting through a comm that its own launcher started, such as mpirun: it knows the ranks."""

from __future__ import annotations

import os
import secrets

import numpy as np

from tensorbus import discovery
from tensorbus.distributed.rendezvous import INTERFACE, Meeting
from tensorbus.distributed.store import PrefixStore
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.dtypes import uint8
from tensorbus.plugin.comm import CommContext, Launch
from tensorbus.plugin.hooks import CommSpec

_SIZE = 256


def suits(spec: CommSpec, table: dict[str, str]) -> bool:
    """Whether the comm needs no store to begin with, and is among those wanted."""
    return not spec.needs_store and (not table or spec.name in table.values())


def meet(spec: CommSpec, launch: Launch, timeout: float) -> Meeting:
    """Let rank 0 serve a store and tell all, through the comm itself, where and its secret.

    So new groups, other comms and the search for those at fault work as after any rendezvous.
    """
    ranks = tuple(range(launch.size))
    context = CommContext("bootstrap", launch.rank, ranks, timeout)
    comm = discovery.comm(spec.name)(context)
    told = np.zeros(_SIZE, np.uint8)
    store = None
    address = os.environ.get(INTERFACE, "127.0.0.1")
    try:
        if launch.rank == 0:
            secret = secrets.token_hex(32).encode()
            store = TCPStore(address, 0, is_master=True, timeout=timeout, secret=secret)
            text = f"{store.port} {secret.decode()} {address}".encode()
            told[: len(text)] = np.frombuffer(text, np.uint8)
        comm.broadcast(told, uint8, 0, timeout)
        port, key, host = told.tobytes().rstrip(b"\0").decode().split(" ")
        if store is None:
            store = TCPStore(host, int(port), timeout=timeout, secret=key.encode())
        comm.barrier(timeout)
    finally:
        comm.close()
    job = PrefixStore("job", store)
    own = os.environ.get(INTERFACE) or store.address
    return Meeting(job, launch.rank, launch.size, key.encode(), own, launch.rank == 0)
