"""What PyTorch's ``torch._utils`` has beside checkpoints: flat tensors, errors of other threads."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator
from itertools import accumulate as _accumulate  # noqa: F401 -- PyTorch's own until 2.3
from typing import Any

from tensorbus._base.retold_errors import retold
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import Tensor
from tensorbus.ops.joining.joining import cat


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements of tensors of one dtype, one tensor behind another; of a single one a view."""
    parts = [t.contiguous().view(-1) for t in tensors]
    return parts[0] if len(parts) == 1 else cat(parts)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of parts of a flat tensor, with the shapes of *tensors*."""
    views, start = [], 0
    for like in tensors:
        views.append(flat.narrow(0, start, like.numel()).view_as(like))
        start += like.numel()
    return tuple(views)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one type each, which have at most *size_limit* bytes where they can."""
    waiting: dict[str, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        chunk, held = waiting.get(kind, ([], 0))
        if held + size > size_limit and held > 0:
            yield chunk
            chunk, held = [], 0
        waiting[kind] = ([*chunk, tensor], held + size)
    for chunk, _ in waiting.values():
        if chunk:
            yield chunk


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Tensors that lie together by type, in the order of types of *ordered*."""
    queues: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        queues.setdefault(tensor.type(), []).append(tensor)
    return tuple(queues[like.type()].pop(0) for like in ordered)


class ExceptionWrapper:
    """An exception of another thread or process, with its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise one of that type which tells where it was; RuntimeError if none is made."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        raise retold(self.exc_type, text)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index that a device, its name or a number says.

    None is the current device of the accelerator where *optional*. ValueError for a device without
    an index, and for the CPU unless *allow_cpu*, which is -1.
    """
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        device = device.index
    if device is None and optional:
        from tensorbus import accelerator

        return accelerator.current_device_index()
    if not isinstance(device, int):
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    return device


def zero_gradients(x: Any) -> None:
    """Set the gradients of tensors, in nested iterables too, to zero: a name of before 1.8."""
    if not isinstance(x, Tensor):
        for each in x:
            zero_gradients(each)
    elif x.grad is not None:
        x.grad.detach_()
        x.grad.zero_()
