"""Operands of different kinds, and numbers: brought to the kind in which the op computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import device_error
from tensorbus._base.modes import OVERRIDES, RARE
from tensorbus._device import defaults
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.override import ask, is_duck, overriding, plain
from tensorbus.op_engine.parameter import Parameter
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.rare import rare
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import DOMAINS, Row

_NUMBERS = (bool, int, float, complex)


def binary(row: Row, a: Any, b: Any) -> Any:
    """A pointwise op that the common case has left aside: a mode is on, or the kinds differ."""
    return rare(row, (a, b)) if RARE.on else promoted(row, a, b)


def number_first(row: Row, number: Any, x: Tensor) -> Any:
    """A pointwise op whose left operand is a number."""
    k = x._k
    least, most = DOMAINS[row.domain]
    if (
        type(number) in k.number_types
        and (type(x) is Tensor or type(x) is Parameter)
        and least <= k.dtype.category <= most
        and not (RARE.on or OVERRIDES.on)
    ):
        if row.check is not None:
            row.check(number, x)
        return _named(row, core(row.name)(from_array(k.full((), number), k), x))
    return binary(row, number, x)


def _named(row: Row, made: Tensor) -> Tensor:
    """The result of an op whose left operand was a number."""
    if made._e is not None and row.left_number_node_name:
        name_node(made, row.left_number_node_name)
    return made


def promoted(row: Row, a: Any, b: Any) -> Any:
    """A pointwise op on two operands of any kinds, one of which may be a number."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        other = b if isinstance(a, Tensor) else a
        if not isinstance(other, _NUMBERS):
            if is_duck(other) and row.name in METHODS:
                return ask(METHODS[row.name], overriding((a, b)), (a, b), {})
            other = _host_number(other)
            if other is None:
                return NotImplemented
            a, b = (a, other) if isinstance(a, Tensor) else (other, b)
    if OVERRIDES.on and row.name in METHODS and (asked := overriding((a, b))):
        return ask(getattr(Tensor, row.name), asked, (a, b), {})
    if row.check is not None:
        row.check(a, b)
    kind = common_kind(row, a, b)
    left, right = operand(a, kind), _number(b, kind)
    if right is None:
        right = operand(b, kind)
        if type(right) is not Tensor:  # the generated text knows that class and Parameter
            right = plain(right)
    made = core(row.name)(left, right)
    return made if isinstance(a, Tensor) else _named(row, made)


def operand(x: Any, kind: Kind) -> Tensor:
    """A tensor of a kind for a tensor or a number."""
    if not isinstance(x, Tensor):
        return from_array(kind.full((), x), kind)
    if x._k.device is not kind.device and x._s:
        raise device_error(x._k.device, kind.device)
    return to_kind(x, kind)


def _number(x: Any, kind: Kind) -> Any:
    """A number as one that stands beside a tensor of the kind; None for others, and for tensors.

    It is no tensor of one element: its value is known, such as the zero that nothing is divided by.
    """
    if isinstance(x, Tensor):
        return None
    exact: Any = next(t for t in (complex, float, int) if isinstance(x, t))
    made = exact(x)  # what is of a subclass, such as bool and NumPy's float64, too
    return made if type(made) in kind.number_types else None


def common_kind(row: Row, *operands: Any) -> Kind:
    """The kind in which an op computes, by PyTorch's promotion rules."""
    d = result_type(*operands)
    tensors = [x for x in operands if isinstance(x, Tensor)]
    device = next((t._k.device for t in tensors if t._s), None)
    if device is None:
        device = next((t._k.device for t in tensors if t._k.device.type != "cpu"), None)
    if device is None:
        device = tensors[0]._k.device if tensors else defaults.get_default_device()
    for t in tensors:
        if t._k.device is not device and (t._s or t._k.device.type != "cpu"):
            raise device_error(device, t._k.device)
    if DOMAINS[row.domain][0] == dtypes.FLOAT and d.category < dtypes.FLOAT:
        d = dtypes.get_default_dtype()
    _check_domain(row, d, tensors)
    return kind_of(device, d)


def _check_domain(row: Row, d: dtypes.dtype, tensors: list[Tensor]) -> None:
    if d.category > DOMAINS[row.domain][1]:
        broadcast_shapes(*(t._s for t in tensors))  # an error of the shapes comes first
        raise NotImplementedError(f"\"{row.name}\" not implemented for '{scalar_name(d)}'")


def _host_number(value: Any) -> Any:
    """The Python number of a NumPy scalar or the like; None for anything else."""
    item = getattr(value, "item", None)
    if item is None or isinstance(value, np.ndarray) or getattr(value, "shape", None) != ():
        return None
    number = float(value) if isinstance(value, np.bool_) else item()
    return number if isinstance(number, _NUMBERS) else None
