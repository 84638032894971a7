"""Ops of programs inside ``vmap``: by the rule that was registered, or element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.library.arguments import Values, shortened
from tensorbus.library.operators import VMAP, Operator
from tensorbus.op_engine.outside_batches import entered, info_of, outside, outside_of
from tensorbus.ops.joining.joining import stack

Call = Callable[[Operator, Values], Any]


def batched(op: Operator, values: Values, device: Any, call: Call) -> Any:
    """Call an op where some tensors are in the batch of *device*, which is the innermost."""
    pairs = [outside(value, device) for value in values]
    given = tuple(value for value, _ in pairs)
    dims = tuple(dim for _, dim in pairs)
    info = info_of(device)
    rule = op.registered.find(VMAP)
    with outside_of(device):
        if all(d is None for dim in dims for d in (dim if type(dim) is list else [dim])):
            return call(op, given)
        if rule is None:
            return entered(*_one_by_one(op, given, dims, device.size, call), device.size)
        args, kwargs = shortened(op._schema, given)
        made = rule.function(info, dims[: len(args)], *args, **kwargs)
        if not isinstance(made, tuple) or len(made) != 2:
            raise RuntimeError(
                f"The vmap rule of {op._name} must return two values, the output and its out_dims; "
                f"it returned {type(made).__name__}"
            )
        return entered(*made, device.size)


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
