"""Arguments that go together: ``max(x, dim, keepdim)`` or ``max(x, other)``, never a mixture.

Where PyTorch has several overloads of a function, ``public`` gets what each of them takes beside
the tensor, as text: ``"dim, keepdim="`` has a *dim* that must be given and a *keepdim* that may.
"""

from __future__ import annotations

import inspect
from typing import Any


def form_names(forms: tuple[str, ...]) -> list[str]:
    """The arguments that the forms name, each once.

    >>> form_names(("", "dim, keepdim=", "other"))
    ['dim', 'keepdim', 'other']
    """
    parts = (p.strip().rstrip("=") for form in forms for p in form.split(","))
    return list(dict.fromkeys(p for p in parts if p))


def form_lines(function: str, forms: tuple[str, ...]) -> list[str]:
    """The lines that refuse a mixture, where arguments that are not given are ``unset``.

    >>> print("\\n".join(form_lines("max", ("dim, keepdim=", "other"))))
        if not (dim is not unset and other is unset
            or other is not unset and dim is unset and keepdim is unset):
            mixed('max', dim=dim, keepdim=keepdim, other=other)
    """
    names = form_names(forms)
    tests = []
    for form in forms:
        given = [p.strip() for p in form.split(",") if p.strip()]
        required = [f"{p} is not unset" for p in given if p[-1] != "="]
        foreign = [f"{n} is unset" for n in names if n not in given and f"{n}=" not in given]
        tests.append(" and ".join(required + foreign))
    values = ", ".join(f"{n}={n}" for n in names)
    joined = "\n        or ".join(tests)
    return [f"    if not ({joined}):", f"        mixed({function!r}, {values})"]


def with_lists(parameters: list[inspect.Parameter]) -> tuple[list[inspect.Parameter], list[str]]:
    """The parameters of a function, and the names of those that are lists of ints.

    Methods take such a list as one sequence or as ints one by one, functions the sequence alone.
    """
    for at, p in enumerate(parameters[:-1]):
        if p.kind is p.VAR_POSITIONAL and p.name == "args":
            kind, note = p.POSITIONAL_OR_KEYWORD, "Sequence[int]"
            ints = parameters[at + 1].replace(kind=kind, annotation=note, default=p.empty)
            return [*parameters[:at], ints, *parameters[at + 2 :]], [ints.name]
    return parameters, []


def mixed_error(function: str, given: dict[str, Any]) -> TypeError:
    """The error for arguments that no form takes together."""
    shown = ", ".join(f"{name}={type(value).__name__}" for name, value in given.items())
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({shown}): they belong "
        "to different ways of calling it, or one that they need is missing"
    )
