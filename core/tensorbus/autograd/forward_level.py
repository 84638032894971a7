"""A level of forward mode: the tangents of tensors, and what each op makes of them.

A level is a handler of rows (``op_engine/row_handlers.py``). While it handles a call, it is not
among its thread's handlers: what it computes with are primals and tangents of its own, of which
those of the levels around it are kept by these. So levels nest without knowing of each other.

A tangent has the layout of its tensor, and that of a view is a view of the base's: a write to one
is then the same write to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tensorbus._base.modes import switched, this_thread
from tensorbus._base.registered import result_restored, tensor_crossed, tensor_replaced
from tensorbus._base.weak import WeakKeys
from tensorbus._tensor.tensor import Tensor, from_array, wrap_like
from tensorbus.autograd.function_jvp import apply_with_tangents
from tensorbus.autograd.jvp_of_row import directly, in_parts, stood_for, transposed
from tensorbus.autograd.node import Node
from tensorbus.op_engine.batches import kind_in_batch
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import replay, strided_recipe
from tensorbus.op_engine.row_handlers import CONVERSION, DETACHMENT, DRAW, TURN, Proceed, handling
from tensorbus.rows.layouts import empty_in_layout
from tensorbus.rows.registry import Row

_UNKNOWN = object()


class Level:
    """The tangents of one level, and the handler that computes them."""

    follows_gradients = True

    def __init__(self, public: bool = False) -> None:
        self.public = public
        """Whether it is that of ``forward_ad``, not one of ``torch.func``."""
        self._kept: WeakKeys[Tensor, Tensor | None] = WeakKeys()
        self._of_results: WeakKeys[Node, dict[int, Tensor]] = WeakKeys()

    def close(self) -> None:
        """Forget all tangents."""
        self._kept.clear()
        self._of_results.clear()

    # -- tangents ----------------------------------------------------------------------------
    def tangent(self, t: Tensor) -> Tensor | None:
        """The tangent of a tensor; that of a view comes from its base."""
        kept = self._kept.get(t, _UNKNOWN)
        if kept is not _UNKNOWN:
            return kept
        operand = stood_for(t)
        if operand is not None:
            return self.tangent(operand)
        if not isinstance(t._b, Tensor) or t._b._k.device is not t._k.device:
            return None
        of_base = self.tangent(t._b)
        if of_base is None:
            return None
        seen = _same_view(t, of_base)
        self.keep(t, seen)
        return seen

    def keep(self, t: Tensor, tangent: Tensor | None) -> None:
        """Make *tangent* that of *t*; None says that it has none, whatever its base has."""
        self._kept[t] = tangent

    def _keep_result(self, t: Tensor, tangent: Tensor, sources: Sequence[Tensor]) -> None:
        """Keep a new tangent; where a node keeps its tensor as an array, so that it is found."""
        shared = isinstance(tangent._b, Tensor) or any(tangent is x for x in sources)
        tangent = laid_out_as(core("clone")(tangent) if shared else tangent, t)
        self.keep(t, tangent)
        if t._e is not None:
            node = t._e.operation()
            of_node = self._of_results.get(node)
            if of_node is None:
                of_node = self._of_results[node] = {}
            of_node[t._e.position] = tangent

    def restore(self, t: Tensor, node: Node, position: int) -> None:
        """Find the tangent of a result that a node has kept."""
        tangent = self._of_results.get(node, {}).get(position)
        if tangent is not None:
            self.keep(t, tangent)

    def own(self, t: Tensor) -> Tensor:
        """The tangent of a tensor that is about to be written to: zeros where it has none."""
        found = self.tangent(t)
        if found is None:
            base = t._b if isinstance(t._b, Tensor) else t
            self._kept.pop(t)
            self.keep(base, _zeros_like(base))
            found = self.tangent(t)
        assert found is not None
        return found

    # -- the handler -------------------------------------------------------------------------
    def __call__(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        tangents = self._tangents_of(arguments)
        if not tangents or row is DETACHMENT:
            return proceed(row, arguments)
        if row.writes:
            return self._write(row, arguments, proceed, tangents)
        if row is TURN:
            x, view = arguments
            made = proceed(row, arguments)
            self.keep(x, self.tangent(view))
            return made
        if row is CONVERSION:
            made = proceed(row, arguments)
            if made._k.differentiable:
                x, kind, format = arguments
                tangent = tangents[id(x)]
                kind = kind_in_batch(tangent._k, kind)  # it may be in more batches than the tensor
                self.keep(made, laid_out_as(proceed(row, (tangent, kind, format)), made))
            return made
        if row.form == "view":
            x = arguments[0]
            made = proceed(row, arguments)
            along = laid_out_as(tangents[id(x)], x)
            if along is not tangents[id(x)]:
                self.keep(x, along)
            self.keep(made, proceed(row, (along, *arguments[1:])))
            return made
        parts = in_parts(row, arguments)
        if parts is not None:
            with handling(self):
                return parts()
        made = directly(row, arguments, proceed, tangents)
        if made is None:
            made = transposed(row, arguments, proceed, tangents)
        result, found = made
        for t, tangent in found:
            self._keep_result(t, tangent, list(tangents.values()))
        return result

    def _tangents_of(self, arguments: tuple[Any, ...]) -> dict[int, Tensor]:
        """The tangents of the tensors among the arguments, by the tensor's identity."""
        found = {}
        for x in arguments:
            for t in x if isinstance(x, (list, tuple)) else (x,):
                if isinstance(t, Tensor):
                    tangent = self.tangent(t)
                    if tangent is not None:
                        found[id(t)] = tangent
        return found

    def _write(
        self, row: Row, arguments: tuple[Any, ...], proceed: Proceed, tangents: dict[int, Tensor]
    ) -> Any:
        """A write, and the same of the tangents: the source's has zeros where it has none."""
        x = arguments[0]
        if row is DRAW:
            made = proceed(row, arguments)
            self.own(x).zero_()
            return made
        if "op" in row.arguments and arguments[row.arguments.index("op")] not in ("set", "add"):
            raise NotImplementedError(
                f"Trying to use forward AD with {row.name} that does not support it because it has "
                "not been implemented yet. Write it as an operation that gives a new tensor."
            )
        along: list[Any] = []
        for t in arguments[1:]:
            if isinstance(t, Tensor) and t._k.differentiable:
                along.append(tangents[id(t)] if id(t) in tangents else _zeros_like(t))
            else:
                along.append(t)
        source = row.arguments.index("src" if "src" in row.arguments else row.arguments[1]) - 1
        if along and not isinstance(along[source], Tensor):
            along[source] = 0
        into = self.own(x)
        made = proceed(row, arguments)
        proceed(row, (into, *along))
        return made

    def apply_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``Function.apply`` of a class of the user's, whose ``jvp`` gives the tangents."""
        tangents = self._tangents_of(args)
        with without(self):
            if not tangents:
                return cls.apply(*args, **kwargs)
            result, found = apply_with_tangents(cls, args, kwargs, tangents)
        for t, tangent in found:
            self._keep_result(t, tangent, list(tangents.values()))
        return result


def levels() -> list[Level]:
    """The levels of this thread, the innermost last."""
    return [h for h in this_thread.handlers if isinstance(h, Level)]


def without(level: Level) -> AbstractContextManager[None]:
    """A block in which a level and those inside of it are not among the thread's handlers."""
    handlers = this_thread.handlers
    return switched("handlers", handlers[: handlers.index(level)])


@result_restored.listen
def _restore(t: Tensor, node: Node, position: int) -> None:
    for level in levels():
        level.restore(t, node, position)


@tensor_replaced.listen
def _replace(new: Tensor, old: Tensor) -> None:
    for level in levels():
        tangent = level.tangent(old)
        if tangent is not None:
            level.keep(new, tangent)


@tensor_crossed.listen
def _cross(new: Tensor, old: Tensor, cross: Callable[[Tensor], Tensor]) -> None:
    for level in levels():
        tangent = level.tangent(old)
        if tangent is not None:
            with without(level):
                level.keep(new, cross(tangent))


# -- layouts ---------------------------------------------------------------------------------
def _same_view(t: Tensor, of_base: Tensor) -> Tensor:
    """The view of a base's tangent that a tensor is of the base."""
    base = t._b
    start, strides = t._k.layout(t._a)[1:]
    before = base._k.layout(base._a)[1]
    if t._k.is_complex and not base._k.is_complex:
        before //= 2
    elif base._k.is_complex and not t._k.is_complex:
        before *= 2
    of_base = laid_out_as(of_base, base)
    return replay(
        of_base, strided_recipe(of_base, t._k, tuple(t._s), tuple(strides), start - before)
    )


def _zeros_like(t: Tensor) -> Tensor:
    """Zeros of a tensor's layout."""
    k = t._k
    if t._b is None:
        return from_array(k.zeros(tuple(t._s)), k)
    array = empty_in_layout(k, tuple(t._s), tuple(k.strides(t._a)))
    k.copy_(array, 0)
    return wrap_like(array, k, None)


def laid_out_as(tangent: Tensor, t: Tensor) -> Tensor:
    """The tangent in the layout of a tensor: itself, or a copy."""
    if t._b is None and tangent._b is None:
        return tangent
    mine, wanted = (tuple(x._k.strides(x._a)) for x in (tangent, t))
    if all(n == 1 or a == b for n, a, b in zip(t._s, mine, wanted, strict=True)):
        return tangent
    order = tuple(sorted(range(len(wanted)), key=lambda d: (-wanted[d], d)))
    turned = core("permute")(tangent, order).contiguous()
    return core("permute")(turned, tuple(order.index(d) for d in range(len(order))))
