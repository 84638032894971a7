"""In-place forms: compute, check, write, and let the history follow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.dtypes import can_cast, dtype
from tensorbus._base.errors import is_interrupt, leaf_inplace_error
from tensorbus._base.modes import RARE
from tensorbus._dispatch.batching import UNWRITABLE
from tensorbus._tensor.tensor import PERMUTED, Tensor, bump, check_inference, new, version_of
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import (
    AccumulateGrad,
    Node,
    UnrecordedWrite,
    follow,
    name_node,
    next_sequence,
)
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of, recipe_of, replay, requires_grad
from tensorbus.op_engine.older_broadcasting import FALLBACK, as_many_in_shape
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.row_handlers import WRITE, handled, seen
from tensorbus.op_engine.scalars import scalar_name_of
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.recipes import forbids_writes, steps
from tensorbus.rows.registry import ROWS


def in_place(
    x: Tensor, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Tensor:
    """Write ``f(x, *args)`` into *x*; nothing changes where the result does not fit."""
    source = x
    operands = (x, *args, *kwargs.values()) if kwargs else (x, *args)
    if check_write(x, *operands):
        # Backward may need the values that are overwritten.
        if RARE.on and seen(x):
            source = handled(ROWS["clone"], (x,), lambda row, given: _snapshot(*given))
        else:
            source = _snapshot(x)
    try:
        y = f(source, *args, **(kwargs or {}))
    except NotImplementedError:
        if len(args) == 1 and not kwargs:
            _check_result(x, args[0])
        raise
    if y is NotImplemented:
        return y
    name = getattr(y._e, "written", "")
    try:
        assign(x, y)
    except RuntimeError:
        flat = as_many_in_shape(x, args[0]) if FALLBACK.on and len(args) == 1 else None
        if flat is None:
            raise
        return in_place(x, f, (flat,), kwargs)
    return record_as(x, name) if name else x


def _check_result(x: Tensor, other: Any) -> None:
    """RuntimeError where no result of two operands fits the first, whether there is one or not."""
    if isinstance(other, Tensor):
        shape = broadcast_shapes(x._s, other._s)
        if tuple(shape) != tuple(x._s):
            raise _other_shape(x, shape)
    elif not isinstance(other, (float, complex)):
        return
    _check_cast(result_type(x, other), x)


def _other_shape(x: Tensor, shape: Any) -> RuntimeError:
    return RuntimeError(
        f"output with shape {list(x._s)} doesn't match the broadcast shape {list(shape)}"
    )


def _check_cast(d: dtype, x: Tensor) -> None:
    if not can_cast(d, x._k.dtype):
        raise RuntimeError(
            f"result type {scalar_name(d)} can't be cast to the desired output type "
            f"{scalar_name_of(x)}"
        )


def check_write(x: Tensor, *sources: Any) -> bool:
    """Refuse to write where memory or autograd forbids it; whether the write is recorded."""
    refuse_overlap(x)
    return check_history(x, *sources)


def check_history(x: Tensor, *sources: Any) -> bool:
    """Refuse to write where autograd can't follow; whether the write is recorded.

    It is where gradients are on and *x* or one of *sources*, of which some may be tensors, has a
    history.
    """
    check_inference(x)
    if not (GRAD.on or THREAD.on):
        return False
    if type(x._e) is AccumulateGrad:
        raise leaf_inplace_error()
    recorded = requires_grad(x) or any(isinstance(t, Tensor) and requires_grad(t) for t in sources)
    base = x._b
    if base is None or base is PERMUTED:
        return recorded
    if recorded:
        cut = forbids_writes(x._r)
        if cut is not None:
            raise cut.refusal("is being")
        if type(base._e) is AccumulateGrad:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
    return recorded


def _snapshot(x: Tensor) -> Tensor:
    """The tensor's values and history as they are before the write."""
    t = new(Tensor)
    t._a = x._k.clone(x._a)
    t._k = x._k
    t._s = x._s
    t._c = None
    t._b = None
    n = t._e = edge_of(x)
    # The write to a view belongs to the base. Its history is the view's own but where the view is a
    # part of the storage beyond the tensor it was made of, or where hooks wait for the view.
    recipe = x._r if n is not None and isinstance(x._b, Tensor) else None
    if recipe and (n.h is not None or n.op != recipe[0].name):
        t._e = replay(x._b, recipe_of(x))._e
    return t


def assign(x: Tensor, y: Tensor) -> Tensor:
    """Write *y*'s values into *x* and give *x* its history."""
    if RARE.on and seen(x, y):
        return handled(WRITE, (x, y), lambda row, given: assign(*given))
    k = x._k
    if y._s is not x._s and y._s != x._s:
        raise _other_shape(x, y._s)
    if y._k is not k:
        check_batch(x, y)
        _check_cast(y._k.dtype, x)
        y = to_kind(y, k)
    n = y._e
    bump(x)  # first, so that no interrupt comes between a write and its count
    try:
        k.copy_(x._a, y._a)
        if n is not None and not n.packs and getattr(n, "r_out", None) is y._a:
            # What backward needs of the result now lies in x: no second copy, and a later write
            # to x is seen.
            n.r_out, n.c_out, n.v_out = x._a, x._c, version_of(x)
        if n is not None or edge_of_before(x) is not None:
            rebase(x, n)
    except BaseException as error:
        stopped(x, error, n)
        raise
    return x


def check_batch(x: Tensor, y: Tensor) -> None:
    """RuntimeError for a write of *y*, which differs among the elements of a batch, into one for
    all of them."""
    if y._k.inner is not None and y._k.device is not x._k.device:
        raise RuntimeError(UNWRITABLE)


def stopped(x: Tensor, error: BaseException, *edges: Any) -> None:
    """*error* came between a write of values with the histories *edges* and its record."""
    if is_interrupt(error):
        abandon(x, *edges)


def abandon(x: Tensor, *edges: Any, node: type[UnrecordedWrite] = UnrecordedWrite) -> None:
    """Refuse backward passes through *x*: nobody knows what a write did, or how much of it.

    *edges* are the histories of the written values; the class *node* has the error.
    """
    if not (GRAD.on or THREAD.on):
        return
    base = x._b
    if base is None or base is PERMUTED:
        base = x
    elif not x._r:
        return
    sources = tuple(edge for edge in (base._e, *edges) if edge is not None)
    if sources and type(base._e) is not AccumulateGrad:
        n = node()
        n.q = next_sequence()
        n.k, n.h, n.shape, n.sources = x._k, None, x._s, sources
        follow(base, n)


def edge_of_before(x: Tensor) -> Any:
    """The edge a write replaces, where recording follows writes."""
    return x._e if GRAD.on or THREAD.on else None


def refuse_overlap(x: Tensor) -> None:
    """Refuse to write where two elements share an address."""
    if x._b is None:
        return
    if repeated_dims(x):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def repeated_dims(x: Tensor) -> list[int]:
    """The dimensions along which a tensor is expanded: all their elements share an address."""
    strides = x._k.strides(x._a)
    return [d for d, (s, n) in enumerate(zip(strides, x._s, strict=True)) if s == 0 and n > 1]


def rebase(x: Tensor, edge: Any, lost: bool = False) -> None:
    """*x* was overwritten with values whose history is *edge*.

    *lost* says that this history does not lead to what *x* held: its gradient is then zero.
    """
    base = x._b
    own = base is None or base is PERMUTED
    if own and (x._e is None or (edge is not None and not lost)):
        follow(x, edge)
        return
    if own:
        base = x
    elif not x._r:
        return
    n = CopySlices()
    n.q = next_sequence()
    n.k = base._k
    n.h = None
    n.e0 = base._e
    n.e1 = edge
    n.recipe = None if own else recipe_of(x)
    n.shape = base._s
    n.order = None if base._b is None else _memory_order(base)
    follow(base, n)
    if not own:
        edge_of(x)


def record_as(x: Tensor, name: str) -> Tensor:
    """Call the node of a write by its name, unless it was one into a view."""
    if (x._b is None or x._b is PERMUTED) and x._e is not None and (GRAD.on or THREAD.on):
        name_node(x, name)
    return x


def recorded_as(name: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Name the nodes of a function that writes into its first operand."""

    def decorate(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @functools.wraps(f)
        def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            return record_as(f(self, *args, **kwargs), name)

        return call

    return decorate


def _memory_order(x: Tensor) -> tuple[int, ...]:
    """The dimensions from the one of the largest stride to the one of the smallest."""
    strides = x._k.strides(x._a)
    return tuple(sorted(range(len(strides)), key=lambda d: (-strides[d], d)))


class CopySlices(Node):
    """A write into a view: the base's gradient is zero there, the written values get the rest.

    The view's recipe only holds for the base's own layout, so gradients are brought into it.
    """

    __slots__ = ("e0", "e1", "order", "recipe", "shape")
    arity = 2
    op = "copy_"
    e0: Any
    e1: Any
    recipe: Any
    shape: Any
    order: tuple[int, ...] | None

    def name(self) -> str:
        return getattr(self, "title", "torch::autograd::CopySlices")

    def run(self, g: Any) -> tuple[Any, ...]:
        kept = written = None
        if self.e1 is not None:
            written = self._copy(self.k, g)
            if self.recipe is not None:
                k, seen = _view_array(self.k, written, self.recipe)
                written = k.clone(seen)
        if self.e0 is not None and self.recipe is None:
            kept = self.k.zeros(tuple(g.shape))
        elif self.e0 is not None:
            kept = self._copy(self.k, g)
            k, seen = _view_array(self.k, kept, self.recipe)
            k.copy_(seen, 0)
        return self.e0, kept, self.e1, written

    def run_t(self, g: Any) -> tuple[Any, ...]:
        kept = written = None
        if self.e1 is not None:
            written = _row_major(self.k.T, replay(self._copy(self.k.T, g), self.recipe))
        if self.e0 is not None:
            kept = self._copy(self.k.T, g)
            replay(kept, self.recipe).zero_()
        return self.e0, kept, self.e1, written

    def _copy(self, F: Any, g: Any) -> Any:
        """A copy in the layout of the base."""
        if self.order is None:
            return _row_major(F, g)
        back = tuple(self.order.index(d) for d in range(len(self.order)))
        return F.permute(_row_major(F, F.permute(g, self.order)), back)


def _row_major(F: Any, x: Any) -> Any:
    """A row-major copy of an array, or of a tensor (whose own ``clone`` keeps its layout)."""
    if isinstance(x, Tensor):
        return core("clone")(x)
    return F.clone(x)


def _view_array(k: Any, array: Any, recipe: Any) -> tuple[Any, Any]:
    """The kind and the array of the view of an array that a recipe makes."""
    for row, params in steps(recipe):
        array = getattr(k, row.name)(array, *params)
        k = row.result_kind(k)
    return k, array
