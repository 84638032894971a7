"""The backward pass: an iterative walk over the recorded graph, newest node first.

Gradients travel as arrays and the rules run on kernels; only under ``create_graph``, or where a
handler of rows follows them, do they travel as tensors. Contributions to a node are summed as they
meet; a leaf's gradient is stored when all have come: at the end, or earlier where a hook waits for
it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

from tensorbus._base import registered
from tensorbus._base.float_warnings import silence
from tensorbus._base.modes import RARE, STREAMS, this_thread
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import (
    PERMUTED,
    Tensor,
    bump,
    check_inference,
    from_array,
    wrap_like,
)
from tensorbus.autograd.anomaly_mode import ANOMALY, run_watched
from tensorbus.autograd.early import EARLY, count
from tensorbus.autograd.grad_mode import no_grad, run_switched
from tensorbus.autograd.hook_calls import (
    after_accumulation,
    leaf_hooks,
    run_hooked,
    run_node,
    tensor_hooks,
)
from tensorbus.autograd.node import AccumulateGrad, Node
from tensorbus.autograd.watched_nodes import WATCHED_NODES
from tensorbus.op_engine.casting import move
from tensorbus.op_engine.cores import core
from tensorbus.rows.layouts import empty_in_layout, is_dense

Roots = list[tuple[Node, Any]]


class _Passes(threading.local):
    current: tuple[int, bool] = (0, True)
    """The number of the pass that runs, and whether all leaves are wanted; 0 outside of one."""


class _Numbered:
    """Whether somebody asks for ``PASSES``: else passes have no numbers, which take time."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


PASSES, NUMBERED = _Passes(), _Numbered()
_next_pass = itertools.count(1).__next__


def as_tensors(create_graph: bool) -> bool:
    """Whether the gradients of a pass travel as tensors.

    They do, too, where one of the thread's handlers of rows has ``follows_gradients``: what does
    not record is else done with arrays, which handlers do not see.
    """
    if create_graph or not RARE.on:
        return create_graph
    if RARE.classes:
        return True
    return any(getattr(h, "follows_gradients", False) for h in this_thread.handlers)


def run(
    roots: Roots, keep_graph: bool, create_graph: bool, wanted: set[Any] | None
) -> dict[Any, Any]:
    """Walk from the roots; returns the gradients of leaves and of the nodes in *wanted*.

    With *wanted* only nodes that lead there run.
    """
    order = STREAMS.order
    if order is None and not NUMBERED.on:
        return _run(roots, keep_graph, create_graph, wanted)
    outer = PASSES.current
    try:
        if order is not None:
            order.before()
        PASSES.current = _next_pass(), wanted is None
        return _run(roots, keep_graph, create_graph, wanted)
    finally:
        PASSES.current = outer
        if order is not None:
            order.after()


def _run(
    roots: Roots, keep_graph: bool, create_graph: bool, wanted: set[Any] | None
) -> dict[Any, Any]:
    silence()
    tensors = as_tensors(create_graph)
    if wanted is not None or tensors:
        return run_switched(create_graph, _run_general, roots, keep_graph, tensors, wanted)
    pending = count(node for node, _ in roots) if EARLY else None
    if pending or ANOMALY.on or WATCHED_NODES.around is not None:
        return run_switched(False, _run_general, roots, keep_graph, False, None, pending)
    return run_switched(False, _run_arrays, roots, keep_graph)


def _run_arrays(roots: Roots, keep_graph: bool) -> dict[Any, Any]:
    """The common case: arrays, every leaf wanted."""
    heap: list[tuple[int, Node]] = []
    waiting: dict[Node, Any] = {}
    leaves: dict[Any, Any] = {}
    for node, g in roots:
        _meet(node, g, waiting, leaves, heap)
    while heap:
        _, node = heappop(heap)
        g = waiting.pop(node)
        while True:
            if node.h is None:
                pairs: Any = node.run(g)
            else:
                pairs = run_hooked(node, tensor_hooks(node, g, False), False)
            if not keep_graph:
                node.release()
            following = None
            i = 0
            n = len(pairs)
            while i < n:
                edge = pairs[i]
                if edge is not None:
                    g = pairs[i + 1]
                    if type(edge) is AccumulateGrad:
                        if edge in leaves:
                            leaves[edge] = edge.k.add(leaves[edge], g)
                        else:
                            leaves[edge] = g
                    elif edge in waiting:
                        waiting[edge] = edge.k.add(waiting[edge], g)
                    elif n == 2 and (not heap or edge.q < heap[0][0]):
                        following = edge  # newer than all that waits: no need of the heap
                    elif g is not None:
                        waiting[edge] = g
                        heappush(heap, (edge.q, edge))
                i += 2
            if following is None:
                break
            node = following
            pairs = None
    return leaves


def _meet(edge: Any, g: Any, waiting: dict[Any, Any], leaves: dict[Any, Any], heap: Any) -> None:
    into = leaves if type(edge) is AccumulateGrad else waiting
    if edge in into:
        into[edge] = edge.k.add(into[edge], g)
    else:
        into[edge] = g
        if into is waiting:
            heappush(heap, (edge.q, edge))


def _run_general(
    roots: Roots,
    keep_graph: bool,
    tensors: bool,
    wanted: set[Any] | None,
    pending: dict[AccumulateGrad, int] | None = None,
) -> dict[Any, Any]:
    """Every case; leaves in *pending* are stored when as many edges have been passed.

    *tensors* says that the gradients are tensors, not arrays.
    """
    useful = None if wanted is None else leading_to(wanted, [node for node, _ in roots])
    heap: list[tuple[int, Node]] = []
    waiting: dict[Any, Any] = {}
    found: dict[Any, Any] = {}
    run_one = _running()

    def meet(edge: Any, g: Any) -> None:
        leaf = type(edge) is AccumulateGrad
        if g is None or (useful is not None and edge not in useful):
            return
        into = found if leaf else waiting
        if edge in into:
            before = into[edge]
            into[edge] = before + g if tensors else edge.k.add(before, g)
        else:
            into[edge] = g
            if not leaf:
                heappush(heap, (edge.q, edge))

    for node, g in roots:
        meet(node, g)
    while heap:
        _, node = heappop(heap)
        g = waiting.pop(node)
        if wanted is not None and node in wanted:
            if any(edge in useful for edge in node.edges()):  # type: ignore[operator]
                found[node] = g
            else:
                found[node] = g if node.h is None else tensor_hooks(node, g, tensors)
                continue
        pairs = run_one(node, g, tensors)
        if not keep_graph:
            node.release()
        for i in range(0, len(pairs), 2):
            if pairs[i] is not None:
                meet(pairs[i], pairs[i + 1])
        if pending:
            g, pairs = None, ()  # so that nobody but the leaf holds its gradient
            _store_complete(node, found, pending)
    return found


def _running() -> Callable[[Node, Any, bool], Any]:
    """What runs a node in the general walk, as the modes have it that are on."""
    run = run_watched if ANOMALY.on else run_node
    around = WATCHED_NODES.around
    if around is None:
        return run
    return lambda node, g, create_graph: around(
        node.name(), -node.operation().q, lambda: run(node, g, create_graph)
    )


def _store_complete(node: Node, found: dict[Any, Any], pending: dict[AccumulateGrad, int]) -> None:
    """Store the gradients of leaves to which *node* was the last that leads."""
    for edge in node.edges():
        if edge in pending:
            pending[edge] -= 1
            if not pending[edge]:
                del pending[edge]
                if edge in found:
                    store({edge: found.pop(edge)}, False)


def leading_to(wanted: set[Any], roots: Iterable[Any]) -> set[Any]:
    """The nodes from which one of *wanted* can be reached."""
    useful: set[Any] = set(wanted)
    order: list[Any] = []
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        order.append(node)
        stack.extend(node.edges())
    # Sequence numbers count down, so the oldest nodes come first when sorted backwards.
    leaves = [n for n in order if type(n) is AccumulateGrad]
    inner = sorted((n for n in order if type(n) is not AccumulateGrad), key=lambda n: -n.q)
    for node in [*leaves, *inner]:
        if node not in useful and any(edge in useful for edge in node.edges()):
            useful.add(node)
    return useful


def own(kind: Any, g: Any) -> Tensor:
    """A tensor of the caller's own, without history, for a gradient that a pass has found."""
    if isinstance(g, Tensor):
        with no_grad():
            return core("clone")(g)
    return wrap_like(kind.clone(kind.as_array(g) if not g.shape else g), kind, None)


# -- leaves ----------------------------------------------------------------------------------
def store(gradients: dict[Any, Any], create_graph: bool) -> None:
    """Add the gradients of leaves to their ``.grad``."""
    around = WATCHED_NODES.around
    while gradients:
        edge, g = gradients.popitem()
        # Another edge, a node or a view that holds the array too counts.
        alone = getrefcount(g) <= _ALONE
        leaf = edge.leaf()
        if leaf is not None and g is not None:
            if around is None:
                _accumulate(edge, leaf, g, create_graph, alone)
            else:
                accumulate = partial(_accumulate, edge, leaf, g, create_graph, alone)
                around(edge.name(), -1, accumulate)


def _count_alone() -> int:
    """What ``getrefcount`` says in ``store`` of an array that nobody else holds."""
    one = {0: object()}
    _, g = one.popitem()
    return getrefcount(g)


_ALONE = _count_alone()


def _accumulate(
    edge: AccumulateGrad, leaf: Tensor, g: Any, create_graph: bool, alone: bool
) -> None:
    hooked = edge.h is not None
    k = edge.k
    if hooked:
        k = edge.hook_kind
        g = leaf_hooks(edge, g, create_graph)
        if g is None:
            return
        if not create_graph and _is_sparse(leaf, g):
            registered.accumulate_sparse(leaf, g, k)
            after_accumulation(edge, leaf, g, create_graph)
            return
    if leaf._e is None and not leaf.requires_grad:  # switched off since the forward pass
        return
    before = getattr(leaf, "_g", None)
    if create_graph:
        leaf._g = g.clone() if before is None else before + g
    elif before is None:
        leaf._g = _first(k, leaf, g, alone and not hooked)
    else:
        if hooked and before._k is not k:  # where a leaf takes gradients of any dtype
            g, k = move(g, k, before._k), before._k
        if before._e is not None:
            leaf._g = from_array(k.add(before._a, g), k)
        else:
            check_inference(before)
            bump(before)
            k.add(before._a, g, out=before._a)
    if hooked:
        after_accumulation(edge, leaf, g, create_graph)


def _is_sparse(leaf: Tensor, g: Any) -> bool:
    """Whether a leaf's gradient, or the one that arrives at it as an array, is sparse."""
    before = getattr(leaf, "_g", None)
    return isinstance(g, SparseArray) or (before is not None and isinstance(before._a, SparseArray))


def _first(k: Any, leaf: Tensor, g: Any, alone: bool) -> Tensor:
    """A new ``.grad``: the array itself where nobody else can hold it, else a copy."""
    if not g.shape:
        g = k.as_array(g)
    own = alone and k.backend.owns_storage(g) and k.is_contiguous(g)
    if leaf._b is None:
        return from_array(g if own else k.clone(g), k)
    strides = tuple(k.strides(leaf._a))
    if own and strides == tuple(k.strides(g)):  # a leaf over a NumPy array, or a part of a tensor
        return from_array(g, k)
    if not is_dense(tuple(leaf._s), strides):
        return from_array(k.clone(g), k)
    out = empty_in_layout(k, tuple(leaf._s), strides)
    k.copy_(out, g)
    made = from_array(out, k)
    if not k.is_contiguous(out):
        made._b = PERMUTED
    return made
