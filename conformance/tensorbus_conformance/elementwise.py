"""Ops that work element by element: the samples and the errors they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.op import (
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    E,
    ErrorSample,
    Op,
    Rule,
    S,
    Sample,
    T,
)

Of = str | tuple[float, float]

EDGES = (0.0, -0.0, 1.0, -1.5, 0.0009765625, 3.0, 60000.0, np.inf, -np.inf, np.nan)
"""Numbers that every floating point dtype has, or nearly: for each with each."""


def real(x: Any) -> Any:
    """Integers and truth values as the default dtype has them; other numbers as they are."""
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float32).astype(np.float64)


def in_floats(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The reference of an op that converts integers to the default dtype."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return reference(*(real(a) if isinstance(a, np.ndarray) else a for a in args), **kwargs)

    return call


def each_with_each() -> tuple[T, T]:
    """A column and a row of edges, which broadcast."""
    column = np.array(EDGES)
    return T(data=column[:, None], grad=False), T(data=column, grad=False)


def not_a_tensor(name: str, argument: str = "input") -> ErrorSample:
    """A number where the first tensor should be."""
    text = rf"{name}\(\): argument '{argument}' \(position 1\) must be Tensor, not float"
    return E("not-a-tensor", TypeError, text, 1.0)


def mismatch(*rest: Any, dtype: Dtype = formats.FLOAT32) -> ErrorSample:
    """Two operands of which neither broadcasts to the other."""
    text = (
        r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton "
        "dimension 1"
    )
    return E("shapes", RuntimeError, text, T(2, 3), T(2, 4), *rest, dtype=dtype)


def unary(
    name: str,
    reference: Callable[..., Any],
    *,
    of: Of = "spread",
    dtypes: tuple[Dtype, ...] = FLOATING,
    result: Rule = "same",
    wide: bool = True,
    more: Iterable[Sample] = (),
    errors: Iterable[ErrorSample] = (),
    argument: str = "input",
    **fields: Any,
) -> Op:
    """A function of one tensor; *of* says where it is smooth, *wide* whether all is defined."""
    samples = [S("plain", T(3, 4, of=of)), S("scalar", T(of=of)), S("empty", T(0, 3))]
    if wide:
        samples.append(S("wide", T(6, 8, of="wide", grad=False)))
    return Op(
        name,
        in_floats(reference) if result == "float" else reference,
        [*samples, *more],
        dtypes=dtypes,
        result=result,
        keeps_order=True,
        errors=[not_a_tensor(name, argument), *errors],
        **fields,
    )


def binary(
    name: str,
    reference: Callable[..., Any],
    *,
    of: Of = "spread",
    other: Of | None = None,
    dtypes: tuple[Dtype, ...] = FLOATING,
    result: Rule = "same",
    number: Any = 2,
    fraction: Any = 0.75,
    edges: bool = True,
    wide: bool = True,
    more: Iterable[Sample] = (),
    errors: Iterable[ErrorSample] = (),
    **fields: Any,
) -> Op:
    """A function of two operands that broadcast; the second may be a number unless it is None.

    *number* and *fraction* are an int and a float to try there; *edges* says whether floating
    point numbers are tried each with each, *wide* whether integers of all sizes are. The shapes of
    spread operands are such that their values do not meet.
    """
    other = of if other is None else other
    fields.setdefault("grad_ulp", 128)  # gradients of what broadcasts are sums, whose terms cancel
    lone = "positive" if other == "spread" else other
    samples = [
        S("plain", T(3, 4, of=of), T(4, of=other)),
        S("broadcast", T(2, 1, 4, of=of), T(3, 1, of=other)),
        S("scalar", T(of=of), T(of=lone)),
        S("with-scalar", T(3, 4, of=of), T(of=lone)),
        S("empty", T(0, 3, of=of), T(3, of=other)),
    ]
    whole = [d for d in dtypes if d in INTEGRAL]
    floats = [d for d in dtypes if d in (*FLOATING, *COMPLEX)]
    if number is not None:
        own = [d for d in dtypes if d not in BOOL or result != "same"]
        samples.append(S("number", T(3, 4, of=of), number).only(*own))
    if fraction is not None and number is not None and floats:
        samples.append(S("fraction", T(3, 4, of=of), fraction).only(*floats))
    if edges and any(d in FLOATING for d in floats):
        samples.append(S("edges", *each_with_each()).only(*(d for d in floats if d in FLOATING)))
    if wide and whole:
        samples.append(S("wide", T(24, of="wide"), T(10, 1, of="wide")).only(*whole))
    first = formats.FLOAT32 if floats else dtypes[0]
    return Op(
        name,
        in_floats(reference) if result == "float" else reference,
        [*samples, *more],
        dtypes=dtypes,
        result=result,
        keeps_order=fields.pop("keeps_order", True),
        errors=[mismatch(dtype=first), *errors],
        **fields,
    )
