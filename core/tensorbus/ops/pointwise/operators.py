"""Powers and operators whose arguments need a look before the general path takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus.ops.pointwise.pointwise  # noqa: F401  its rows are taken up below
from tensorbus._base import dtypes
from tensorbus._base.errors import no_tensor
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.operands import EITHER
from tensorbus.op_engine.pointwise_in_place import fast_binary
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.from_data import tensor

_plain_pow = FUNCTIONS["pow"]


def _check_power(base: Any, exponent: Any) -> None:
    """Whole numbers have no negative powers among themselves."""
    if type(exponent) is int and exponent < 0 and base._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _of_truths(base: Any, exponent: Any) -> bool:
    """Whether it is a power of truth values: only ``x ** True`` and ``x ** False`` are any."""
    return type(exponent) is bool and isinstance(base, Tensor) and base._k.dtype is dtypes.bool


def _power_of_truths(base: Tensor, exponent: bool) -> Tensor:
    return core("bitwise_or")(base, not exponent)


@public(out=True)
@also_named(input="self")
def pow(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``; the operands broadcast, and one of them may be a number.

    RuntimeError for a negative integer as the exponent of integers.
    """
    if isinstance(input, Tensor):
        _check_power(input, exponent)
        if _of_truths(input, exponent):
            return _power_of_truths(input, exponent)
    return _plain_pow(input, exponent)


def _power_operator() -> Any:
    power = core("pow")

    def operator(self: Tensor, exponent: Any) -> Any:
        """``input ** exponent``."""
        t = type(exponent)
        if t is not float:
            if t is int and exponent < 0:
                _check_power(self, exponent)
            elif t is bool and _of_truths(self, exponent):
                return _power_of_truths(self, exponent)
        return power(self, exponent)

    operator.__name__ = operator.__qualname__ = "pow"
    return operator


def _power_in_place(numbers: str = "") -> Any:
    power = fast_binary("pow", numbers)

    def form(self: Tensor, exponent: Any) -> Any:
        """In-place version of ``pow``."""
        if not isinstance(self, Tensor):
            raise no_tensor("pow_", self)
        _check_power(self, exponent)
        if _of_truths(self, exponent):
            return in_place(self, _power_of_truths, (exponent,))
        return power(self, exponent)

    form.__name__ = form.__qualname__ = "pow_"
    return form


def _comparison_operator(name: str) -> Any:
    """``==`` or ``!=``, with an array of NumPy's too, which would ask no tensor."""
    compare = core(name)

    def operator(self: Tensor, other: Any) -> Any:
        made = compare(self, other)
        if made is NotImplemented and isinstance(other, np.ndarray):
            return compare(self, tensor(other))
        return made

    operator.__name__ = operator.__qualname__ = f"__{name}__"
    return operator


METHODS["__eq__"] = Lazy("__eq__", lambda: _comparison_operator("eq"))
METHODS["__ne__"] = Lazy("__ne__", lambda: _comparison_operator("ne"))
METHODS["__pow__"] = Lazy("__pow__", _power_operator)
METHODS["pow_"] = Lazy("pow_", lambda: _power_in_place(EITHER))
METHODS["__ipow__"] = Lazy("__ipow__", _power_in_place)


def _invert(self: Tensor) -> Tensor:
    """``~input``: the bits inverted, truth values negated."""
    if self._k.dtype.category > dtypes.INTEGER:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return core("bitwise_not")(self)


METHODS["__invert__"] = _invert


def _matmul_reversed(self: Tensor, other: Any) -> Any:
    """``other @ input`` where the other operand is a tensor too."""
    return other @ self if isinstance(other, Tensor) else NotImplemented


def _reversed(self: Tensor) -> Tensor:
    """``reversed(input)``: the first dimension flipped."""
    return self.flip(0) if self._s else self


def _nonzero(self: Tensor) -> bool:
    """Whether the one element is not zero, as ``bool(input)`` has it."""
    return bool(self)


METHODS["__rmatmul__"] = _matmul_reversed
METHODS["__reversed__"] = _reversed
METHODS["__nonzero__"] = _nonzero
