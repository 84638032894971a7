"""Which dtype a result has: every pair of dtypes, of dimensions and of numbers, beside PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tensorbus

torch = pytest.importorskip("torch", reason="PyTorch's rules are the reference here")

DTYPES = (
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
).split()
SOME = "uint8 int8 int64 float16 float32 float64 complex64 bool".split()
NUMBERS = (True, 3, 2.5, 1j)


def name(d: Any) -> str:
    return str(d).removeprefix("torch.")


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(DTYPES, 2)))
def test_promote_types_and_casts(a: str, b: str) -> None:
    found = tensorbus.promote_types(getattr(tensorbus, a), getattr(tensorbus, b))
    assert name(found) == name(torch.promote_types(getattr(torch, a), getattr(torch, b)))
    for x, y in ((a, b), (b, a)):
        assert tensorbus.can_cast(getattr(tensorbus, x), getattr(tensorbus, y)) == torch.can_cast(
            getattr(torch, x), getattr(torch, y)
        )


def offered(d: str) -> str:
    """The dtype here for one of PyTorch's: there is no complex32."""
    return "complex64" if d == "complex32" else d


def operand(m: Any, kind: Any) -> Any:
    if isinstance(kind, tuple):
        d, shape = kind
        return m.ones(shape, dtype=getattr(m, d))
    return kind


OPERANDS = [(d, shape) for d in SOME for shape in ((), (2,))] + list(NUMBERS)


@pytest.mark.parametrize("a", OPERANDS, ids=str)
def test_result_type(a: Any) -> None:
    for b in OPERANDS:
        found = tensorbus.result_type(operand(tensorbus, a), operand(tensorbus, b))
        expected = name(torch.result_type(operand(torch, a), operand(torch, b)))
        assert name(found) == offered(expected), b


@pytest.mark.parametrize("a", [o for o in OPERANDS if isinstance(o, tuple)], ids=str)
def test_dtypes_of_results(a: Any) -> None:
    for b in OPERANDS:
        halves = torch.result_type(operand(torch, a), operand(torch, b)) is torch.complex32
        for operation in ("mul", "eq", "add") if halves else ("mul", "true_divide", "eq", "add"):
            x, y = operand(tensorbus, a), operand(tensorbus, b)
            expected = getattr(torch, operation)(operand(torch, a), operand(torch, b)).dtype
            found = name(getattr(tensorbus, operation)(x, y).dtype)
            assert found == offered(name(expected)), (b, operation)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_numbers_take_the_default_dtype(default: str) -> None:
    try:
        tensorbus.set_default_dtype(getattr(tensorbus, default))
        assert name((tensorbus.ones(2, dtype=tensorbus.int64) * 1.5).dtype) == default
        assert name((tensorbus.ones(2, dtype=tensorbus.int64) / 2).dtype) == default
        assert name(tensorbus.tensor(1.0).dtype) == default
    finally:
        tensorbus.set_default_dtype(tensorbus.float32)
