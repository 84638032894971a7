"""A tensor's edge, with that of a view made anew after a write to its base."""

from __future__ import annotations

from typing import Any
from weakref import ref

from tensorbus._base import registered
from tensorbus._base.modes import RARE
from tensorbus._base.size import size_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, new, version_of
from tensorbus.autograd.grad_mode import GRAD, THREAD, enable_grad
from tensorbus.autograd.node import AccumulateGrad, Untracked, follow, name_node
from tensorbus.autograd.several_results import result_edge
from tensorbus.op_engine.cores import core
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.rows.recipes import forbids_writes, recipe, steps
from tensorbus.rows.registry import ROWS


@registered.edge_of.provide
def edge_of(t: Tensor) -> Any:
    """The tensor's edge; that of a view whose base was written to is made anew."""
    base = t._b
    if base is None or base is PERMUTED:
        return t._e
    if base._e is None and (t._e is None or t._r):
        return t._e
    edge = t._e
    if t._r and (edge is None or type(edge) is Untracked):
        current = isinstance(base._e, AccumulateGrad)
    else:
        current = t._v == version_of(t)
    if current:
        return Untracked(t._k) if edge is None else edge
    cut = forbids_writes(t._r)
    if cut is not None:
        if GRAD.on or THREAD.on:
            raise cut.refusal("its base or another view of its base has been")
        return t._e
    made = recipe_of(t)
    with enable_grad():
        follow(t, replay(base, made)._e)
    if made[0].result == "same":
        name_node(t, "AsStridedBackward0")
    t._v = version_of(t)
    return t._e


def requires_grad(t: Tensor) -> bool:
    """Whether operations on a tensor record: a view does where its base does."""
    if t._e is not None:
        return True
    base = t._b
    return base is not None and base is not PERMUTED and base._e is not None


RESHAPED: Any = ("in place",)
"""What ``_r`` says of a tensor that is no view and got another shape while it may have views."""


def recipe_of(t: Tensor) -> Any:
    """How a view is made from its base as that is now."""
    base = t._b
    if getattr(base, "_r", None) is not RESHAPED:
        return t._r
    _, offset, strides = t._k.layout(t._a)
    return strided_recipe(base, t._k, tuple(t._s), tuple(strides), offset)


def strided_recipe(base: Tensor, kind: Any, shape: Any, strides: Any, offset: int) -> Any:
    """The recipe of a view by its kind, shape, strides and offset in the storage of a base."""
    if kind.is_complex == base._k.is_complex:
        return _strided(base, shape, strides, offset)
    if base._k.is_complex:  # parts of its numbers
        parts = core("view_as_real")(base.detach())
        return _strided(parts, shape, strides, offset, recipe(ROWS["view_as_real"], (), None))
    pairs = _strided(base, (*shape, 2), (*(2 * s for s in strides), 1), 2 * offset)
    return recipe(ROWS["view_as_complex"], (), pairs)


def _strided(x: Tensor, shape: Any, strides: Any, offset: int, before: Any = None) -> Any:
    """The recipe of a view of *x*, which the recipe *before* makes."""
    start, laid = x._k.layout(x._a)[1:]
    if not start and tuple(laid) == contiguous_strides(tuple(x._s)):
        return recipe(ROWS["strided"], (shape, strides, offset), before)
    return recipe(ROWS["restrided"], (shape, strides, offset, (start, tuple(laid))), before)


def replay(base: Tensor, made: Any) -> Tensor:
    """The view of a base, made the way a recipe says."""
    for row, params in steps(made):
        base = core(row.name)(base, *params)
    return base


def saved_result(n: Any, name: str = "out") -> Tensor:
    """A result that a node kept as a tensor with its history."""
    t = new(Tensor)
    t._a = getattr(n, f"r_{name}")
    t._k = n.result_kinds()[n.results.index(name)]
    t._s = size_of(t._a.shape)
    t._c = getattr(n, f"c_{name}")
    t._e = edge_of_result(n, name)
    t._b = None if t._k.is_contiguous(t._a) else PERMUTED
    if RARE.on:
        registered.result_restored(t, n, n.results.index(name))
    return t


def edge_of_result(n: Any, name: str) -> Any:
    """The edge of a result that a node kept: the one that the user's tensor has, if it lives."""
    if len(n.results) == 1:
        return n
    position = n.results.index(name)
    known = n.edge_refs[position]
    edge = known and known()
    if known and edge is None:
        edge = result_edge(n, position, n.result_kinds()[position])
        n.edge_refs[position] = ref(edge)
    return edge
