"""Meeting through a comm that its own launcher started, such as mpirun: it knows the ranks."""

from __future__ import annotations

import os
import secrets
import socket

import numpy as np

from tensorbus import discovery
from tensorbus._base.dtypes import uint8
from tensorbus.distributed.rendezvous import INTERFACE, Meeting
from tensorbus.distributed.store import PrefixStore
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.plugin.comm import CommContext, Launch
from tensorbus.plugin.hooks import CommSpec

_SIZE = 256


def suits(spec: CommSpec, table: dict[str, str]) -> bool:
    """Whether the comm can bring the ranks together: it needs no store to begin with.

    So other comms can be named under its launcher too, unless the environment leads elsewhere.
    """
    named = {discovery.comm_spec(name).name for name in table.values()}
    wanted = not named or spec.name in named or "MASTER_ADDR" not in os.environ
    return not spec.needs_store and wanted


def meet(spec: CommSpec, launch: Launch, timeout: float) -> Meeting:
    """Let rank 0 serve a store and tell all, through the comm itself, where and its secret.

    So new groups, other comms and the search for those at fault work as after any rendezvous.
    """
    ranks = tuple(range(launch.size))
    context = CommContext("bootstrap", launch.rank, ranks, timeout)
    comm = discovery.comm(spec.name)(context)
    card = np.zeros(_SIZE, np.uint8)
    store = None
    alone = launch.local_size in (0, launch.size)
    name = "127.0.0.1" if alone else socket.gethostbyname(socket.gethostname())
    address = os.environ.get(INTERFACE, name)
    try:
        if launch.rank == 0:
            secret = secrets.token_hex(32).encode()
            store = TCPStore(address, 0, is_master=True, timeout=timeout, secret=secret)
            text = f"{store.port} {secret.decode()} {address}".encode()
            card[: len(text)] = np.frombuffer(text, np.uint8)
        comm.broadcast(card, uint8, 0, timeout)
        port, key, host = card.tobytes().rstrip(b"\0").decode().split(" ")
        if store is None:
            store = TCPStore(host, int(port), timeout=timeout, secret=key.encode())
        comm.barrier(timeout)
    finally:
        comm.close()
    job = PrefixStore("job", store)
    own = os.environ.get(INTERFACE) or store.address
    return Meeting(job, launch.rank, launch.size, key.encode(), own, launch.rank == 0)
