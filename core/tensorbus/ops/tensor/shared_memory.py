"""Tensors in host memory that processes share: ``share_memory_``, and how they travel."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tensorbus import storage as storages
from tensorbus._base import dtypes, registered
from tensorbus._base.shared_memory import CAN_SHARE, SharedMemory, memory_of, root_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.parameter import Parameter
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import over_bytes
from tensorbus.ops.tensor import device_handles


@public(function=False)
def is_shared(self: Tensor) -> bool:
    """Whether other processes see what is written into the tensor.

    >>> import tensorbus
    >>> tensorbus.zeros(2).is_shared(), tensorbus.zeros(2).share_memory_().is_shared()
    (False, True)
    """
    return storages.storage_of(self).is_shared()


@public(function=False)
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's storage into memory that other processes use too.

    A process that is forked then sees the same memory, and so does one that gets the tensor as an
    argument of ``multiprocessing.spawn``, through a queue or a pipe. Devices whose backends give
    handles of their memory share it as it is. RuntimeError on other devices, and where others use
    the same storage on the host: they would stay behind.

    >>> import tensorbus
    >>> x = tensorbus.ones(2).share_memory_()
    >>> x, x.is_shared()
    (tensor([1., 1.]), True)
    """
    if is_shared(self):
        reduce_for_processes()
        return self
    _check_shareable(self._k.device, "tensor")
    moving = _with_base(self)
    if _has_others(moving):
        raise RuntimeError(
            "share_memory_(): other tensors or arrays use the same storage, or a graph has saved "
            "it; they would not see the shared memory: share it before they are made, or share "
            "a clone()"
        )
    _move(moving)
    reduce_for_processes()
    return self


@registered.share_storage.provide
def _share_storage(storage: Any) -> None:
    """Move the bytes of a storage that nothing else uses into shared memory."""
    _check_shareable(storage.device, "storage")
    if not storage.alone and _has_others([storage], "_array"):
        raise RuntimeError(
            "share_memory_(): tensors, arrays or other storages use the same memory, and would "
            "stay behind: call share_memory_() of the tensor, before others use its memory, or of "
            "a clone() of the storage"
        )
    values = storage.to_host()
    memory = SharedMemory.new(len(values)).bytes_(len(values))
    memory[...] = values
    storage._set(memory, storage._kind.of(dtypes.uint8))
    reduce_for_processes()


def _check_shareable(device: Any, what: str) -> None:
    """RuntimeError where processes can't share memory of a device."""
    if device.type != "cpu":
        raise RuntimeError(
            f"share_memory_(): processes can't share memory of the device {device}, on which the "
            f"{what} is: share a copy of it, made with .cpu()"
        )
    if not CAN_SHARE:
        raise RuntimeError("share_memory_(): this operating system shares no open files")


def _move(moving: list[Tensor]) -> None:
    """Put the storage of tensors, which nobody else uses, into shared memory."""
    values = storages.storage_of(moving[0]).to_host()
    memory = SharedMemory.new(len(values)).bytes_(len(values))
    memory[...] = values
    arrays = []
    for x in moving:
        _, offset, strides = x._k.layout(x._a)
        arrays.append(over_bytes(memory, x._k.dtype, tuple(x._s), tuple(strides), offset)._a)
    for x, array in zip(moving, arrays, strict=True):
        x._a = array


def _with_base(x: Tensor) -> list[Tensor]:
    return [x, x._b] if isinstance(x._b, Tensor) else [x]


# -- who else uses a storage -----------------------------------------------------------------
def _references(held: list[Any]) -> int:
    return sys.getrefcount(held[0])


_ALONE = _references([object()])
"""What is counted where a list alone refers to an object."""


def _has_others(moving: list[Any], slot: str = "_a") -> bool:
    """Whether anything besides these tensors refers to their arrays, or to what has the memory.

    What holds an array in another *slot* than tensors is counted in the same way.
    """
    held = {id(getattr(x, slot)): [getattr(x, slot)] for x in moving}
    root = root_of(getattr(moving[0], slot))
    held.setdefault(id(root), [root])
    del root
    for key, one in held.items():
        slots = sum(id(getattr(x, slot)) == key for x in moving)
        views = sum(id(other[0].base) == key for other in held.values())
        if _references(one) - _ALONE > slots + views:
            return True
    return False


# -- between processes -----------------------------------------------------------------------
_registered = False


def reduce_for_processes() -> None:
    """Let ``multiprocessing`` send tensors and storages by their memory from now on."""
    global _registered
    if not _registered:
        _registered = True
        pickler = importlib.import_module("multiprocessing.reduction").ForkingPickler
        for cls in (Tensor, Parameter):
            pickler.register(cls, reduce_tensor)
        for storage in (storages.UntypedStorage, storages.TypedStorage):
            pickler.register(storage, reduce_storage)


def reduce_tensor(x: Tensor) -> Any:
    """How a tensor goes to another process: by its memory, which is shared from then on.

    Where other tensors or arrays use a storage on the host, what goes is a copy. A device's memory
    is shared where its backend gives handles of it. RuntimeError for a tensor with a history, and
    on a device that gives none: what a process is begun with is copied there.
    """
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    on_host = x._k.device.type == "cpu"
    if not x._k.has_values or not CAN_SHARE or (not on_host and not x.numel()):
        return x.__reduce_ex__(2)
    cls, requires_grad = type(x), x.requires_grad
    if not on_host:
        handle = device_handles.handle_of(x)
        if handle is not None:
            return rebuild_device_tensor, (cls, handle, _layout(x), requires_grad)
        context: Any = importlib.import_module("multiprocessing.context")  # half of it is sockets
        if context.get_spawning_popen() is not None:
            return x.__reduce_ex__(2)
        raise RuntimeError(
            f"processes can't share memory of the device {x._k.device}, on which the tensor is: "
            "send a copy of it, made with .cpu()"
        )
    if memory_of(x._a) is None:
        if _has_others(moving := _with_base(x)):
            del moving
            x = x.detach().clone()
            moving = [x]
        _move(moving)
    memory: Any = memory_of(x._a)
    reduction: Any = importlib.import_module("multiprocessing.reduction")
    handle = reduction.DupFd(memory.descriptor)
    return rebuild_tensor, (cls, handle, root_of(x._a).nbytes, _layout(x), requires_grad)


def _layout(x: Tensor) -> Any:
    _, offset, strides = x._k.layout(x._a)
    return x._k.dtype, tuple(x._s), tuple(strides), offset


def rebuild_tensor(cls: type, handle: Any, nbytes: int, layout: Any, requires_grad: bool) -> Tensor:
    """The tensor over the memory that ``reduce_tensor`` sent."""
    try:
        descriptor = handle.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as error:
        raise RuntimeError(
            "a tensor can't be received: the process that sent it has ended. Keep it running until "
            "its tensors have arrived"
        ) from error
    made = over_bytes(SharedMemory.of(descriptor, nbytes).bytes_(nbytes), *layout)
    return _as_sent(made, cls, requires_grad)


def rebuild_device_tensor(cls: type, handle: Any, layout: Any, requires_grad: bool) -> Tensor:
    """The tensor over the memory of a device whose handle ``reduce_tensor`` sent."""
    return _as_sent(device_handles.received(handle, layout), cls, requires_grad)


def _as_sent(made: Tensor, cls: type, requires_grad: bool) -> Tensor:
    reduce_for_processes()
    if cls is not Tensor:
        return cls(made, requires_grad)
    return made.requires_grad_() if requires_grad else made


def reduce_storage(storage: Any) -> Any:
    """How a storage goes to another process: by its memory where that is shared, or as a copy."""
    if not storage.is_shared() or memory_of(storage.untyped()._array) is None:
        return storage.__reduce_ex__(2)
    dtype = getattr(storage, "dtype", None)
    return rebuild_storage, (storage.untyped()._tensor(), dtype)


def rebuild_storage(data: Tensor, dtype: Any) -> Any:
    """The storage over the bytes of a tensor that was received."""
    untyped = storages.storage_of(data)
    return untyped if dtype is None else storages.TypedStorage.over(untyped, dtype)
