"""The signatures that ``help`` and editors show, made when somebody asks for one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Shown:
    """Stands between a function and what it wraps, and says its signature when that is asked for.

    To make all at import would take a fifth of its time.
    """

    def __init__(self, f: Callable[..., Any], make: Callable[[Any], inspect.Signature]):
        self.__wrapped__ = f
        self.make = make

    @property
    def __signature__(self) -> inspect.Signature:
        return self.make(self.__wrapped__)


def show_signature(call: Any, make: Callable[[Any], inspect.Signature]) -> None:
    """Let ``inspect.signature`` of a function ask *make*, which gets what the function wraps."""
    call.__wrapped__ = _Shown(call.__wrapped__, make)


def method_signature(f: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function as a method: its first parameter is ``self``."""
    signature = inspect.signature(f)
    first, *others = signature.parameters.values()
    if first.kind is first.VAR_POSITIONAL or any(p.name == "self" for p in others):
        return signature
    return signature.replace(parameters=[first.replace(name="self"), *others])


def signature_with_out(f: Callable[..., Any]) -> inspect.Signature:
    """The signature of the function with ``out=``."""
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
    return signature.replace(parameters=parameters)


def hide_private(f: F) -> F:
    """Show a function without its private parameters, which only PyTorch's programs pass."""
    f.__signature__ = public_signature(f)  # type: ignore[attr-defined]
    return f


def public_signature(f: Callable[..., Any]) -> inspect.Signature:
    """The signature without private parameters: what stands behind one is shown by keyword."""
    signature = inspect.signature(f)
    shown: list[inspect.Parameter] = []
    hidden = False
    for p in signature.parameters.values():
        if p.name[0] == "_":
            hidden = hidden or p.kind is p.POSITIONAL_OR_KEYWORD
        elif hidden and p.kind is p.POSITIONAL_OR_KEYWORD:
            shown.append(p.replace(kind=p.KEYWORD_ONLY))
        else:
            shown.append(p)
    return signature.replace(parameters=shown)
