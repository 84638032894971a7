"""From a tensor to the contiguous array that a comm takes, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, bump
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.distributed.process_group import ProcessGroup
from tensorbus.op_engine.in_place import refuse_overlap
from tensorbus.plugin.comm import HOST, Comm

T = TypeVar("T")

_warned: set[tuple[str, str]] = set()


def route(group: ProcessGroup, kind: Kind) -> tuple[Comm, bool]:
    """The comm for tensors of a kind, and whether it takes their arrays as they are."""
    found = group.routes.get(kind)
    if found is None:
        found = group.routes[kind] = _find_route(group, kind)
    return found


def _find_route(group: ProcessGroup, kind: Kind) -> tuple[Comm, bool]:
    comm = group.comm_for(kind.device.type)
    takes = comm.capabilities()
    if kind.dtype in takes.get(kind.device.type, ()):
        return comm, True
    if kind.dtype in takes.get(HOST, ()):
        return comm, False
    known = "; ".join(
        f"{'host memory' if d == HOST else d}: {', '.join(sorted(t.name for t in dtypes))}"
        for d, dtypes in sorted(takes.items())
    )
    raise RuntimeError(
        f"the comm {comm.name!r} cannot move {kind.dtype.name} tensors of device "
        f"{kind.device.type!r}; it takes {known}. Convert the tensor, or name another comm for "
        f"this device: init_process_group('{kind.device.type}:NAME')"
    )


def _tell(comm: Comm, kind: Kind) -> None:
    pair = (comm.name, kind.device.type)
    if pair not in _warned:
        _warned.add(pair)
        warnings.warn(
            f"the comm {comm.name!r} cannot take memory of device {kind.device.type!r}: its "
            f"tensors go through host memory",
            UserWarning,
            stacklevel=2,
        )


class Buffer:
    """One tensor's values in a flat array; ``fill`` lets a comm write them."""

    __slots__ = ("_host", "_packed", "array", "comm", "dtype", "kind", "tensor")

    def __init__(self, group: ProcessGroup, tensor: Tensor, read: bool = True):
        kind = tensor._k
        self.tensor, self.kind, self.dtype = tensor, kind, kind.dtype
        self.comm, direct = route(group, kind)
        self._host = not direct
        self._packed: Any = None
        if direct:
            array = tensor._a
            if not kind.is_contiguous(array):
                array = self._packed = kind.clone(array) if read else kind.empty(tensor._s)
            self.array = kind.view(array, (tensor._s.numel(),))
        else:
            self.array = self._host_array(read)

    def _host_array(self, read: bool) -> np.ndarray:
        kind, tensor = self.kind, self.tensor
        shared = kind.backend.view_host(tensor._a, kind.dtype)
        if shared is None:
            _tell(self.comm, kind)
        elif shared.flags.c_contiguous and shared.flags.writeable:
            return shared.reshape(-1)
        if read:
            self._packed = kind.to_host(tensor._a)
        else:
            self._packed = np.empty(tuple(tensor._s), host_dtype(kind))
        return self._packed.reshape(-1)

    def part(self, start: int, stop: int) -> Any:
        """Some of the array's elements."""
        if self._host:
            return self.array[start:stop]
        return self.kind.slice(self.array, 0, start, stop, 1)

    def write(self, start: int, values: Any) -> None:
        """Copy elements into the array."""
        if self._host:
            self.array[start : start + len(values)] = values
        elif values.shape[0]:
            self.kind.copy_(self.part(start, start + values.shape[0]), values)

    def fill(self, receive: Callable[..., T], *args: Any) -> T:
        """Let ``receive(*args)`` write the array, then write the tensor.

        The write is counted whatever stops it, for part of it may be done.
        """
        try:
            found = receive(*args)
            self._finish()
        except BaseException:
            bump(self.tensor)
            raise
        return found

    def _finish(self) -> None:
        """The array was written: write the tensor, where it is not the same memory."""
        refuse_overlap(self.tensor)
        if self._packed is not None and self._host:
            kind = self.kind
            array = kind.from_host(self._packed)
            kind.copy_(self.tensor._a, array)
        elif self._packed is not None:
            self.kind.copy_(self.tensor._a, self._packed)
        bump(self.tensor)


def host_dtype(kind: Kind) -> np.dtype:
    """What NumPy calls a dtype that comms see; bfloat16 is its bits."""
    name = kind.dtype.name
    return np.dtype("uint16" if name == "bfloat16" else name)


def divide(tensor: Tensor, by: int) -> None:
    """Divide in place, integers towards zero: a sum becomes an average."""
    with no_grad():
        if tensor._k.differentiable:
            tensor.div_(by)
        else:
            tensor.div_(by, rounding_mode="trunc")
