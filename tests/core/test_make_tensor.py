"""``testing.make_tensor``: bounds, dtypes and layouts of random values."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.testing import assert_close, make_tensor

make = partial(make_tensor, device="cpu")


@pytest.mark.parametrize(
    ("dtype", "low", "high", "least", "greatest"),
    [
        ("float32", None, None, -9, 9),
        ("float64", 0, 1, 0, 1),
        ("float16", 5, None, 5, 9),
        ("int32", None, None, -9, 9),
        ("int64", 0, 3, 0, 2),
        ("int8", -1.5, 3.5, -1, 3),
        ("uint8", None, None, 0, 9),
        ("uint8", -5, 300, 0, 255),
        ("bool", None, None, 0, 1),
        ("bool", 1, 2, 1, 1),
    ],
)
def test_values_fill_the_bounds(dtype, low, high, least, greatest):
    torch.manual_seed(3)
    x = make(20_000, dtype=getattr(torch, dtype), low=low, high=high).double().numpy()
    inexact = dtype.startswith("float")
    slack = 0.01 * (greatest - least) if inexact else 0
    assert least <= x.min() <= least + slack and greatest - slack <= x.max() <= greatest
    if inexact:  # uniform: the mean lies within five of its standard deviations
        spread = (greatest - least) / np.sqrt(12 * x.size)
        assert abs(x.mean() - (least + greatest) / 2) < 5 * spread
    else:
        assert set(np.unique(x)) == set(range(least, greatest + 1))


def test_complex_values_have_both_parts():
    torch.manual_seed(4)
    x = make((50, 40), dtype=torch.complex64).numpy()
    assert x.dtype == np.complex64
    for part in (x.real, x.imag):
        assert -9 <= part.min() < -8.5 and 8.5 < part.max() <= 9
    assert abs(np.corrcoef(x.real.ravel(), x.imag.ravel())[0, 1]) < 0.1


def test_shapes_and_layouts():
    assert make(dtype=torch.float32).shape == ()
    assert make([0, 3], dtype=torch.float32).shape == (0, 3)
    spread = make(3, 4, dtype=torch.float32, noncontiguous=True)
    assert spread.stride() == (8, 2) and not spread.is_contiguous()
    last = make(2, 3, 4, 5, dtype=torch.float32, memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    leaf = make(2, dtype=torch.float64, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad


def test_zero_can_be_left_out_and_infinite_bounds_are_cut():
    x = make(1000, dtype=torch.int32, low=0, high=3, exclude_zero=True)
    assert set(x.tolist()) == {1, 2}
    tiny = make(3, dtype=torch.float32, low=0, high=0, exclude_zero=True)
    assert tiny.tolist() == [torch.finfo(torch.float32).tiny] * 3
    wide = make(1000, dtype=torch.float32, low=float("-inf"), high=float("inf"))
    assert wide.isfinite().all() and wide.min() < -1e38 and wide.max() > 1e38


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"dtype": torch.int32, "requires_grad": True}, "not supported for boolean and integral"),
        ({"dtype": torch.float32, "low": 2, "high": 1}, "`low` must be less than `high`, but got"),
        ({"dtype": torch.int32, "low": 1, "high": 1}, "`low` must be less than `high`"),
        ({"dtype": torch.float32, "low": 15}, "15 >= 9"),
        ({"dtype": torch.float32, "low": float("nan")}, "cannot be NaN"),
        ({"dtype": torch.uint8, "low": 300, "high": 400}, r"\[300, 400\), but .* \[0, 256\)"),
        ({"dtype": torch.float32, "noncontiguous": True, "memory_format": torch.channels_last},
         "mutually exclusive"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_a_value_error(keywords, words):
    with pytest.raises(ValueError, match=words):
        make(3, **keywords)


def test_a_dtype_is_a_dtype_and_tolerances_are_numbers():
    with pytest.raises(TypeError, match="not 3"):
        make(3, dtype=3)
    x = make(3, dtype=torch.float32)
    for limit in (-1, float("nan"), "a"):
        with pytest.raises(RuntimeError, match="rtol must be a number that is not negative"):
            assert_close(x, x, rtol=limit, atol=0)
    with pytest.raises(AssertionError, match=r"<class 'bool'> != <class 'int'>"):
        assert_close(True, 1)


@pytest.mark.parametrize(
    ("name", "digits", "least"),
    [("e4m3fn", 3, -6), ("e5m2", 2, -14), ("e4m3fnuz", 3, -7), ("e5m2fnuz", 2, -15)],
)
def test_float8_dtypes_hold_values_of_their_own(name, digits, least):
    torch.manual_seed(3)
    x = make(5_000, dtype=getattr(torch, f"float8_{name}"), low=-2, high=3)
    values = x.double().numpy()
    assert values.min() == -2 and values.max() == 3 and abs(values.mean() - 0.5) < 0.1
    exponents = np.maximum(np.frexp(values)[1] - 1, least)
    steps = np.ldexp(values, digits - exponents)
    assert (steps == np.round(steps)).all(), "as many digits as the dtype has"
