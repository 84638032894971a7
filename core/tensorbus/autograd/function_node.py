"""What a ``Function`` records: its node, what its context saved, its outputs' history."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base import registered
from tensorbus._base.modes import RARE, this_thread
from tensorbus._base.registered import result_restored
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import (
    PERMUTED,
    Tensor,
    bump,
    dispatches,
    from_array,
    new,
    version_of,
    wrap_like,
)
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.node import Node, follow, next_sequence, stale
from tensorbus.autograd.packing import Packed, pack_result
from tensorbus.autograd.several_results import GATHERING, Gradients, ResultEdge, result_edge
from tensorbus.op_engine.batches import kind_in_batch
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_history, rebase
from tensorbus.rows.recipes import Cut

if TYPE_CHECKING:
    from tensorbus.autograd.function import Function, FunctionCtx

_WHY_CUT = (
    "This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)


# -- what was saved --------------------------------------------------------------------------
def _keep_input(t: Tensor | None) -> Callable[[], Tensor | None]:
    if t is None:
        return lambda: None
    if this_thread.hooks:
        packed = Packed(t, this_thread.hooks[-1], edge_of(t))
        return lambda: packed.open(packed.edge)
    then = version_of(t)

    def read() -> Tensor:
        if version_of(t) != then:
            raise stale(t, then)
        return t

    return read


def _keep_output(t: Tensor, node: Any) -> Callable[[], Tensor]:
    """An output is kept as array and cell, not as the tensor, which holds the node."""
    if this_thread.hooks:
        packed = pack_result(t._a, t._k, this_thread.hooks[-1])
        return lambda: packed.open(node())
    if t._c is None:
        t._c = [0]
    array, kind, size, cell, then, plain = t._a, t._k, t._s, t._c, t._c[0], t._b is None

    def read() -> Tensor:
        made = new(Tensor)
        made._a, made._k, made._s, made._c = array, kind, size, cell
        edge = made._e = node()
        made._b = None if plain else PERMUTED
        if cell[0] != then:
            raise stale(made, then)
        if RARE.on and edge is not None:
            result_restored(made, edge.operation(), edge.position)
        return made

    return read


def _edge_again(node: Node, edge: ResultEdge) -> Callable[[], ResultEdge | None]:
    """What finds the edge of one of several outputs, and makes another where that one is gone.

    It goes with the tensor, which the program may have dropped; there is one at a time.
    """
    position, kind, owner, known = edge.position, edge.k, weakref.ref(node), weakref.ref(edge)

    def find() -> ResultEdge | None:
        nonlocal known
        found, of = known(), owner()
        if found is None and of is not None:
            found = result_edge(of, position, kind)
            known = weakref.ref(found)
        return found

    return find


# -- the node --------------------------------------------------------------------------------
def counted(made: Any, n: int, name: str) -> tuple[Any, ...]:
    """The *n* gradients that a user's formula has returned; more may be None."""
    made = made if isinstance(made, tuple) else (made,)
    if len(made) > n and all(x is None for x in made[n:]):
        made = made[:n]
    if len(made) != n:
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {n}, "
            f"got {len(made)})"
        )
    return made


class FunctionNode(Node):
    """The node of a ``Function``: its backward is the user's."""

    __slots__ = ("_edges", "ctx", "function", "inputs", "outputs")
    op = "function"
    takes_none = True
    _edges: tuple[Any, ...]
    """One for each argument of ``forward``."""
    ctx: FunctionCtx
    function: type[Function]
    inputs: list[tuple[Any, Any] | None]
    """Kind and size of each argument; None for what is no tensor."""
    outputs: list[tuple[Any, Any] | None]

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` was given."""
        return self.ctx.saved_tensors

    def edges(self) -> tuple[Any, ...]:
        return self._edges

    def result_kinds(self) -> tuple[Any, ...]:
        return tuple(output and output[0] for output in self.outputs)

    def formula(self) -> Callable[..., Any]:
        """The user's ``backward``, or ``vjp``, which is another name for it."""
        from tensorbus.autograd.function import Function  # here: it stands on this module

        if self.function.vjp is Function.vjp:
            return self.function.backward
        if self.function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return self.function.vjp

    def _arrive(self, g: Any, create_graph: bool) -> list[Tensor | None]:
        given = g if isinstance(g, Gradients) else {0: g}
        arrived: list[Tensor | None] = []
        for i, output in enumerate(self.outputs):
            value = given.get(i)
            if output is None:
                arrived.append(None)
            elif value is not None:
                kind = output[0]
                if not create_graph:
                    value = kind.as_array(value) if not value.shape else value
                    value = wrap_like(value, kind, None)
                arrived.append(value)
            elif self.ctx.materialize_grads:
                kind, size = output
                arrived.append(from_array(kind.zeros(tuple(size)), kind))
            else:
                arrived.append(None)
        return arrived

    def _call(self, g: Any, create_graph: bool) -> tuple[Any, ...]:
        made = self.formula()(self.ctx, *self._arrive(g, create_graph))
        made = counted(made, len(self._edges), self.name())
        for i, (given, value) in enumerate(zip(self.inputs, made, strict=True), 1):
            if given is None and value is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i}, but the corresponding forward input was not a Variable"
                )
            if value is not None and not isinstance(value, Tensor):
                raise RuntimeError(f"expected Variable or None (got {_typename(value)})")
        pairs: list[Any] = []
        for i, (edge, value) in enumerate(zip(self._edges, made, strict=True)):
            if edge is None or value is None:
                pairs += (None, None)
            else:
                value = self._fitted(i, value)
                if isinstance(value._a, SparseArray):
                    if self.inputs[i][0] is value._k:  # type: ignore[index]
                        raise NotImplementedError(
                            f"{self.name()}: sparse arguments of an autograd.Function get no "
                            "gradients: hand it the values, and make the sparse tensor inside"
                        )
                    value = registered.sparse_for_edge(edge, value)
                pairs += (edge, value if create_graph else value._a)
        return tuple(pairs)

    def _fitted(self, i: int, g: Tensor) -> Tensor:
        """A gradient with the shape, dtype and device of the argument that it is for."""
        kind, size = self.inputs[i]  # type: ignore[misc]
        place = sum(given is not None for given in self.inputs[:i])  # among the tensors
        invalid = f"Function {self.name()} returned an invalid gradient at index {place}"
        if g._s != size:
            if not _expands(size, g._s):
                raise RuntimeError(
                    f"{invalid} - got {list(g._s)} but expected shape compatible with {list(size)}"
                )
            g = core("sum_to")(g, tuple(size))
        if g._k is not kind and not dispatches(type(g)) and not isinstance(g._a, SparseArray):
            kind = kind_in_batch(g._k, kind)  # the pass may be that of a batch
            if g._k.dtype.is_complex and not kind.dtype.is_complex:
                raise RuntimeError(f"{invalid} - got a complex one, but the argument is real")
            if g._k.device is not kind.device and g._s:
                raise RuntimeError(
                    f"{invalid} - expected device {kind.device} but got {g._k.device}"
                )
            g = to_kind(g, kind)
        return g

    def run(self, g: Any) -> tuple[Any, ...]:
        return self._call(g, False)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self._call(g, True)

    def release(self) -> None:
        self.ctx._saved = None


def _expands(size: Any, to: Any) -> bool:
    """Whether a shape expands to another."""
    if len(size) > len(to):
        return False
    return all(n in (1, m) for n, m in zip(reversed(size), reversed(to), strict=False))


def _typename(value: Any) -> str:
    module = type(value).__module__
    return type(value).__name__ if module == "builtins" else f"{module}.{type(value).__name__}"


@functools.lru_cache(maxsize=256)
def _class_for(cls: Any) -> Any:
    """The class of a function's nodes, which is called after the function."""
    made = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})
    made.__module__ = "tensorbus.autograd.function"
    return made


# -- after ``forward`` -----------------------------------------------------------------------
def finish(
    cls: type[Function], ctx: FunctionCtx, edges: Any, args: tuple[Any, ...], made: list[Any]
) -> list[Any]:
    """The outputs of ``forward``, checked; with history where there are *edges*."""
    inputs = {id(t) for t in args if isinstance(t, Tensor)}
    dirty = {id(t) for t in ctx.dirty_tensors}
    _check_marked(ctx, made, recording=edges is not None)
    for t in ctx.dirty_tensors:
        bump(t)
    skipped = {id(t) for t in ctx.non_differentiable}
    results: list[Any] = []
    for t in made:
        if isinstance(t, Tensor) and id(t) in inputs and (id(t) not in dirty or id(t) in skipped):
            t = _itself(t, id(t) in skipped)
        results.append(t)
    chosen = [
        isinstance(t, Tensor) and t._k.differentiable and id(before) not in skipped
        for t, before in zip(results, made, strict=True)
    ]
    if edges is not None and any(chosen):
        _record(cls, ctx, edges, args, made, results, chosen)
    return results


def _check_marked(ctx: FunctionCtx, made: list[Any], recording: bool) -> None:
    for t in ctx.dirty_tensors:
        if not any(t is output for output in made):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if recording and isinstance(t._b, Tensor) and len(made) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your "
                "Function cannot return more than one Tensor. This is not supported by the current "
                "autograd engine. You should either make sure the input is not a view (using "
                ".clone() for example) or make your Function only return one Tensor (potentially "
                "splitting it into two Functions: one doing the inplace that returns a single "
                "Tensor and a second one that does the other operations)."
            )


def _itself(t: Tensor, detached: bool) -> Tensor:
    """An input that is an output, too: a view of it, so that both have a history."""
    if detached:
        return t.detach()
    with no_grad():
        return core("alias")(t)


def _record(
    cls: type[Function], ctx: FunctionCtx, edges: Any, args: tuple[Any, ...],
    made: list[Any], results: list[Any], chosen: list[bool],
) -> None:  # fmt: skip
    owner: Any = cls
    node = _class_for(owner)()
    node.q = next_sequence()
    node.h = None
    node.ctx = ctx
    node.function = cls
    node._edges = edges
    node.inputs = [(t._k, t._s) if isinstance(t, Tensor) else None for t in args]
    node.outputs = [(t._k, t._s) if isinstance(t, Tensor) else None for t in results]
    several = len(results) > 1
    node.k = GATHERING if several else results[0]._k
    dirty = {id(t) for t in ctx.dirty_tensors}
    given = {id(t) for t in args}
    outputs: dict[int, tuple[Tensor, Any]] = {}
    saved: dict[int, Any] = {}
    for i, (t, before, differentiable) in enumerate(zip(results, made, chosen, strict=True)):
        if differentiable:
            edge: Any = node
            saved[id(before)] = weakref.ref(node)
            if several:
                edge = result_edge(node, i, t._k)
                saved[id(before)] = _edge_again(node, edge)
            outputs[id(before)] = t, edge
    ctx._saved = [
        _keep_output(outputs[id(t)][0], saved[id(t)])
        if id(t) in outputs and id(t) not in given
        else _keep_input(t)
        for t in ctx.to_save
    ]
    ctx.to_save = ()
    for i, (t, edge) in enumerate(outputs.values()):
        if id(t) in dirty:
            check_history(t)
            rebase(t, edge)
            continue
        follow(t, edge)
        if isinstance(t._b, Tensor):
            t._r = Cut(f"Output {i} of {cls.__name__} is a view", _WHY_CUT)
            t._v = version_of(t)
