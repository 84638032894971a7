"""Integers divided by zero: an error where it can be seen, else 0, on each device of tensorbus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus

DIVISIONS = {
    "floor_divide": tensorbus.floor_divide,
    "remainder": tensorbus.remainder,
    "fmod": tensorbus.fmod,
    "div": lambda x, y: tensorbus.div(x, y, rounding_mode="trunc"),
}
DTYPES = ("uint8", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("device", ["cpu", "strict", "opencl"], indirect=True)
@pytest.mark.parametrize("op", DIVISIONS)
def test_the_number_zero_is_refused(op: str, device: str) -> None:
    for dtype in DTYPES:
        x = tensorbus.tensor([7, 0, 100], dtype=getattr(tensorbus, dtype)).to(device)
        for zero in (0, False, np.int64(0), 2**40 if dtype == "int32" else 0):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                DIVISIONS[op](x, zero)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            DIVISIONS[op](x != 0, 0)
        assert DIVISIONS[op](x[:0], 0).shape == (0,)


@pytest.mark.parametrize("device", ["strict", "opencl"], indirect=True)
@pytest.mark.parametrize("op", DIVISIONS)
def test_zero_in_a_tensor_gives_zero_where_nobody_waits(op: str, device: str) -> None:
    least = {"int8": -128, "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}
    for dtype in DTYPES:
        d: Any = getattr(tensorbus, dtype)
        x = tensorbus.tensor([7, 0, least.get(dtype, 255), 9], dtype=d).to(device)
        y = tensorbus.tensor([0, 0, 0, 4], dtype=d).to(device)
        last = 2 if op in ("floor_divide", "div") else 1
        assert DIVISIONS[op](x, y).tolist() == [0, 0, 0, last]


def test_zero_in_a_tensor_is_refused_on_the_cpu() -> None:
    x, y = tensorbus.tensor([7, 1]), tensorbus.tensor([1, 0])
    for divide in DIVISIONS.values():
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, y)


@pytest.mark.parametrize("device", ["cpu", "strict", "opencl"], indirect=True)
def test_integers_wrap(device: str) -> None:
    for dtype, most in (("uint8", 255), ("int8", 127), ("int32", 2**31 - 1), ("int64", 2**63 - 1)):
        d: Any = getattr(tensorbus, dtype)
        x = tensorbus.tensor([most], dtype=d).to(device)
        least = 0 if dtype == "uint8" else -most - 1
        assert (x + 1).tolist() == [least]
        assert (x * x).tolist() == [1] and (x * 2).tolist() == [most - 1 if not least else -2]
        assert (-tensorbus.tensor([least], dtype=d).to(device)).tolist() == [least]
        assert x.pow(2).tolist() == [1]
