"""Tensors in a device's memory between processes: by handles that the backend gives.

The process that sends a tensor keeps its storage until all that have received it let go. Each
receiver holds an end of a pipe for as long as it uses the memory, and the system closes that end
when it dies, however it dies.
"""

from __future__ import annotations

import importlib
import itertools
import os
import select
import threading
from typing import Any, NamedTuple

from tensorbus import storage as storages
from tensorbus._base import dtypes
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, from_array
from tensorbus.discovery import offered


class _Sent(NamedTuple):
    tensor: Tensor
    read: int
    write: int
    """The pipe's ends: the second is -1 where it was closed here already."""
    child: Any
    """The process that is begun with the tensor, and takes the end along when it starts."""


_sent: dict[tuple[int, int], _Sent] = {}
_numbers = itertools.count()
_lock = threading.Lock()


class _End:
    """A receiver's end of a pipe; closed at the latest when nobody has it."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor

    def close(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close


class Handle(NamedTuple):
    """What is sent of a storage: whose it is, where, the backend's handle, the pipe's end."""

    owner: tuple[int, int]
    """The process, and its number for this sending."""
    device: tuple[str, int]
    storage: bytes
    nbytes: int
    end: Any


def handle_of(x: Tensor) -> Handle | None:
    """A handle of a tensor's storage, which is kept from now on; None where the device has none."""
    export = offered(x._k.backend, "export_storage")
    if export is None:
        return None
    free_received()
    exported = export(x._a, x._k.dtype)
    if exported is None:
        raise RuntimeError(
            f"Attempted to send a tensor on {x._k.device} whose memory this process did not "
            "allocate, such as one received from another process; this is not supported. "
            "Consider cloning before sending."
        )
    context: Any = importlib.import_module("multiprocessing.context")  # half of it is sockets
    child = context.get_spawning_popen()
    owner = os.getpid(), next(_numbers)
    read, write = os.pipe()
    _sent[owner] = _Sent(x.detach(), read, write, child)
    reduction: Any = importlib.import_module("multiprocessing.reduction")
    end = reduction.DupFd(write)
    if child is None:  # the end was duplicated
        os.close(write)
        _sent[owner] = _sent[owner]._replace(write=-1)
    device = x._k.device
    nbytes = storages.storage_of(x).nbytes()
    return Handle(owner, (device.type, device.index or 0), exported, nbytes, end)


def free_received() -> None:
    """Let go of the storages that no other process uses any more."""
    with _lock:
        for owner, sent in list(_sent.items()):
            if owner[0] != os.getpid():  # of the process that this one was forked from
                continue
            if sent.write >= 0 and getattr(sent.child, "pid", None) is not None:
                os.close(sent.write)
                sent = _sent[owner] = sent._replace(write=-1)
            poll = select.poll()
            poll.register(sent.read, select.POLLIN)
            if poll.poll(0):  # nothing is ever written: all ends are closed
                os.close(sent.read)
                del _sent[owner]


def received(handle: Handle, layout: Any) -> Tensor:
    """The tensor over the storage of a handle that has come; *layout* is dtype to offset."""
    d, shape, strides, offset = layout
    try:
        end = _End(handle.end.detach())
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        raise RuntimeError(
            "a tensor can't be received: the process that sent it has ended. Keep it running until "
            "its tensors have arrived"
        ) from error
    k = kind_of(Device(*handle.device), d)
    own = _sent.get(handle.owner)
    if own is not None:  # it has come back to the process that sent it
        end.close()
        whole, of = own.tensor._a, own.tensor._k.dtype
    else:
        take = offered(k.backend, "import_storage")
        whole = take and take(handle.storage, handle.nbytes, handle.device[1], end.close)
        of = dtypes.uint8
        if whole is None:
            raise RuntimeError(
                f"a tensor on {k.device} can't be received: its backend takes no storages of "
                "other processes. Send a copy of it, made with .cpu()"
            )
    t = from_array(k.backend.as_strided(whole, shape, strides, offset, of, d), k)
    t._b = PERMUTED
    return t
