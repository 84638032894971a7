"""Types of numbers that stand for sizes while a program is traced, and functions of such numbers.

Programs that also run on PyTorch ask ``isinstance(n, (int, torch.SymInt))`` and call
``torch.sym_max(n, 1)``. Nothing is traced here, so that all sizes are ints, no object is an
instance of these types, and the functions compute with Python numbers.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from tensorbus._base.public_place import show_in


class _Symbolic:
    """A type without instances."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{cls.__name__}: nothing is traced here, so that all sizes are Python numbers; use "
            "torch.compile or torch.export of PyTorch for programs that need symbols"
        )


class SymInt(_Symbolic):
    """The type of ints that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(tensorbus.ones(3).shape[0], tensorbus.SymInt)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymInt
    """

    __slots__ = ()


class SymFloat(_Symbolic):
    """The type of floats that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(1.5, tensorbus.SymFloat)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymFloat
    """

    __slots__ = ()


class SymBool(_Symbolic):
    """The type of truth values that a traced program does not know yet; no object is one here.

    >>> import tensorbus
    >>> isinstance(True, tensorbus.SymBool)
    False

    Source: https://pytorch.org/docs/stable/torch.html#torch.SymBool
    """

    __slots__ = ()


def sym_int(a: Any) -> int:
    """A number as an int, without what is behind the point; of what Python's ``int`` takes."""
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float; of what Python's ``float`` takes."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether *a* is false."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers, a float where one of them is; AssertionError for other objects.

    >>> import tensorbus as torch
    >>> torch.sym_max(3, 2.0)
    3.0
    """
    return _chosen(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The lesser of two numbers, a float where one of them is; AssertionError for other objects.

    >>> import tensorbus as torch
    >>> torch.sym_min(3, 2)
    2
    """
    return _chosen(min, a, b)


def _chosen(choose: Any, a: Any, b: Any) -> Any:
    for x in (a, b):
        if not isinstance(x, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(x)}")
    floats = isinstance(a, _FLOATS) or isinstance(b, _FLOATS)
    return float(choose(a, b)) if floats else choose(a, b)


_FLOATS = (np.floating, float)
_NUMBERS = (np.integer, np.floating, int, float)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """*t* if *b* else *f*; AssertionError unless *b* is a bool and the others are of one type.

    >>> import tensorbus as torch
    >>> torch.sym_ite(False, 1, 2)
    2
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, given as arguments or as one list.

    >>> import tensorbus as torch
    >>> torch.sym_sum([1, 2, 3]), torch.sym_sum(1, 2.5)
    (6, 3.5)
    """
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def sym_sqrt(a: Any) -> float:
    """The square root of a number; ValueError below zero."""
    return math.sqrt(a)


_NAMES = (
    "SymInt SymFloat SymBool sym_int sym_float sym_not sym_max sym_min sym_ite sym_sum sym_sqrt"
)
show_in("tensorbus", [(name, globals()[name]) for name in _NAMES.split()])
