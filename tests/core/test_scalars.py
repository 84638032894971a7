"""A number is refused where the dtype cannot hold it, right from the first that is too large."""

from __future__ import annotations

import math

import pytest

import tensorbus as torch
from tensorbus.op_engine.scalars import fitted

HELD = {
    torch.float16: (65504.0, -65504, 0.0, -0.0, math.inf),
    torch.bfloat16: (3.3e38, 60001.0),
    torch.float32: (3.4e38, -3.4e38, 2**63),
    torch.float64: (1e308, 2**63),
}
REFUSED = {
    torch.float16: (65505.0, -65505, 10**5),
    torch.bfloat16: (3.4e38,),
    torch.float32: (3.5e38, -1e300),
    torch.int8: (128, -129.0, 60000.0),
    torch.uint8: (256, -256),
    torch.int16: (60000,),
}


@pytest.mark.parametrize("dtype", HELD, ids=str)
def test_what_a_dtype_holds_is_taken_as_it_is(dtype: torch.dtype) -> None:
    for number in HELD[dtype]:
        taken = fitted(number, dtype)
        assert type(taken) is type(number) and repr(taken) == repr(number)
    assert math.isnan(fitted(math.nan, dtype))


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
def test_what_it_cannot_hold_is_refused(dtype: torch.dtype) -> None:
    for number in REFUSED[dtype]:
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            fitted(number, dtype)


def test_truth_values_and_integers_are_converted() -> None:
    assert fitted(3.0, torch.bool) is True and fitted(0, torch.bool) is False
    assert fitted(2.5, torch.int8) == 2 and type(fitted(2.5, torch.int64)) is int
    assert fitted(True, torch.float32) is True and fitted(-5, torch.uint8) == -5
