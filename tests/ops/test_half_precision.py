"""float16 and bfloat16: each op computes in float32 and rounds once, on each device."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensorbus
import tensorbus.nn.functional as F

FORMATS = {"float16": (11, -14), "bfloat16": (8, -126)}
"""Bits of a number with the hidden one, and the least exponent."""
PLACES = [("cpu", "float16"), ("cpu", "bfloat16"), ("strict", "float16"),
          ("opencl", "float16"), ("opencl", "bfloat16")]  # fmt: skip
ALONG = np.arange(300) % 3

OPS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "matmul": (lambda a, b: a @ b, ((9, 300), (300, 7))),
    "addmm": (lambda c, a, b: tensorbus.addmm(c, a, b, beta=0.5, alpha=0.25),
              ((9, 7), (9, 300), (300, 7))),
    "baddbmm": (tensorbus.baddbmm, ((2, 5, 7), (2, 5, 60), (2, 60, 7))),
    "addmv": (tensorbus.addmv, ((9,), (9, 300), (300,))),
    "linear": (F.linear, ((9, 300), (7, 300), (7,))),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), ((2, 8, 6, 6), (5, 8, 3, 3), (5,))),
    "softmax": (lambda x: F.softmax(x, -1), ((9, 200),)),
    "log_softmax": (lambda x: F.log_softmax(x, 0), ((200, 9),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (64,), w, b), ((9, 64), (64,), (64,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), ((3, 4, 20), (4,), (4,))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((60, 4), (4,), (4,))),
    "constants": (lambda x, m, v, w, b: F.batch_norm(x, m, v.abs(), w, b),
                  ((60, 4), (4,), (4,), (4,), (4,))),
    "silu": (F.silu, ((200,),)),
    "gelu": (F.gelu, ((200,),)),
    "hardswish": (F.hardswish, ((200,),)),
    "softplus": (F.softplus, ((200,),)),
    "logsumexp": (lambda x: tensorbus.logsumexp(x, 1), ((9, 200),)),
    "var": (lambda x: x.var(1), ((9, 200),)),
    "mean": (lambda x: x.mean(0), ((200, 9),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3), ((2, 2, 9, 9),)),
    "bce": (F.binary_cross_entropy_with_logits, ((200,), (200,))),
    "index_add": (lambda x, s: x.index_add(0, tensorbus.tensor(ALONG).to(x.device), s),
                  ((3, 4), (300, 4))),
    "scatter_add": (lambda x, s: x.scatter_add(0, tensorbus.tensor(ALONG).to(x.device), s),
                    ((3,), (300,))),
}  # fmt: skip


@pytest.mark.parametrize(("device", "dtype"), PLACES, indirect=["device"])
@pytest.mark.parametrize("op", OPS)
def test_results_are_rounded_once(op: str, device: str, dtype: str) -> None:
    function, shapes = OPS[op]
    random = np.random.default_rng(5)
    d: Any = getattr(tensorbus, dtype)
    given = [tensorbus.tensor(random.standard_normal(s)).to(d).to(device) for s in shapes]
    found = function(*given)
    assert found.dtype is d and found.device.type == device
    exact = function(*[x.cpu().double() for x in given]).numpy()
    digits, least = FORMATS[dtype]
    exponent = np.maximum(np.frexp(exact)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - digits + 1)
    error = np.abs(found.cpu().double().numpy() - exact)
    sums = 2e-6 * np.abs(exact).max()  # what float32 loses where terms cancel
    assert (error <= 0.502 * unit + sums).all(), (error / unit).max()


@pytest.mark.parametrize("device", ["cpu", "opencl"], indirect=True)
def test_gradients_of_convolutions_are_rounded_once(device: str) -> None:
    random = np.random.default_rng(6)
    shapes = (2, 8, 7, 7), (6, 8, 3, 3)
    given = [tensorbus.tensor(random.standard_normal(s)).bfloat16() for s in shapes]
    exact = [x.double().requires_grad_() for x in given]
    found = [x.to(device).requires_grad_() for x in given]
    for x, w in (exact, found):
        F.conv2d(x, w, padding=1).sum().backward()
    for ours, wide in zip(found, exact, strict=True):
        once = wide.grad.bfloat16().double().numpy()
        np.testing.assert_allclose(ours.grad.cpu().double().numpy(), once, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "opencl"], indirect=True)
def test_what_is_not_written_keeps_its_bits(device: str) -> None:
    bits = tensorbus.tensor([0x7FC1, 0x3F80, -63], dtype=tensorbus.int16)
    x = bits.view(tensorbus.bfloat16).to(device)
    one = tensorbus.ones(1, dtype=tensorbus.bfloat16).to(device)
    x.index_add_(0, tensorbus.tensor([1]).to(device), one)
    assert x.cpu().view(tensorbus.int16).tolist() == [0x7FC1, 0x4000, -63]
    nan = tensorbus.tensor([np.nan, -np.nan]).to(device).bfloat16().cpu()
    assert tensorbus.signbit(nan).tolist() == [False, True]


def nearest(value: float, digits: int, least: int, largest: float) -> float:
    """The number of the format nearest to a number, of two that are as near the even one."""
    if value == 0 or not np.isfinite(float(value)):
        return float(value)
    exact = Fraction(value)
    exponent = max(math.frexp(float(value))[1] - 1, least)
    if abs(exact) >= Fraction(2) ** (exponent + 1):  # the float itself was rounded up or down
        exponent += 1
    unit = Fraction(2) ** (exponent - digits + 1)
    rounded = round(exact / unit) * unit
    return math.copysign(math.inf if abs(rounded) > largest else abs(float(rounded)), value)


TIES = [1 + 2**-8 + 2**-40, 1 + 2**-8 - 2**-40, 1 + 3 * 2**-8, 3.3961775292304e38, 3.39e38,
        65519.999, 65520.0, 1 + 2**-11 + 2**-50, 2.0**-133, 2.0**-134, 1.0001 * 2.0**-134, -1e-40,
        6e-8, 2.0**-25, 1.0001 * 2.0**-25, -0.0, math.inf]  # fmt: skip
WHOLE = [(257 << 40) + 1, (0x10180 << 40) - 1, -(257 << 44) - 1, 2**63 - 1, -(2**63), 65519, 65520,
         2**24 + 1, 257, 259, (0x10080 << 10) + 1]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "device", "dtype"),
    [("float64", *place) for place in PLACES if place[0] != "strict"]  # which has none
    + [(whole, *place) for whole in ("int64", "int32") for place in PLACES],
    indirect=["device"],
)
def test_conversions_round_the_number_itself_once(source: str, device: str, dtype: str) -> None:
    whole = [v for v in WHOLE if source == "int64" or abs(v) < 2**31]
    values = TIES if source == "float64" else whole
    digits, least = FORMATS[dtype]
    largest = tensorbus.finfo(getattr(tensorbus, dtype)).max
    x = tensorbus.tensor(values, dtype=getattr(tensorbus, source)).to(device)
    found = x.to(getattr(tensorbus, dtype)).tolist()
    expected = [nearest(v, digits, least, largest) for v in values]
    assert list(map(str, found)) == list(map(str, expected))
