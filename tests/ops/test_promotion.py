"""Which dtype a result has: every pair of dtypes, of dimensions and of numbers, beside PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tensorbus

DTYPES = (
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
).split()
SOME = "uint8 int8 int64 float16 float32 float64 complex64 bool".split()
NUMBERS = (True, 3, 2.5, 1j)


def name(d: Any) -> str:
    return str(d).removeprefix("torch.")


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(DTYPES, 2)))
def test_promote_types_and_casts(a: str, b: str, oracle: Any) -> None:
    def program(m: Any) -> Any:
        x, y = getattr(m, a), getattr(m, b)
        return name(m.promote_types(x, y)), m.can_cast(x, y), m.can_cast(y, x)

    assert program(tensorbus) == oracle(program)


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
def test_result_type(a: Any, oracle: Any) -> None:
    def program(m: Any) -> Any:
        return [offered(name(m.result_type(operand(m, a), operand(m, b)))) for b in OPERANDS]

    assert program(tensorbus) == oracle(program)


@pytest.mark.parametrize("a", [o for o in OPERANDS if isinstance(o, tuple)], ids=str)
def test_dtypes_of_results(a: Any, oracle: Any) -> None:
    for b in OPERANDS:

        def program(m: Any, b: Any = b) -> Any:
            operations = ["mul", "eq", "add", "true_divide"]
            if "complex32" in str(m.result_type(operand(m, a), operand(m, b))):
                operations.pop()  # PyTorch doesn't divide them
            results = [getattr(m, o)(operand(m, a), operand(m, b)) for o in operations]
            return [offered(name(x.dtype)) for x in results]

        expected = oracle(program)
        assert program(tensorbus)[: len(expected)] == expected, b


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_numbers_take_the_default_dtype(default: str) -> None:
    try:
        tensorbus.set_default_dtype(getattr(tensorbus, default))
        assert name((tensorbus.ones(2, dtype=tensorbus.int64) * 1.5).dtype) == default
        assert name((tensorbus.ones(2, dtype=tensorbus.int64) / 2).dtype) == default
        assert name(tensorbus.tensor(1.0).dtype) == default
    finally:
        tensorbus.set_default_dtype(tensorbus.float32)


def test_limits_of_python_types() -> None:
    assert tensorbus.iinfo(int).max == 2**63 - 1
    assert tensorbus.finfo(float).eps == 2**-52
    for wrong, text in (
        (float, "integer input type"),
        (bool, "torch.bool is not supported"),
        (3, "must be torch.dtype, not int"),
    ):
        with pytest.raises(TypeError, match=text):
            tensorbus.iinfo(wrong)
    with pytest.raises(TypeError, match="floating point input type"):
        tensorbus.finfo(int)
