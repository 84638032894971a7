"""Programs of the array API standard, run over two namespaces whose results are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import array_api_strict
import numpy as np
import pytest

import tensorbus
from tensorbus import array_api

Names = Callable[[Any], Mapping[str, Any]]
"""What a program's names mean over a namespace."""


def plain(value: Any) -> Any:
    """A result as NumPy's arrays and Python's values, with the names of dtypes."""
    if isinstance(value, (list, tuple)) and not isinstance(value, tensorbus.Size):
        return tuple(plain(v) for v in value)
    if isinstance(value, tensorbus.Tensor):
        return np.from_dlpack(value.cpu())
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if isinstance(value, tensorbus.Size):
        return tuple(value)
    return value


def tolerance(d: np.dtype[Any]) -> float:
    """How far floats may be apart, relatively and absolutely."""
    if d.kind not in "fc":
        return 0.0
    return 2e-5 if d.itemsize // (1 + (d.kind == "c")) == 4 else 1e-12


def compare(ours: Any, theirs: Any, program: str) -> None:
    """AssertionError unless the results are equal in dtype, shape, values and signs of zeros."""
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs), program
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b, program)
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), program
        allowed = tolerance(theirs.dtype)
        np.testing.assert_allclose(ours, theirs, allowed, allowed, err_msg=program)
        if theirs.dtype.kind == "f":
            zero = (theirs == 0) & (ours == 0)
            assert np.array_equal(np.signbit(ours[zero]), np.signbit(theirs[zero])), program
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6, nan_ok=True), program
    else:
        assert ours == theirs, program


def failures(chosen: Iterable[str], names: Names, unspecified: bool = False) -> list[str]:
    """What is wrong with each program that gives another result than over array-api-strict.

    A program that array-api-strict refuses is wrong itself, unless *unspecified* is allowed.
    """
    found = []
    for program in chosen:
        try:
            theirs = plain(eval(program, {"xp": array_api_strict, **names(array_api_strict)}))
        except Exception:
            if not unspecified:
                raise
            continue
        try:
            compare(plain(eval(program, {"xp": array_api, **names(array_api)})), theirs, program)
        except Exception as error:
            found.append(f"{program}: {type(error).__name__}: {error}")
    return found
