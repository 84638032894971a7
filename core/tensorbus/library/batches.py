"""Ops of programs inside ``vmap``: by the rule that was registered, or element by element."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from tensorbus._base.leaving import block
from tensorbus._base.modes import this_thread
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.batching import levels_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.library.arguments import Values, shortened
from tensorbus.library.operators import VMAP, Operator
from tensorbus.op_engine.batches import differs, enter, leave
from tensorbus.ops.joining.joining import stack
from tensorbus.ops.views.dimension_order import movedim

Call = Callable[[Operator, Values], Any]


class VmapInfo(NamedTuple):
    """What a rule for ``vmap`` is told besides its arguments."""

    batch_size: int
    randomness: str


def batched(op: Operator, values: Values, device: Any, call: Call) -> Any:
    """Call an op where some tensors are in the batch of *device*, which is the innermost."""
    pairs = [_outside(value, device) for value in values]
    given = tuple(value for value, _ in pairs)
    dims = tuple(dim for _, dim in pairs)
    depth = len(levels_of(device))
    randomness = this_thread.randomness[depth - 1 : depth] or ("error",)
    rule = op.registered.find(VMAP)
    with _outside_of(depth):
        if all(d is None for dim in dims for d in (dim if type(dim) is list else [dim])):
            return call(op, given)
        if rule is None:
            return _entered(*_one_by_one(op, given, dims, device.size, call), device.size)
        args, kwargs = shortened(op._schema, given)
        info = VmapInfo(device.size, *randomness)
        made = rule.function(info, dims[: len(args)], *args, **kwargs)
        if not isinstance(made, tuple) or len(made) != 2:
            raise RuntimeError(
                f"The vmap rule of {op._name} must return two values, the output and its out_dims; "
                f"it returned {type(made).__name__}"
            )
        return _entered(*made, device.size)


@block
def _outside_of(depth: int) -> Generator[None, None, None]:
    """A block that runs outside of the batch at a depth, and of those inside of it."""
    before = this_thread.batches, this_thread.randomness
    try:
        this_thread.batches = before[0][: depth - 1]
        this_thread.randomness = before[1][: depth - 1]
        yield
    finally:
        this_thread.batches, this_thread.randomness = before


def _outside(value: Any, device: Any) -> tuple[Any, Any]:
    """A value as it is outside of a batch, and the dimension along which it is one."""
    if isinstance(value, list):
        pairs = [_outside(x, device) for x in value]
        if not any(isinstance(x, Tensor) for x in value):
            return value, None
        return [x for x, _ in pairs], [dim for _, dim in pairs]
    if not isinstance(value, Tensor) or value._k.device is not device:
        return value, None
    return (leave(value), 0) if differs(value) else (leave(value)[0], None)


def _entered(made: Any, dims: Any, size: int) -> Any:
    """The results of a rule as tensors of the batch; *dims* may end sooner than they."""
    if isinstance(made, (tuple, list)):
        if dims is None or isinstance(dims, int):
            dims = [dims] * len(made)
        if len(dims) != len(made):
            raise ValueError(
                f"a vmap rule returned {len(made)} results and out_dims for {len(dims)} of them: "
                "give one for each, or one for all"
            )
        return type(made)(_entered(x, d, size) for x, d in zip(made, dims, strict=True))
    if dims is None or not isinstance(made, Tensor):
        return made
    return enter(movedim(made, dims, 0), size)


def _one_by_one(
    op: Operator, values: Values, dims: tuple[Any, ...], size: int, call: Call
) -> tuple[Any, Any]:
    """The results of calls with one element each, and where they have the batch."""
    if not op._schema.is_functional:
        raise RuntimeError(
            f"Batching rule not implemented for {op._name}; the fallback path doesn't work on out= "
            "or view ops."
        )
    warn_user(
        "There is a performance drop because we have not yet implemented the batching rule for "
        f"{op._name}: it is called for each element. Give it one with torch.library.register_vmap."
    )
    made = [
        call(op, tuple(_element(v, d, i) for v, d in zip(values, dims, strict=True)))
        for i in range(size)
    ]
    if not made:
        raise RuntimeError(
            f"Batching rule not implemented for {op._name}: without one, a batch of no elements "
            "says nothing of the results"
        )
    return _stacked(op, made), 0


def _element(value: Any, dim: Any, i: int) -> Any:
    if isinstance(dim, list):
        return [_element(v, d, i) for v, d in zip(value, dim, strict=True)]
    return value if dim is None else value.select(dim, i)


def _stacked(op: Operator, made: list[Any]) -> Any:
    first = made[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_stacked(op, list(each)) for each in zip(*made, strict=True))
    if isinstance(first, Tensor):
        return stack(made)
    if any(each != first for each in made):
        raise RuntimeError(
            f"Batching rule not implemented for {op._name}: it returned numbers that differ among "
            "the elements"
        )
    return first
