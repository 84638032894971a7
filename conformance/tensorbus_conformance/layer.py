"""A layer as users make it: its arguments, its inputs, and a reference over its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorbus_conformance.op import Sample, T

State = Mapping[str, np.ndarray]
"""A ``state_dict`` in NumPy: floats as float64."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One way to make a layer of ``nn``, and what it computes."""

    name: str
    """The class in ``tensorbus.nn``."""
    variant: str
    made: Sample
    """The arguments of the class."""
    inputs: tuple[T, ...]
    reference: Callable[..., Any]
    """``reference(state, *inputs)``: the result while training."""
    evaluated: Callable[..., Any] | None = None
    """The result in evaluation, where it is another."""
    after: Callable[..., State] | None = None
    """The buffers after one call while training; they stay as they are without it."""
    initial: Mapping[str, float | tuple[float, float]] = field(default_factory=dict)
    """What parameters begin with: all of a value, or drawn from (low, high)."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the call."""
    gradient: bool = True
    """Whether parameters and inputs are differentiated by differences of the reference."""
    ulp: float = 8.0
    """Allowed error at the magnitude of the result's largest element."""


def plain(reference: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A layer without state: ``reference(*inputs, *args, **kwargs)``."""

    def of(state: State, *inputs: Any) -> Any:
        return reference(*inputs, *args, **kwargs)

    return of


def weighted(
    reference: Callable[..., Any],
    *args: Any,
    names: tuple[str, ...] = ("weight", "bias"),
    **kw: Any,
) -> Callable[..., Any]:
    """A layer with parameters: ``reference(*inputs, *parameters, *args, **kw)``, None if absent."""

    def of(state: State, *inputs: Any) -> Any:
        return reference(*inputs, *(state.get(name) for name in names), *args, **kw)

    return of
