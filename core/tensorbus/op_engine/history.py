"""A tensor's edge, with that of a view made anew after a write to its base."""

from __future__ import annotations

from typing import Any

from tensorbus._base.size import size_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, new, version_of
from tensorbus.autograd.grad_mode import GRAD, THREAD, enable_grad
from tensorbus.autograd.node import AccumulateGrad, Node, follow
from tensorbus.op_engine.cores import core
from tensorbus.rows.recipes import steps


def edge_of(t: Tensor) -> Any:
    """The tensor's edge; that of a view whose base was written to is made anew."""
    base = t._b
    if base is None or base is PERMUTED:
        return t._e
    if not t._r:
        recorded = (t._e is not None or base._e is not None) and (GRAD.on or THREAD.on)
        if recorded and t._r is not None and t._v != version_of(t):
            raise t._r.refusal("its base or another view of its base has been")
        return t._e
    if base._e is None:
        return t._e
    version = version_of(t)
    if t._e is None:
        if isinstance(base._e, AccumulateGrad):
            return None
    elif t._v == version:
        return t._e
    with enable_grad():
        follow(t, replay(base, t._r)._e)
    t._v = version
    return t._e


def replay(base: Tensor, recipe: Any) -> Tensor:
    """The view of a base, made the way a recipe says."""
    for row, params in steps(recipe):
        base = core(row.name)(base, *params)
    return base


def saved_result(n: Node) -> Tensor:
    """A node's kept result as a tensor with its history."""
    t = new(Tensor)
    t._a = n.r_out  # type: ignore[attr-defined]
    t._k = n.k
    t._s = size_of(t._a.shape)
    t._c = n.c_out  # type: ignore[attr-defined]
    t._e = n
    t._b = None if n.k.is_contiguous(t._a) else PERMUTED
    return t
