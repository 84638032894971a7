"""NaN, infinities and signed zeros, by the tables of the array API standard."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import array_api_special_cases as tables
import numpy as np
import pytest

import tensorbus as torch
from tensorbus import array_api as xp

OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "pow": operator.pow, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "greater_equal": operator.ge, "abs": operator.abs,
}  # fmt: skip


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.split(";")]


def wrong(made: np.ndarray[Any, Any], wanted: float, free: bool, at: int) -> bool:
    """Whether a result is another than what the table says."""
    got = float(made[at])
    if np.isnan(wanted) or np.isnan(got):
        return not (np.isnan(wanted) and np.isnan(got))
    if free:
        got, wanted = abs(got), abs(wanted)
    same_sign = bool(np.signbit(got) == np.signbit(wanted)) or made.dtype == bool
    close = got == wanted if wanted in (0, np.inf, -np.inf) else abs(got - wanted) < 1e-6
    return not (close and same_sign)


def real_cases(name: str) -> Iterator[tuple[float, float, str]]:
    """Operands of a function of real numbers, the second 0 where there is none, and the result."""
    if name in tables.REAL:
        for word, out in lines(tables.REAL[name]):
            yield from ((x, 0.0, out) for x in tables.meant(word))
    else:
        for first, second, out in lines(tables.BINARY[name]):
            if (first, second) == ("finite", "inf") and name in ("hypot",):
                continue
            for x, y in itertools.product(tables.meant(first), tables.meant(second)):
                yield x, y, out


@pytest.mark.parametrize("name", [*tables.REAL, *tables.BINARY])
def test_real_numbers(name: str, device: str) -> None:
    cases = list(real_cases(name))
    for dtype in ("float32", "float64"):
        if dtype not in xp.__array_namespace_info__().dtypes(device=device):
            continue
        x, y = (xp.asarray(np.array([c[i] for c in cases], dtype), device=device) for i in (0, 1))
        operands = (x,) if name in tables.REAL else (x, y)
        for f in (getattr(xp, name), OPERATORS.get(name)):
            if f is None:
                continue
            made = f(*operands).cpu().numpy()
            found = [
                (a, b, float(made[at]), out)
                for at, (a, b, out) in enumerate(cases)
                if wrong(made, *tables.result(out, a, b), at)
            ]
            assert found == [], f"{name} of {dtype}: operands, result, and what it should be"


def complex_cases(name: str) -> Iterator[tuple[float, float, str]]:
    for operand, out in lines(tables.COMPLEX[name]):
        first, second = operand.split(",")
        yield from ((a, b, out) for a in tables.meant(first) for b in tables.meant(second))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", tables.COMPLEX)
def test_complex_numbers(name: str, dtype: str) -> None:
    cases = list(complex_cases(name))
    z = np.array([complex(a, b) for a, b, _ in cases], dtype)
    made = getattr(xp, name)(xp.asarray(z)).numpy()
    mirrored = getattr(xp, name)(xp.asarray(z.conj())).numpy()
    found = []
    for at, (a, b, out) in enumerate(cases):
        words = out.split(",")
        for i, (part, other) in enumerate(zip(parts(made), parts(mirrored), strict=True)):
            wanted, free = tables.result(words[i], a, b)
            if wrong(part, wanted, free, at) or wrong(other, -wanted if i else wanted, free, at):
                found.append((a, b, made[at], mirrored[at], out))
    assert found == [], f"{name}: operand, result, that of the conjugate, what they should be"


def parts(made: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    return (made.real, made.imag) if made.dtype.kind == "c" else (made,)


def test_a_complex_result_that_is_wrong_is_seen() -> None:
    made = np.array([0.0, -0.0, np.nan, 1.0])
    assert [wrong(made, w, f, i) for i, w, f in ((0, -0.0, False), (1, 0.0, True), (2, 1.0, True),
                                               (3, 1.1, False), (3, 1.0, False))] == [
        True, False, True, True, False]  # fmt: skip
    assert torch.get_default_dtype() is torch.float32
