"""How tensors enter a batch and leave it, and how those outside of it meet those inside.

``vmap`` enters its inputs, runs the function once, and lets the results leave. Both are operations
with a gradient, so gradients pass through. A tensor from outside is lifted where it meets one of a
batch: it is then the same for all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tensorbus._base.leaving import block
from tensorbus._base.modes import OVERRIDES, RARE, fresh_cell, this_thread
from tensorbus._base.registered import tensor_crossed
from tensorbus._base.size import Size, size_of
from tensorbus._device.device import device as Device
from tensorbus._dispatch.batching import (
    UNWRITABLE,
    BatchedArray,
    BatchedDevice,
    batched_device,
    levels_of,
    moved_device,
    plain_device,
)
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import PERMUTED, Tensor, new, order_mark
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import Node, next_sequence
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.row_handlers import Proceed, handling
from tensorbus.rows.recipes import Cut
from tensorbus.rows.registry import Row

_ENTERED = Cut(
    "A view was made of an input of vmap",
    "A write to it cannot be recorded: write to a copy, x.clone(), or write out of place.",
)


def enter(x: Tensor, size: int) -> Tensor:
    """The elements of *x* along its first dimension, which has *size*, as one tensor of a batch."""
    kind = kind_of(batched_device(x._k.device, size), x._k.dtype)
    o = _moved(x, BatchedArray(x._a, False), kind, EnterBackward0)
    if x._c is None:
        x._c = [0]
    o._c = x._c
    o._b = x if x._b is None or x._b is PERMUTED else x._b
    o._r = _ENTERED
    o._v = x._c[0] if type(x._c) is list else 0
    if RARE.on:
        tensor_crossed(o, x, lambda t: enter(t, size))
    return o


def leave(x: Tensor) -> Tensor:
    """The elements of a tensor of a batch as one tensor, along a new first dimension."""
    array, inner = x._a.array, x._k.inner
    assert inner is not None and isinstance(x._k.device, BatchedDevice)
    size = x._k.device.size
    shared = array.shape[0] == size and (x._b is None or x._b is PERMUTED)
    if not shared:
        array = inner.clone(inner.expand(array, (size, *array.shape[1:])))
    o = _moved(x, array, inner, LeaveBackward0)
    if shared:
        if x._c is None:
            x._c = fresh_cell() or [0]
        o._c = x._c
        x._a.alone = False
    if RARE.on:
        tensor_crossed(o, x, leave)
    return o


def lift(x: Tensor, device: Device) -> Tensor:
    """A tensor of an inner device on that of a batch: the same for all its elements."""
    own = levels_of(x._k.device)
    levels = levels_of(device)
    if levels[: len(own)] != own:
        raise RuntimeError(
            "a tensor from inside of a vmap met one of another vmap: it has escaped from the "
            "function that vmap called. Return it from there"
        )
    for level in levels[len(own) :]:
        x = _lifted(x, level)
    return x


def _lifted(x: Tensor, level: BatchedDevice) -> Tensor:
    if x._k.device is not level.inner:  # a number on another device
        from tensorbus.op_engine.casting import to_kind

        x = to_kind(x, kind_of(level.inner, x._k.dtype))
    array = BatchedArray(x._k.unsqueeze(x._a, 0), False)
    o = _moved(x, array, kind_of(level, x._k.dtype), LiftBackward0)
    if RARE.on:
        tensor_crossed(o, x, lambda t: _lifted(t, level))
    return o


def _moved(x: Tensor, array: Any, kind: Kind, node: Any) -> Tensor:
    """A tensor with *x*'s history across the border of a batch."""
    o = new(Tensor)
    o._a, o._k, o._s = array, kind, size_of(array.shape)
    o._c = fresh_cell() if RARE.on else None
    o._e = None
    o._b = None if type(array) is type(x._a) and x._b is None else order_mark(kind, array)
    edge = edge_of(x)
    if edge is not None and kind.differentiable and (GRAD.on or THREAD.on):
        n = node()
        n.q, n.k, n.h, n.e0 = next_sequence(), kind, None, edge
        n.source = x._k
        o._e = n
    return o


# -- gradients -------------------------------------------------------------------------------
class _Crossing(Node):
    """A node between the kind of a batch and its inner kind."""

    __slots__ = ("e0", "source")
    arity = 1
    op = "vmap"
    e0: Any
    source: Kind


class EnterBackward0(_Crossing):
    """The gradient of what entered a batch leaves it."""

    __slots__ = ()

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, _whole(self.k, g)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        def leaving(g: Tensor, behind: int) -> Tensor:
            return turned(leave(g), 0, behind)

        return self.e0, _across(self.k, g, leaving)


class LeaveBackward0(_Crossing):
    """The gradient of what left a batch enters it."""

    __slots__ = ()

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, BatchedArray(g, False)

    def run_t(self, g: Any) -> tuple[Any, ...]:
        def entering(g: Tensor, behind: int) -> Tensor:
            return enter(turned(g, behind, 0), g._s[behind])

        return self.e0, _across(self.k, g, entering)


class LiftBackward0(_Crossing):
    """The gradient of what is the same for all elements is the sum of theirs."""

    __slots__ = ()

    def run(self, g: Any) -> tuple[Any, ...]:
        return self.e0, self.source.as_array(self.source.sum(_whole(self.k, g), (0,)))

    def run_t(self, g: Any) -> tuple[Any, ...]:
        return self.e0, _across(self.k, g, lambda g, _: core("sum")(leave(g), (0,)))


def _across(kind: Kind, g: Tensor, step: Callable[[Tensor, int], Tensor]) -> Tensor:
    """A gradient that crosses a border, of a node that was recorded with tensors of *kind*.

    Where the pass itself is in batches that the node knows nothing of, these lie inside of its own.
    Meanwhile they are the first dimensions of the gradient, and *step* is told how many.
    """
    later = levels_of(g._k.device)[len(levels_of(kind.device)) :]
    for _ in later:
        g = leave(g)
    g = step(g, len(later))
    for level in later:
        g = enter(g, level.size)
    return g


def turned(x: Tensor, source: int, target: int) -> Tensor:
    """A tensor with one dimension moved."""
    if source == target:
        return x
    order = [d for d in range(len(x._s)) if d != source]
    return core("permute")(x, (*order[:target], source, *order[target:]))


def _whole(kind: Any, g: BatchedArray) -> Any:
    """The inner array with one gradient for each element."""
    size = kind.device.size
    if g.array.shape[0] == size:
        return g.array
    return kind.inner.contiguous(kind.inner.expand(g.array, (size, *g.array.shape[1:])))


# -- tensors of several kinds ----------------------------------------------------------------
def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)) and not isinstance(value, Size):
        for item in value:
            yield from _tensors(item)


def deepest(tensors: Any) -> Device | None:
    """The device of the innermost batch among tensors; None where none is in a batch."""
    found, depth = None, 0
    for t in tensors:
        device = t._k.device
        if type(device) is BatchedDevice and device is not found:
            levels = len(levels_of(device))
            if levels > depth:
                found, depth = device, levels
    return found


def lifted(value: Any, device: Device) -> Any:
    """An argument with the tensors in it lifted into a batch."""
    if isinstance(value, Tensor):
        return value if value._k.device is device else _joining(value, device)
    if isinstance(value, (tuple, list)) and not isinstance(value, Size):
        made = [lifted(item, device) for item in value]
        if all(new is old for new, old in zip(made, value, strict=True)):
            return value
        return getattr(type(value), "_make", type(value))(made)
    return value


def _joining(x: Tensor, device: Device) -> Tensor:
    if x._s and plain_device(x._k.device) is not plain_device(device):
        return x  # the op has the error
    return lift(x, device)


class _Lifting:
    """Stands among those that override operations for arguments of several batches.

    Its ``__torch_function__`` lifts what comes from outside into the innermost batch, and runs the
    function.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = deepest(_tensors((*args, *kwargs.values())))
        assert device is not None
        if _writes(func, args, kwargs, device):
            raise RuntimeError(UNWRITABLE)
        args = tuple(lifted(value, device) for value in args)
        return func(*args, **{name: lifted(value, device) for name, value in kwargs.items()})


LIFTING = _Lifting()


def _writes(func: Any, args: Any, kwargs: Any, device: Device) -> bool:
    """Whether a call writes into a tensor that is not of this batch."""
    out = kwargs.get("out")
    if any(t._k.device is not device for t in _tensors(out)):
        return True
    name = getattr(func, "__name__", "")
    in_place = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
    first = args[0] if args else None
    return in_place and isinstance(first, Tensor) and first._k.device is not device


@block
def in_batch(size: int, randomness: str) -> Generator[None, None, None]:
    """A block in which this thread computes for all elements of a batch of that size."""
    OVERRIDES.meet()
    before = this_thread.batches, this_thread.randomness
    try:
        this_thread.batches = (*before[0], size)
        this_thread.randomness = (*before[1], randomness)
        yield
    finally:
        this_thread.batches, this_thread.randomness = before


class _LiftedRows:
    """A handler of rows that lifts what comes from outside into the batch of the others.

    Rules for gradients call rows with what their node has saved and with gradients of a batch.
    """

    follows_gradients = True

    def __call__(self, row: Row, arguments: tuple[Any, ...], proceed: Proceed) -> Any:
        device = deepest(_tensors(arguments))
        if device is None:
            return proceed(row, arguments)
        first, *rest = (lifted(value, device) for value in arguments)
        if row.writes and first is not arguments[0]:
            first = core("clone")(first)  # what a rule writes into is its own
        return proceed(row, (first, *rest))


_LIFTED_ROWS = _LiftedRows()


def lifting_rows(gradients: Iterable[Any], kinds: Iterable[Kind]) -> AbstractContextManager[None]:
    """A block for a backward pass that gradients of a batch start, through nodes outside of it.

    *kinds* are those of the tensors that the gradients are for.
    """
    if this_thread.batches and _LIFTED_ROWS not in this_thread.handlers:
        for g, kind in zip(gradients, kinds, strict=False):
            if isinstance(g, Tensor) and g._k.inner is not None and g._k.device is not kind.device:
                return handling(_LIFTED_ROWS)
    return nullcontext()


def in_current_batches(x: Tensor) -> Tensor:
    """*x* as a tensor of all batches that this thread is in: what differentiates inside ``vmap``
    takes such, so that each element of the batch has a gradient of its own."""
    device = current_device(x._k.device)
    return x if device is x._k.device else lift(x, device)


def drawn_for(x: Tensor) -> Tensor:
    """*x* as a tensor of all batches that this thread is in, where their elements draw random
    numbers of their own: what is drawn by its probabilities then differs among them."""
    return in_current_batches(x) if "different" in this_thread.randomness else x


def current_device(device: Device) -> Device:
    """Where a tensor of all batches that this thread is in lies, by a device without batches."""
    device = plain_device(device)
    for size in this_thread.batches:
        device = batched_device(device, size)
    return device


def kind_in_batch(source: Kind, target: Kind) -> Kind:
    """The kind that a tensor of a batch gets where *target* names a device in fewer batches."""
    if len(levels_of(target.device)) >= len(levels_of(source.device)):
        return target
    return kind_of(moved_device(source.device, plain_device(target.device)), target.dtype)


def depth_of(x: Tensor) -> int:
    """In how many batches a tensor is, each inside of the one before."""
    return len(levels_of(x._k.device))


def differs(x: Tensor) -> bool:
    """Whether a tensor of a batch has a value for each of its elements, not one for all."""
    return bool(x._a.array.shape[0] != 1)
