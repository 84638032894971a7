"""Tensors of another dtype or device: ``to`` and what it stands on."""

from __future__ import annotations

from typing import Any

from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import PERMUTED, Tensor, new
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.rows.layouts import contiguous_strides, empty_in_layout, pointwise_strides


def move(array: Any, source: Kind, target: Kind, keep_layout: bool = True) -> Any:
    """A new array of the target kind; the order of dimensions is kept unless told otherwise."""
    shape = tuple(array.shape)
    out = None
    if keep_layout and not source.is_contiguous(array):
        strides = pointwise_strides(shape, (shape, tuple(source.layout(array)[2])))
        if strides != contiguous_strides(shape):
            out = empty_in_layout(target, shape, strides)
    if out is None:
        out = target.empty(shape)
    if source.backend is target.backend:
        target.backend.copy_(out, target.dtype, array, source.dtype)
    else:
        host = source.backend.to_host(array, source.dtype)
        there = target.backend.from_host(host, source.dtype, target.index)
        target.backend.copy_(out, target.dtype, there, source.dtype)
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


def to_kind(x: Tensor, kind: Kind, copy: bool = False, keep_layout: bool = True) -> Tensor:
    """The tensor on another device or with another dtype; itself where nothing changes."""
    from tensorbus.op_engine.slow import edge_of

    source = x._k
    if source is kind and not copy:
        return x
    o = new(Tensor)
    o._a = move(x._a, source, kind, keep_layout)
    o._k = kind
    o._s = x._s
    o._c = None
    o._e = None
    o._b = None if x._b is None or kind.is_contiguous(o._a) else PERMUTED
    if (
        (x._e if x._b is None else edge_of(x)) is not None
        and kind.differentiable
        and source.differentiable
        and (GRAD.on or THREAD.on)
    ):
        n = ToCopyBackward0()
        n.q = next_sequence()
        n.k = kind
        n.h = None
        n.e0 = edge_of(x)
        n.source = source
        o._e = n
    return o
