"""Tensors of another dtype or device: ``to`` and what it stands on."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.modes import RARE, fresh_cell
from tensorbus._base.warning import warn_once
from tensorbus._dispatch.batching import BatchedArray, plain_device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.memory import check_memory
from tensorbus._tensor.tensor import Tensor, new, order_mark
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.row_handlers import CONVERSION, handled, seen
from tensorbus.rows.layouts import empty_in_layout, strides_in_format


def move(array: Any, source: Kind, target: Kind, format: Any = None) -> Any:
    """A new array of the target kind, in a memory format or else in the order of the array."""
    if source.inner is not None and source.device is not target.device:
        assert target.inner is not None
        return BatchedArray(move(array.array, source.inner, target.inner))
    shape = tuple(array.shape)
    as_it_lies = format is None and 1 not in shape and source.is_contiguous(array)
    if (
        as_it_lies
        and source.dtype is target.dtype
        and source.backend is not target.backend
        and target.has_values
    ):
        return target.from_host(source.to_host(array))
    if as_it_lies:
        out = target.empty(shape)
    else:
        strides = tuple(source.strides(array))
        out = empty_in_layout(target, shape, strides_in_format(format, shape, strides))
    try:
        if not target.has_values and source.device is not target.device:
            pass  # nothing is to be read, and nothing to be written to
        elif source.backend is target.backend:
            target.write(out, array, source.dtype)
        else:
            host = source.to_host(array)
            there = target.backend.from_host(host, source.dtype, target.index)
            target.write(out, there, source.dtype)
    except Exception as error:
        check_memory(error, target.device)
        raise
    return out


class ToCopyBackward0(Node):
    """The gradient of a conversion is converted back."""

    __slots__ = ("e0", "source")
    arity = 1
    op = "to"
    e0: Any
    source: Kind

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, move(g, self.k, self.source)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.e0, to_kind(g, self.source)


class CloneBackward0(Node):
    """The gradient of a copy in a memory format is the result's."""

    __slots__ = ("e0",)
    arity = 1
    op = "clone"
    e0: Any

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, g

    run_t = run


def to_kind(x: Tensor, kind: Kind, copy: bool = False, format: Any = None) -> Tensor:
    """The tensor on another device or with another dtype; itself where nothing changes."""
    if x._k is kind and not copy:
        return x
    if x._k.inner is not None or kind.inner is not None:
        return _between_batches(x, kind, copy, format)
    return _copied(x, kind, format, ToCopyBackward0)


def to_kind_warned(x: Tensor, kind: Kind, copy: bool = False, format: Any = None) -> Tensor:
    """``to_kind`` as users call it: with one UserWarning for imaginary parts that are lost."""
    warn_discarded(x._k, kind)
    return to_kind(x, kind, copy, format)


def warn_discarded(source: Kind, target: Kind) -> None:
    """The UserWarning of a program's first conversion of complex numbers to real ones."""
    if source.is_complex and not target.is_complex and target.dtype is not dtypes.bool:
        warn_once("imaginary parts", "Casting complex values to real discards the imaginary part")


def _between_batches(x: Tensor, kind: Kind, copy: bool, format: Any) -> Tensor:
    """``to_kind`` of a tensor of a batch, which stays in it, or into one."""
    from tensorbus.op_engine.batches import kind_in_batch, lift  # here: most programs have none

    if x._k.inner is None:
        return lift(to_kind(x, kind_of(plain_device(kind.device), kind.dtype), copy), kind.device)
    kind = kind_in_batch(x._k, kind)
    return x if x._k is kind and not copy else _copied(x, kind, format, ToCopyBackward0)


def clone_in_format(x: Tensor, format: Any) -> Tensor:
    """A copy in a memory format; None keeps the order of dimensions."""
    return _copied(x, x._k, format, CloneBackward0)


def _copied(x: Tensor, kind: Kind, format: Any, node: Any) -> Tensor:
    if RARE.on and seen(x):
        return handled(
            CONVERSION, (x, kind, format), lambda row, g: _copied(g[0], g[1], g[2], node)
        )
    source = x._k
    o = new(Tensor)
    o._a = move(x._a, source, kind, format)
    o._k = kind
    o._s = x._s
    o._c = fresh_cell() if RARE.on else None
    o._e = None
    o._b = None if x._b is None and format is None else order_mark(kind, o._a)
    if (
        (x._e if x._b is None else edge_of(x)) is not None
        and kind.differentiable
        and source.differentiable
        and (GRAD.on or THREAD.on)
    ):
        n = node()
        n.q = next_sequence()
        n.k = kind
        n.h = None
        n.e0 = edge_of(x)
        if node is ToCopyBackward0:
            n.source = source
        o._e = n
    return o
