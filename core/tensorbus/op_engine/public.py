"""From rows and plain functions to the public names: functions, methods, in-place and ``out=``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.in_place import in_place, write_out
from tensorbus.op_engine.names import FUNCTIONS, METHODS
from tensorbus.op_engine.numpy_names import with_numpy_names
from tensorbus.op_engine.override import (
    SUBCLASSES,
    dispatch,
    overridable,
    overriding,
    takes_tensors,
)


def public(
    *,
    name: str | None = None,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool = False,
    aliases: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a function under its own name: as function, method, ``NAME_`` and with ``out=``.

    The function itself is returned, so calls inside the library pay for nothing.
    """

    def publish(f: Callable[..., Any]) -> Callable[..., Any]:
        own = name or f.__name__
        named = with_numpy_names(f)
        shown = with_out(named) if out else named
        if function and not out and takes_tensors(f):
            shown = overridable(named)
        called = overridable(named) if method and takes_tensors(f, others=True) else named
        for n in (own, *aliases):
            if function:
                FUNCTIONS[n] = shown
            if method:
                METHODS[n] = f if n.startswith("__") else called  # operators have reflected forms
            if inplace:
                METHODS[n + "_"] = inplace_form(f, n + "_")
        return f

    return publish


def with_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a keyword ``out`` that receives the result."""

    @functools.wraps(f)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if SUBCLASSES.on and (classes := overriding((*args, out), kwargs)):
            if out is not None:
                kwargs["out"] = out
            return dispatch(call, classes, args, kwargs)
        if out is None:
            return f(*args, **kwargs)
        return write_out(f(*args, **kwargs), out, f.__name__)

    signature = inspect.signature(f)
    out_parameter = inspect.Parameter(
        "out",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation="Tensor | None" if signature.return_annotation == "Tensor" else "Any",
    )
    parameters = [*signature.parameters.values()]
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        parameters.insert(-1, out_parameter)
    else:
        parameters.append(out_parameter)
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def inplace_form(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method that writes the function's result into its first argument."""

    @functools.wraps(f)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return in_place(self, f, args, kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of ``{name[:-1]}``."
    return call


class Lazy:
    """A method whose text is generated when it is first asked for, and then replaces this."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[], Callable[..., Any]]):
        self.name = name
        self.make = make

    def __get__(self, instance: Any, owner: type) -> Any:
        made = self.make()
        if not made.__doc__ and made.__name__ in FUNCTIONS:
            made.__doc__ = FUNCTIONS[made.__name__].__doc__
        for cls in owner.__mro__:
            if cls.__dict__.get(self.name) is self:
                setattr(cls, self.name, made)
        return made if instance is None else made.__get__(instance, owner)


def install(cls: type) -> None:
    """Put the methods into the class, once."""
    for name, method in METHODS.items():
        if "<" in getattr(method, "__qualname__", "") or getattr(method, "__name__", "")[:1] == "_":
            method.__name__ = method.__qualname__ = name
        setattr(cls, name, Lazy(name, method.make) if isinstance(method, Lazy) else method)


__all__ = ["FUNCTIONS", "METHODS", "Lazy", "install", "public", "with_out"]
