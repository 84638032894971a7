"""Messages: announced in the store with tag and size, moved by NCCL.

NCCL knows neither tags nor a receive from any rank, and a send of it holds the GPU until its
receive. So a message is copied, announced, and sent by a thread for its receiver. Each direction
of a pair of ranks has a communicator of its own, on which messages keep their order; those that
come before the wanted one are received aside.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable
from typing import Any

import cupy
from cupy.cuda import nccl

from tensorbus.plugin import Array, CommContext, CommError, CommTimeout
from tensorbus.plugin.wire import Deadline
from tensorbus_comm_nccl.links import Fate, Issue, Link, poll, store_of


class _Announced:
    __slots__ = ("data", "nbytes", "tag", "taken")

    def __init__(self, tag: int, nbytes: int, data: Array | None = None):
        self.tag, self.nbytes, self.data = tag, nbytes, data
        self.taken = False


class _Source:
    """What one rank sends to this one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.known = 0
        self.waiting: list[_Announced] = []
        self.link: Link | None = None


class _Worker:
    """Sends to one rank, one message after the other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0
        self.jobs: queue.Queue[tuple[Array, Any, Deadline] | None] = queue.Queue()
        self.thread: threading.Thread | None = None


class Messages:
    """The messages of one group."""

    def __init__(self, context: CommContext, fate: Fate):
        self._context, self._fate, self._store = context, fate, store_of(context)
        self._sources = [_Source() for _ in range(context.size)]
        self._workers = [_Worker() for _ in range(context.size)]

    # -- sending -----------------------------------------------------------------------------
    def send(self, array: Array, dst: int, tag: int, timeout: float) -> None:
        """Announce a copy, and leave it to the thread for *dst*."""
        self._fate.check()
        deadline = Deadline(timeout)
        with array.device:
            copy = array.copy()
            copied = cupy.cuda.get_current_stream().record()
        if dst == self._context.rank:
            source = self._sources[dst]
            with source.lock:
                source.waiting.append(_Announced(tag, array.nbytes, copy))
            return
        worker, path = self._workers[dst], f"{self._context.rank}-{dst}"
        with worker.lock:
            worker.number += 1
            self._store.set(f"message/{path}/{worker.number}", f"{tag} {array.nbytes}")
            self._store.add(f"messages/{path}", 1)
            if array.nbytes:
                worker.jobs.put((copy, copied, deadline))
            if worker.thread is None:
                worker.thread = threading.Thread(
                    target=self._work, args=(worker, dst), name=f"tensorbus-nccl-{dst}", daemon=True
                )
                worker.thread.start()

    def _work(self, worker: _Worker, dst: int) -> None:
        context, link = self._context, None
        ranks = (context.rank, dst)
        while (job := worker.jobs.get()) is not None:
            copy, copied, deadline = job
            address = copy.data.ptr
            try:
                if link is None:
                    key = f"pair/{context.rank}-{dst}"
                    link = Link(context, self._fate, key, ranks, copy.device.id, deadline)
                link.run("send", _sends(address, copy.nbytes), deadline, copied)
            except CommError as e:
                # The call that sent it is over: the next one raises.
                self._fate.end(CommError(f"an earlier send to {context.peer(dst)}: {e}", e.ranks))
            worker.jobs.task_done()

    def flush(self, deadline: Deadline) -> None:
        """Wait until what was sent has been received."""
        with contextlib.suppress(CommError):
            poll(lambda: not any(w.jobs.unfinished_tasks for w in self._workers), deadline,
                 self._fate)  # fmt: skip

    def close(self) -> None:
        """End the threads."""
        for worker in self._workers:
            worker.jobs.put(None)

    # -- receiving ---------------------------------------------------------------------------
    def recv(self, array: Array, src: int | None, tag: int, timeout: float) -> int:
        """Fill the array; the sender's rank."""
        self._fate.check()
        deadline, context = Deadline(timeout), self._context
        found: list[tuple[int, _Announced]] = []
        sources: Iterable[int] = range(context.size) if src is None else (src,)

        def look() -> bool:
            for rank in sources:
                message = self._next(rank, tag)
                if message is not None:
                    found.append((rank, message))
                    return True
            return False

        if not poll(look, deadline, self._fate):
            names = "any rank" if src is None else context.peer(src)
            wanted = () if src is None else (context.ranks[src],)
            raise CommTimeout(f"no message came from {names} in time", wanted)
        sender, message = found[0]
        data = self._fetch(sender, message, array, deadline)
        if message.nbytes != array.nbytes:
            raise CommError(
                f"{context.peer(sender)} sent a message of {message.nbytes} bytes, but the tensor "
                f"given to recv has {array.nbytes}: shapes and dtypes must agree",
                [context.ranks[sender]],
            )
        if data is not None and array.nbytes:
            with array.device:
                array[...] = data.view(array.dtype)
        return sender

    def _next(self, rank: int, tag: int) -> _Announced | None:
        """The next message of that tag which a rank has announced, and nobody has taken."""
        source, path = self._sources[rank], f"{rank}-{self._context.rank}"
        with source.lock:
            if rank != self._context.rank:
                while source.known < self._store.add(f"messages/{path}", 0):
                    source.known += 1
                    text = self._store.get(f"message/{path}/{source.known}").decode()
                    number, nbytes = map(int, text.split())
                    source.waiting.append(_Announced(number, nbytes))
            for message in source.waiting:
                if message.tag == tag and not message.taken:
                    message.taken = True
                    return message
        return None

    def _fetch(
        self, rank: int, wanted: _Announced, array: Array, deadline: Deadline
    ) -> Array | None:
        """Receive up to a message; into the array where it fits, else into what is returned."""
        source, context = self._sources[rank], self._context
        with source.lock:
            for message in list(source.waiting):
                if message.data is None and message.nbytes:
                    direct = message is wanted and message.nbytes == array.nbytes
                    with array.device:
                        into = array if direct else cupy.empty(message.nbytes, "uint8")
                    if source.link is None:
                        source.link = Link(
                            context, self._fate, f"pair/{rank}-{context.rank}",
                            (rank, context.rank), array.device.id, deadline,
                        )  # fmt: skip
                    address, nbytes = into.data.ptr, message.nbytes
                    source.link.run("recv", _receives(address, nbytes), deadline)
                    message.data = into
                if message is wanted:
                    break
            source.waiting.remove(wanted)
            return None if wanted.data is array else wanted.data


def _sends(address: int, nbytes: int) -> Issue:
    return lambda c, stream: c.send(address, nbytes, nccl.NCCL_UINT8, 1, stream)


def _receives(address: int, nbytes: int) -> Issue:
    return lambda c, stream: c.recv(address, nbytes, nccl.NCCL_UINT8, 0, stream)
