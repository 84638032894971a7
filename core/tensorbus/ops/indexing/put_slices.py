"""Whole slices written by index: what all assignments to indices end in."""

from __future__ import annotations

from typing import Any

from tensorbus._base.errors import is_interrupt
from tensorbus._base.modes import RARE, this_thread
from tensorbus._tensor.tensor import Tensor, bump, unbump
from tensorbus.autograd.node import Node, next_sequence, stale
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_write, rebase, stopped
from tensorbus.op_engine.row_handlers import handled, seen
from tensorbus.rows.registry import ROWS


class IndexPutBackward0(Node):
    """What was overwritten gets no gradient; the values get that of their elements."""

    __slots__ = ("dim", "e0", "e1", "op_name", "t_i", "v_i", "wrap")
    arity = 2
    op = "index_put_"
    e0: Any
    e1: Any
    t_i: Tensor
    v_i: int
    dim: int
    op_name: str
    wrap: bool

    def _index(self) -> Tensor:
        i = self.t_i
        cell = i._c
        if cell is not None and cell[0] != self.v_i:
            raise stale(i, self.v_i)
        return i

    def run(self, g: Any) -> tuple[Any, ...]:
        return self._gradients(self.k, g, self._index()._a)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self._gradients(self.k.T, g, self._index())

    def _gradients(self, F: Any, g: Any, i: Any) -> tuple[Any, ...]:
        kept = written = None
        if self.e0 is not None:
            kept = F.index_clear(g, self.dim, i, self.wrap) if self.op_name == "set" else g
        if self.e1 is not None:
            written = F.take(g, self.dim, i, self.wrap)
        return self.e0, kept, self.e1, written


def _node_class() -> type[IndexPutBackward0]:
    if not this_thread.hooks:
        return IndexPutBackward0
    from tensorbus.autograd.packing import packing  # here: most programs have no hooks

    return packing(IndexPutBackward0)


def apart(source: Tensor, x: Tensor) -> Tensor:
    """A source of a write into *x*; a copy where both share a storage."""
    shared = source._c is not None and source._c is x._c
    return core("clone")(source) if shared else source


def put_into(x: Tensor, dim: int, i: Tensor, src: Any, op: str, wrap: bool) -> None:
    """Write *src* (a number, or a tensor with size ``len(i)`` in *dim*) into whole slices."""
    if RARE.on and seen(x, src):
        arguments = x, dim, i, src, op, wrap
        handled(ROWS["put"], arguments, lambda row, given: put_into(*given))
        return
    k = x._k
    given = isinstance(src, Tensor)
    if given:
        src = apart(src, x)
    i = apart(i, x)
    recording = check_write(x, src)
    n = None
    if recording:
        n = _node_class()()
        n.e0 = edge_of(x)
        n.e1 = edge_of(src) if given else None
        n.q = next_sequence()
        n.k = k
        n.h = None
        n.dim, n.t_i, n.op_name, n.wrap = dim, i, op, wrap
        n.v_i = 0 if i._c is None else i._c[0]
    values = src._a if given else k.full((), src)
    bump(x)
    try:
        k.put(x._a, dim, i._a, values, op, wrap)
        if n is not None:
            rebase(x, n)
    except BaseException as error:
        if not is_interrupt(error):
            unbump(x)
        stopped(x, error, n)
        raise
