"""What the arguments of a public function may be: read from its annotations, checked when called.

A parameter annotated ``Tensor``, ``float``, ``int`` or ``bool`` (``| None``) takes such values, and
what means one: NumPy's numbers, tensors without dimensions. Other annotations are the function's
own affair.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import as_float, as_int
from tensorbus.op_engine.override import SUBCLASSES, dispatch, overriding, takes_tensors

_BY_TRUTH = frozenset(["inplace", "return_indices", "size_average", "reduce"])
"""Flags of which only the truth counts, as in PyTorch: they choose in Python what is called."""


def checked(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users see it: overridable, and called with arguments of the right types.

    Calls whose arguments have the exact types of an earlier good call pay one look into a set.
    What takes nothing but tensors fails where it gets something else: it pays nothing.
    """
    kinds = _kinds(f)
    if all(kind.fit is _as_tensor for kind in kinds.values()):
        return _explained(f, kinds)
    good: set[tuple[Any, ...]] = set()

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if SUBCLASSES.on and (classes := overriding(args, kwargs)):
            return dispatch(call, classes, args, kwargs)
        types: tuple[Any, ...] = tuple(map(type, args))
        if kwargs:
            types = (*types, *kwargs, *map(type, kwargs.values()))
        if types not in good:
            fit_args, fit_kwargs = _fitted(f.__name__, kinds, args, kwargs)
            if all(map(operator.is_, args, fit_args)) and all(
                map(operator.is_, kwargs.values(), fit_kwargs.values())
            ):
                good.add(types)
            return f(*fit_args, **fit_kwargs)
        return f(*args, **kwargs)

    return call


def _explained(f: Callable[..., Any], kinds: dict[str, _Kind]) -> Callable[..., Any]:
    """The overridable function, whose failures name an argument of a wrong type first."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if SUBCLASSES.on and (classes := overriding(args, kwargs)):
            return dispatch(call, classes, args, kwargs)
        try:
            return f(*args, **kwargs)
        except Exception:
            _fitted(f.__name__, kinds, args, kwargs)
            raise

    return call


def publish_checked(namespace: dict[str, Any]) -> None:
    """Make the functions of a module's namespace that take tensors overridable and checked."""
    for name, f in list(namespace.items()):
        if isinstance(f, FunctionType) and not name.startswith("_") and takes_tensors(f):
            namespace[name] = checked(f)


def ints(function: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """An argument that is one int for all of *count* dimensions, or one for each.

    >>> ints("max_pool2d", "stride", 2, 2)
    (2, 2)
    >>> ints("max_pool2d", "stride", (1, 2, 3), 2)
    Traceback (most recent call last):
    ...
    RuntimeError: max_pool2d(): argument 'stride' must be an int or 2 ints, but got [1, 2, 3]
    """
    if type(value) is int:
        return (value,) * count
    if not isinstance(value, (tuple, list)):
        fit = as_int(value)
        if fit is None:
            raise type_error(function, argument, None, "tuple of ints", value)
        return (fit,) * count
    found = int_tuple(function, argument, value)
    if len(found) == 1:
        return found * count
    if len(found) != count:
        allowed = "an int or 2 ints" if count == 2 else "one int" if count == 1 else f"{count} ints"
        raise RuntimeError(
            f"{function}(): argument '{argument}' must be {allowed}, but got {list(found)}"
        )
    return found


def int_tuple(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """An argument that is any number of ints, in a sequence."""
    if not isinstance(value, (tuple, list)):
        raise type_error(function, argument, None, "tuple of ints", value)
    found = []
    for at, v in enumerate(value):
        fit = v if type(v) is int else as_int(v)
        if fit is None:
            raise TypeError(
                f"{function}(): argument '{argument}' must be tuple of ints, but found element of "
                f"type {type(v).__name__} at pos {at}"
            )
        found.append(fit)
    return tuple(found)


# -- kinds of parameters ---------------------------------------------------------------------
def _as_bool(value: Any) -> Any:
    return bool(value) if isinstance(value, (bool, np.bool_)) else None


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else None


class _Kind(NamedTuple):
    position: int
    optional: bool
    expected: str
    fit: Callable[[Any], Any]
    """The value as the function takes it, None where it is of a wrong type."""


_FITS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Tensor": ("Tensor", _as_tensor),
    "float": ("Number", as_float),
    "int": ("int", as_int),
    "bool": ("bool", _as_bool),
}


def _kinds(f: Callable[..., Any]) -> dict[str, _Kind]:
    """The kinds of the parameters that are checked, by name."""
    kinds = {}
    for position, p in enumerate(inspect.signature(f).parameters.values(), 1):
        annotation = str(p.annotation)
        base = annotation.removesuffix(" | None")
        if base in _FITS and p.name not in _BY_TRUTH:
            kinds[p.name] = _Kind(position, base != annotation, *_FITS[base])
    return kinds


def _fitted(
    function: str, kinds: dict[str, _Kind], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the function takes them; TypeError for the first of a wrong type."""
    fit_args, fit_kwargs = list(args), dict(kwargs)
    for name, kind in kinds.items():
        named = name in kwargs
        if not named and kind.position > len(args):
            continue
        value = kwargs[name] if named else args[kind.position - 1]
        if value is None and kind.optional:
            continue
        found = kind.fit(value)
        if found is None:
            position = None if named else kind.position
            raise type_error(function, name, position, kind.expected, value)
        if named:
            fit_kwargs[name] = found
        else:
            fit_args[kind.position - 1] = found
    return fit_args, fit_kwargs
