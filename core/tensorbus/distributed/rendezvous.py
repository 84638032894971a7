"""How the processes of a job find each other: by address, file, environment or multicast."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from tensorbus.distributed import multicast
from tensorbus.distributed.agreement import agree, await_heard
from tensorbus.distributed.errors import DistError, DistStoreError
from tensorbus.distributed.file_store import FileStore
from tensorbus.distributed.first_come import store_at
from tensorbus.distributed.secret import job_secret
from tensorbus.distributed.store import PrefixStore, Store
from tensorbus.distributed.tcp_store import TCPStore
from tensorbus.plugin.comm import Launch
from tensorbus.plugin.wire import is_loopback

INTERFACE = "TENSORBUS_INTERFACE"
"""The address of this machine at which the other ranks reach it, where it is not loopback."""
_JOB = "job"
_LAST_WORDS = 10.0
"""Seconds for the other ranks to read why the job does not come about: one may have died."""


_HANDLERS: dict[str, Callable[..., Iterable[tuple[Store, int, int]]]] = {}
"""What programs registered for a scheme."""


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterable[tuple[Store, int, int]]]
) -> None:
    """Let ``init_process_group`` find the ranks of ``SCHEME://...`` by a program's own generator.

    ``handler(url, timeout=...)`` yields a store, this process's rank and the world's size.
    RuntimeError for a scheme that is taken.

    >>> import tensorbus as torch
    >>> def alone(url, timeout=None): yield torch.distributed.HashStore(), 0, 1
    >>> torch.distributed.register_rendezvous_handler("alone", alone)
    """
    if scheme in ("env", "file", "tcp") or scheme in _HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _HANDLERS[scheme] = handler


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a rendezvous ends with."""

    store: Store
    rank: int
    world_size: int
    secret: bytes
    address: str
    """This machine's address, as the other ranks reach it."""
    serves: bool = False
    """Whether this rank serves the store."""


def _error(scheme: str, text: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {text}")


def meet(
    init_method: str, rank: int, world_size: int, timeout: float, launch: Launch | None = None
) -> Meeting:
    """Find the other ranks as *init_method* says; unknown rank or size are -1."""
    if not isinstance(init_method, str):
        raise RuntimeError(f"`url` must be a string. {type(init_method)}: {init_method}")
    url = urlsplit(init_method)
    query = {k: v[-1] for k, v in parse_qs(url.query).items()}
    if rank < 0:
        rank = int(query.get("rank", -1))
    if world_size < 0:
        world_size = int(query.get("world_size", -1))
    if url.scheme == "env":
        return _environment(rank, world_size, timeout, launch)
    if launch is not None:
        rank, world_size = (launch.rank, launch.size) if rank < 0 else (rank, world_size)
    if url.scheme == "file":
        return _file(url, rank, world_size, timeout)
    if url.scheme == "tcp":
        return _tcp(url, rank, world_size, timeout)
    if url.scheme in _HANDLERS:
        found = next(iter(_HANDLERS[url.scheme](init_method, timeout=timedelta(seconds=timeout))))
        store, rank, world_size = found
        return by_store(store, rank, world_size, timeout)
    raise RuntimeError(
        f"No rendezvous handler for {url.scheme}://; use tcp://HOST:PORT, file:///PATH or env://"
    )


def _check(scheme: str, rank: int, world_size: int, rank_needed: bool = True) -> None:
    if rank_needed and rank < 0:
        raise _error(scheme, "rank parameter missing")
    if world_size < 0:
        raise _error(scheme, "world size parameter missing")
    if world_size < 1 or rank >= world_size:
        raise ValueError(
            f"rank {rank} of world_size {world_size}: ranks go from 0 to world_size - 1"
        )


# -- by address --------------------------------------------------------------------------------
def _tcp(url: SplitResult, rank: int, world_size: int, timeout: float) -> Meeting:
    try:
        host, port = url.hostname, url.port
    except ValueError as e:
        raise _error("tcp", str(e)) from e
    if port is None or not host:
        raise _error("tcp", "port number missing" if host else "host name missing")
    if multicast.is_group(host):
        _check("tcp", rank, world_size, rank_needed=False)
        secret = job_secret(host)
        store, announcements = multicast.meet(host, port, rank, world_size, secret, timeout)
        with contextlib.closing(announcements):
            return _joined(store, rank, world_size, timeout, secret)
    _check("tcp", rank, world_size, rank_needed=False)
    if rank < 0:
        secret = job_secret(host)
        return _joined(store_at(host, port, timeout, secret), rank, world_size, timeout, secret)
    return _served(host, port, rank, world_size, timeout, job_secret(host))


def _served(
    host: str, port: int, rank: int, world_size: int, timeout: float, secret: bytes
) -> Meeting:
    """Meet in a store that rank 0 serves at an address."""
    store = TCPStore(host, port, is_master=rank == 0, timeout=timeout, secret=secret)
    return _joined(store, rank, world_size, timeout, secret)


def _joined(store: TCPStore, rank: int, world_size: int, timeout: float, secret: bytes) -> Meeting:
    job = PrefixStore(_JOB, store)
    if store.is_server and rank < 0:
        rank = 0  # so that all know who serves
    try:
        where = f"{store.host} port {store.port}"
        rank = agree(job, rank, world_size, timeout, where, served=True)
    except BaseException as e:
        if store.is_server and isinstance(e, DistStoreError):
            with contextlib.suppress(DistError):
                await_heard(job, rank, world_size, _LAST_WORDS)
        store.close()
        raise
    # The others reach the machine that serves by the name they were given.
    named = store.is_server and not is_loopback(store.host)
    address = os.environ.get(INTERFACE) or (store.host if named else store.address)
    return Meeting(job, rank, world_size, secret, address, store.is_server)


def _environment(rank: int, world_size: int, timeout: float, launch: Launch | None) -> Meeting:
    def need(variable: str) -> str:
        value = os.environ.get(variable)
        if not value:
            raise _error("env", f"environment variable {variable} expected, but not set")
        return value

    def number(variable: str) -> int:
        text = need(variable)
        try:
            return int(text)
        except ValueError:
            raise _error("env", f"{variable}={text} is not a number") from None

    if rank < 0:
        rank = launch.rank if launch and not os.environ.get("RANK") else number("RANK")
    if world_size < 0:
        given = os.environ.get("WORLD_SIZE")
        world_size = launch.size if launch and not given else number("WORLD_SIZE")
    host, port = need("MASTER_ADDR"), number("MASTER_PORT")
    _check("env", rank, world_size)
    if not 0 < port < 2**16:
        raise ValueError(f"port must have value from 1 to 65535 but was {port}.")
    return _served(host, port, rank, world_size, timeout, job_secret(host))


# -- by file -----------------------------------------------------------------------------------
def _file(url: SplitResult, rank: int, world_size: int, timeout: float) -> Meeting:
    """Agree on ranks in a file, which also holds the secret; then rank 0 serves a store.

    So a rank that dies is noticed, and the file is gone as soon as all have met.
    """
    path = unquote(url.path)
    if os.name == "nt":
        path = re.sub(r"^/(?=[A-Za-z]:)", "", path)
    if not path:
        raise _error("file", "path missing")
    _check("file", rank, world_size, rank_needed=False)
    file = FileStore(path, world_size, timeout)
    try:
        job = PrefixStore(_JOB, file)
        rank = agree(job, rank, world_size, timeout, f"the file {path}")
        secret = job.compare_set("secret", "", secrets.token_hex(32))
        address = os.environ.get(INTERFACE, "127.0.0.1")
        if rank == 0:
            store = TCPStore(address, 0, is_master=True, timeout=timeout, secret=secret)
            job.set("store", f"{store.port} {address}")
        else:
            job.wait(["store"], timeout)
            port, _, host = job.get("store").decode().partition(" ")
            store = TCPStore(host, int(port), timeout=timeout, secret=secret)
    except BaseException:
        file.abandon()
        raise
    file.close()
    return Meeting(PrefixStore(_JOB, store), rank, world_size, secret, address, rank == 0)


# -- by a store --------------------------------------------------------------------------------
def by_store(store: Store, rank: int, world_size: int, timeout: float) -> Meeting:
    """Meet in a store that the user made."""
    _check("store", rank, world_size)
    job = PrefixStore(_JOB, store)
    agree(job, rank, world_size, timeout, "this store")
    secret = job.compare_set("secret", "", secrets.token_hex(32))
    return Meeting(job, rank, world_size, secret, os.environ.get(INTERFACE) or store.address)
