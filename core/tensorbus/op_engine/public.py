"""From rows and plain functions to the public names: functions, methods, in-place and ``out=``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.absent import Absent, documented
from tensorbus._base.dtypes import as_dtype
from tensorbus._base.errors import DuckError, no_tensor
from tensorbus._base.modes import OVERRIDES
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import asks, checked
from tensorbus.op_engine.argument_forms import form_names
from tensorbus.op_engine.asking_in_place import asked_in_place
from tensorbus.op_engine.in_place import in_place
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.out import CAST, COMPUTED, SAME, write_out
from tensorbus.op_engine.override import (
    dispatch,
    of_several_batches,
    overridable,
    overriding,
    takes_tensors,
)
from tensorbus.op_engine.signatures import method_signature, show_signature, signature_with_out


def public(
    *,
    name: str | None = None,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool | str = False,
    aliases: tuple[str, ...] = (),
    forms: tuple[str, ...] = (),
    seen: Callable[[Any], Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a function under its own name: as function, method, ``NAME_`` and with ``out=``.

    *out* is the rule for the dtype of such a tensor, ``CAST`` where it is just True. The function
    itself is returned, so calls inside the library pay for nothing. The *forms* are the sets of
    arguments that go together where PyTorch has overloads (``argument_forms.py``). *seen* gives the
    arguments of the function that overriding classes see.
    """

    def publish(f: Callable[..., Any]) -> Callable[..., Any]:
        own = name or f.__name__
        for n in (own, *aliases):
            if function:
                FUNCTIONS[n] = _function(f, n, out, forms, seen)
            if method:
                METHODS[n] = _method(f, n, forms)
            if inplace:
                METHODS[n + "_"] = inplace_form(f, n + "_")
        return f

    return publish


def _function(
    f: Callable[..., Any], name: str, out: bool | str, forms: tuple[str, ...], seen: Any
) -> Callable[..., Any]:
    if out:
        return with_out(f, name, CAST if out is True else str(out), forms)
    late = checked(f, name, forms=forms) if takes_tensors(f) or asks(f, False) else None
    return f if late is None else overridable(f, late, seen)


def _method(f: Callable[..., Any], name: str, forms: tuple[str, ...]) -> Any:
    if name.startswith("__"):
        return f  # operators have reflected forms
    if takes_tensors(f, others=True):
        method = overridable(f, checked(f, name, True, forms))
        show_signature(method, method_signature)
        return method
    return Lazy(name, checked(f, name, True, forms).made) if asks(f, True) else f


def with_out(
    f: Callable[..., Any], name: str, rule: str, forms: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """The function with a keyword ``out`` that receives the result."""
    late = checked(f, name, forms=forms)
    out_has_form = "out" in form_names(forms)
    broadcasts = f.__module__.startswith("tensorbus.ops.pointwise.")

    @functools.wraps(f)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if OVERRIDES.on and (asked := overriding((*args, out), kwargs)):
            if out is not None:
                kwargs["out"] = out
            return dispatch(call, asked, args, kwargs)
        if out is None:
            try:
                return late.call(*args, **kwargs)
            except DuckError:
                return call(*args, **kwargs)
        if rule == COMPUTED and kwargs.get("dtype") is None and isinstance(out, Tensor):
            kwargs["dtype"] = out._k.dtype
        wanted = SAME if kwargs.get("dtype") is not None else rule
        operands = (*args, *kwargs.values()) if broadcasts else ()
        if out_has_form:
            kwargs["out"] = out
        return write_out(late.call(*args, **kwargs), out, name, wanted, operands=operands)

    show_signature(call, signature_with_out)
    return call


def inplace_form(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method that writes the function's result into its first argument."""
    late = checked(f, name, method=True)

    @functools.wraps(f)
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs and (d := as_dtype(kwargs.get("dtype"))) not in (None, self._k.dtype):
            raise RuntimeError(
                f"{name}(): the result of dtype {d} can't be written into a tensor of "
                f"{self._k.dtype}: in place, dtype must be the tensor's own"
            )
        if OVERRIDES.on:
            operands = (self, *args)
            if (answer := asked_in_place(name, operands, kwargs)) is not NotImplemented:
                return answer
            if asked := of_several_batches(operands, kwargs):
                return dispatch(call, asked, operands, kwargs)
        try:
            return in_place(self, late.call, args, kwargs)
        except AttributeError:
            if isinstance(self, Tensor):
                raise
            raise no_tensor(name, self) from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of ``{name[:-1]}``."
    show_signature(call, method_signature)
    return call


def refuse_absent(cls: type) -> None:
    """Let the class say of the methods that PyTorch's has and it lacks that they are missing."""
    for name in documented()["Tensor"].difference(dir(cls)):
        if not name.startswith("_"):  # Python and other libraries ask for protocols
            setattr(cls, name, Absent(name))
