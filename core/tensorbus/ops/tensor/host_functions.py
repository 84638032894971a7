"""Python functions applied to each element of a tensor on the host: ``apply_``, ``map_``."""

from __future__ import annotations

from builtins import map as map_of
from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.history import requires_grad
from tensorbus.op_engine.in_place import assign, check_write
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import tensor


def _number(value: Any) -> Any:
    """A function's result as a number; TypeError for anything else."""
    if isinstance(value, Tensor):
        return value.item()
    found = as_number(value)
    if found is None:
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return found


def _write(name: str, self: Tensor, function: Callable[..., Any], **others: Tensor) -> Tensor:
    """Write the function of each element, and of those of *others*, when all are computed."""
    for position, (argument, other) in enumerate(others.items(), 1):
        if not isinstance(other, Tensor):
            raise type_error(name, argument, position, "Tensor", other)
    if any(requires_grad(t) for t in (self, *others.values())):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    if self._k.device.type != "cpu":
        raise TypeError(
            f"{name}() is only implemented on CPU tensors, and this one is on {self._k.device}: "
            "copy it with cpu(), or write the function with operations on whole tensors"
        )
    for argument, other in others.items():
        if other._k is not self._k:
            where = f"'{argument}'" if name == "map_" else f"argument '{argument}'"
            raise TypeError(f"{name}: expected {self.type()} for {where} (got {other.type()})")
    check_write(self)
    same = [t.expand(self._s).reshape(-1).tolist() for t in others.values()]
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    values = [_number(v) for v in map_of(function, self.reshape(-1).tolist(), *same)]
    made = tensor(values, dtype=self._k.dtype, device=self._k.device)
    return assign(self, made.reshape(self._s))


@public(function=False)
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it; for tensors on the CPU alone, and slow.

    Nothing is written where the function raises. RuntimeError where gradients are recorded,
    TypeError for other devices and for results that are no numbers.

    >>> import tensorbus
    >>> tensorbus.arange(3.0).apply_(lambda x: x * x + 1)
    tensor([1., 2., 5.])
    """
    return _write("apply_", self, callable)


@public(function=False)
def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and *other*'s, which is expanded.

    As ``apply_``; *other* has the tensor's dtype and device.

    >>> import tensorbus
    >>> tensorbus.arange(3.0).map_(tensorbus.ones(3), lambda x, y: x - y)
    tensor([-1.,  0.,  1.])
    """
    return _write("map_", self, callable, other=other)


@public(function=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and those of two other tensors.

    As ``map_``.

    >>> import tensorbus
    >>> x = tensorbus.ones(2)
    >>> x.map2_(x, x, lambda a, b, c: a + b + c)
    tensor([3., 3.])
    """
    return _write("map2_", self, callable, x=x, y=y)
