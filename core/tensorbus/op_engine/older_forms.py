"""Calls in PyTorch's older order: a factor is a number among the tensors, ``add(x, 2, y)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.warning import warn_once
from tensorbus.op_engine.argument_values import as_number

_ONE = 1
"""What a factor is that is not given."""


def older_form(*factors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function's keyword arguments *factors* also be numbers among its positional ones."""

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        f.older_form = factors, without_factors  # type: ignore[attr-defined]
        return f

    return mark


def without_factors(
    function: str,
    tensors: tuple[str, ...],
    given: tuple[Any, ...],
    factors: dict[str, Any],
    method: bool,
) -> tuple[Any, ...]:
    """The positional arguments of a call in the new order, named *tensors*, and then its *factors*.

    One factor stands behind the first tensor. Of two, a method has them there, and a function
    before the first tensor and behind it. TypeError where it is no number that is too many.
    """
    n = len(tensors)
    extra = len(given) - n
    positions = range(1, extra + 1) if method or len(factors) == 1 else range(0, 2 * extra, 2)
    found = [as_number(given[p]) for p in positions if p < len(given)]
    named = any(factor is not _ONE for factor in factors.values())
    if named or extra > len(factors) or None in found:
        raise TypeError(
            f"{function}() takes {n - method} positional argument{'s' * (n - method > 1)} but "
            f"{len(given) - method} were given"
        )
    old = [f"Tensor {name}" for name in tensors]
    new = ", ".join(old[method:])
    for position, name in zip(positions, factors, strict=False):
        old.insert(position, f"Number {name}")
    ones = ", ".join(f"Number {name} = 1" for name in factors)
    warn_once(
        "older order of factors",  # of any function, as PyTorch does
        f"This overload of {function} is deprecated:\n"
        f"\t{function}({', '.join(old[method:])})\n"
        "Consider using one of the following signatures instead:\n"
        f"\t{function}({new}, *, {ones})",
    )
    rest = [x for p, x in enumerate(given) if p not in positions]
    return (*rest, *found, *list(factors.values())[extra:])
