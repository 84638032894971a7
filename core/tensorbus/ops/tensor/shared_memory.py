"""Tensors in host memory that processes share: ``share_memory_``, and how they travel."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tensorbus import storage as storages
from tensorbus._base.shared_memory import CAN_SHARE, SharedMemory, memory_of, root_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.parameter import Parameter
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import over_bytes


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
    argument of ``multiprocessing.spawn``, through a queue or a pipe. RuntimeError for tensors that
    are not in host memory, and where others use the same storage: they would stay behind.

    >>> import tensorbus
    >>> x = tensorbus.ones(2).share_memory_()
    >>> x, x.is_shared()
    (tensor([1., 1.]), True)
    """
    if self._k.device.type != "cpu":
        raise RuntimeError(
            f"share_memory_(): processes share host memory alone, and the tensor is on "
            f"{self._k.device}: share a copy of it, made with .cpu()"
        )
    if is_shared(self):
        return self
    if not CAN_SHARE:
        raise RuntimeError("share_memory_(): this operating system shares no open files")
    moving = [self, self._b] if isinstance(self._b, Tensor) else [self]
    if _has_others(moving):
        raise RuntimeError(
            "share_memory_(): other tensors or arrays use the same storage, or a graph has saved "
            "it; they would not see the shared memory: share it before they are made, or share "
            "a clone()"
        )
    values = storages.storage_of(self).to_host()
    memory = SharedMemory.new(len(values)).bytes_(len(values))
    memory[...] = values
    arrays = []
    for x in moving:
        _, offset, strides = x._k.layout(x._a)
        arrays.append(over_bytes(memory, x._k.dtype, tuple(x._s), tuple(strides), offset)._a)
    for x, array in zip(moving, arrays, strict=True):
        x._a = array
    _travel()
    return self


# -- who else uses a storage -----------------------------------------------------------------
def _references(held: list[Any]) -> int:
    return sys.getrefcount(held[0])


_ALONE = _references([object()])
"""What is counted where a list alone refers to an object."""


def _has_others(moving: list[Tensor]) -> bool:
    """Whether anything besides these tensors refers to their arrays, or to what has the memory."""
    held = {id(x._a): [x._a] for x in moving}
    held.setdefault(id(root_of(moving[0]._a)), [root_of(moving[0]._a)])
    for key, one in held.items():
        slots = sum(id(x._a) == key for x in moving)
        views = sum(id(other[0].base) == key for other in held.values())
        if _references(one) - _ALONE > slots + views:
            return True
    return False


# -- between processes -----------------------------------------------------------------------
_travels = False


def _travel() -> None:
    """Let ``multiprocessing`` send shared tensors by their memory from now on."""
    global _travels
    if not _travels:
        _travels = True
        reduction = importlib.import_module("multiprocessing.reduction")
        for cls in (Tensor, Parameter):
            reduction.ForkingPickler.register(cls, _sent)


def _sent(x: Tensor) -> Any:
    """How a tensor goes to another process: by its memory where that is shared."""
    memory = memory_of(x._a) if x._k.device.type == "cpu" else None
    if memory is None:
        return x.__reduce_ex__(2)
    reduction: Any = importlib.import_module("multiprocessing.reduction")
    _, offset, strides = x._k.layout(x._a)
    layout = (x._k.dtype, tuple(x._s), tuple(strides), offset)
    return _received, (
        type(x), reduction.DupFd(memory.descriptor), root_of(x._a).nbytes, layout, x.requires_grad
    )  # fmt: skip


def _received(cls: type, handle: Any, nbytes: int, layout: Any, requires_grad: bool) -> Tensor:
    memory = SharedMemory.of(handle.detach(), nbytes).bytes_(nbytes)
    made = over_bytes(memory, *layout)
    _travel()
    if cls is not Tensor:
        return cls(made, requires_grad)
    return made.requires_grad_() if requires_grad else made
