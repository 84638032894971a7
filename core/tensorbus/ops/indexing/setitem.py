"""Writing into a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base.modes import RARE
from tensorbus._dispatch.wrapping import check_bits
from tensorbus._tensor.tensor import Tensor, bump, from_array
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.argument_values import number_of, tensor_or_number
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.casting import to_kind_warned
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import (
    check_batch,
    check_history,
    check_write,
    rebase,
    record_as,
    refuse_overlap,
    stopped,
)
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public
from tensorbus.op_engine.row_handlers import WRITE, handled, seen
from tensorbus.op_engine.scalars import converted, fitted
from tensorbus.rows.layouts import broadcast_shapes


def without_leading_ones(value: Tensor, rank: int) -> Tensor:
    """The value with at most *rank* dimensions, where those in front are of size 1."""
    while len(value._s) > rank and value._s[0] == 1:
        value = core("select")(value, 0, 0)
    return value


def assigned(x: Tensor, value: Any) -> Any:
    """A Python number that the dtype can hold, for one of Python's or an integer of NumPy's."""
    if isinstance(value, np.integer):
        value = int(value)
    elif not isinstance(value, (bool, int, float, complex)):
        t = type(value)
        name = f"numpy.{t.__name__}" if t.__module__ == "numpy" else t.__name__
        raise TypeError(f"can't assign a {name} to a torch.{x._k.dtype.legacy}")
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    return converted(value, x._k.dtype)


def write_values(self: Tensor, src: Any, name: str = "CopyBackwards") -> Tensor:
    """Write another tensor's values into elements that do not overlap, or a number into any.

    *name* is that of the node of the write.
    """
    if RARE.on and seen(self, src):
        return handled(WRITE, (self, src), lambda row, g: write_values(g[0], g[1], name))
    number = not isinstance(src, Tensor)
    if number:
        check_bits(src)
        src = from_array(self._k.full((), src), self._k)
    y = src if src._k is self._k else to_kind_warned(src, self._k)
    check_batch(self, y)
    if y._s != self._s:
        y = y.expand(self._s)
    recording = check_history(self) if number else check_write(self, y)
    if recording:
        if y is src or y._b is not None:
            y = core("clone")(y)
    elif y._c is not None and y._c is self._c:
        y = core("clone")(y)  # one storage: no value may be overwritten before it is read
    bump(self)
    try:
        self._k.copy_(self._a, y._a)
        if recording:
            rebase(self, y._e, lost=True)
    except BaseException as error:
        stopped(self, error, y._e)
        raise
    return record_as(self, name) if recording else self


def overwrite(x: Tensor, value: Any) -> None:
    """Write a number, or a tensor that broadcasts, into all of a tensor."""
    tensor = isinstance(value, Tensor)
    node = "FillBackward3" if x._s and not (tensor and value._s) else "CopyBackwards"
    if tensor:
        write_values(x, without_leading_ones(value, len(x._s)), node)
        return
    refuse_overlap(x)
    if check_history(x):
        write_values(x, value, node)
    else:
        x.fill_(value)


@public(function=False)
@also_named(src="other")
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, of any dtype and device, which broadcast."""
    operands = (self, src, non_blocking) if non_blocking else (self, src)
    if (answer := asked_in_place("copy_", operands)) is not NotImplemented:
        return answer
    src = tensor_or_number("copy_", "other", 1, src)
    if isinstance(src, Tensor) and src._s != self._s:
        check_history(self, src)  # what is told first of a leaf
        shape = broadcast_shapes(tuple(self._s), tuple(src._s))
        if shape != self._s:
            raise RuntimeError(
                f"output with shape {list(self._s)} doesn't match the broadcast shape {list(shape)}"
            )
    return write_values(self, src)


@public(function=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    if isinstance(value, Tensor):
        if value._s:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{len(value._s)} dimensions."
            )
        return write_values(self, value, "FillBackward3")
    value = fitted(number_of("fill_", "value", 1, value), self._k.dtype)
    if RARE.on and seen(self):
        return handled(WRITE, (self, value), lambda row, given: fill_(*given))
    if check_history(self):
        return write_values(self, value, "FillBackward2")
    bump(self)
    self._k.copy_(self._a, value)
    return self


@public(method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """One value everywhere, in a copy: a number, or a 0-dim tensor.

    >>> import tensorbus
    >>> tensorbus.fill(tensorbus.zeros(2), 3)
    tensor([3., 3.])
    """
    check_tensors("fill", input=input)
    return fill_(core("clone")(input), value)


@public(function=False)
def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere."""
    return record_as(fill_(self, 0), "ZeroBackward0")


def _delitem(self: Tensor, index: Any) -> None:
    """Refused: tensors do not change their size by index."""
    raise TypeError("Tensor does not support deleting items")


METHODS["__delitem__"] = _delitem
