"""float16 and bfloat16: each op computes in float32 and rounds once, on each device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus
import tensorbus.nn.functional as F
from tensorbus import discovery

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


def available(name: str) -> str:
    try:
        discovery.backend(name).capabilities(0)
    except Exception as error:
        pytest.skip(f"no device {name}: {error}")
    return name


@pytest.mark.parametrize(("device", "dtype"), PLACES)
@pytest.mark.parametrize("op", OPS)
def test_results_are_rounded_once(op: str, device: str, dtype: str) -> None:
    function, shapes = OPS[op]
    random = np.random.default_rng(5)
    d: Any = getattr(tensorbus, dtype)
    given = [
        tensorbus.tensor(random.standard_normal(s)).to(d).to(available(device)) for s in shapes
    ]
    found = function(*given)
    assert found.dtype is d and found.device.type == device
    exact = function(*[x.cpu().double() for x in given]).numpy()
    digits, least = FORMATS[dtype]
    exponent = np.maximum(np.frexp(exact)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - digits + 1)
    error = np.abs(found.cpu().double().numpy() - exact)
    sums = 2e-6 * np.abs(exact).max()  # what float32 loses where terms cancel
    assert (error <= 0.502 * unit + sums).all(), (error / unit).max()


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_gradients_of_convolutions_are_rounded_once(device: str) -> None:
    random = np.random.default_rng(6)
    shapes = (2, 8, 7, 7), (6, 8, 3, 3)
    given = [tensorbus.tensor(random.standard_normal(s)).bfloat16() for s in shapes]
    exact = [x.double().requires_grad_() for x in given]
    found = [x.to(available(device)).requires_grad_() for x in given]
    for x, w in (exact, found):
        F.conv2d(x, w, padding=1).sum().backward()
    for ours, wide in zip(found, exact, strict=True):
        once = wide.grad.bfloat16().double().numpy()
        np.testing.assert_allclose(ours.grad.cpu().double().numpy(), once, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_what_is_not_written_keeps_its_bits(device: str) -> None:
    bits = tensorbus.tensor([0x7FC1, 0x3F80, -63], dtype=tensorbus.int16)
    x = bits.view(tensorbus.bfloat16).to(available(device))
    one = tensorbus.ones(1, dtype=tensorbus.bfloat16).to(device)
    x.index_add_(0, tensorbus.tensor([1]).to(device), one)
    assert x.cpu().view(tensorbus.int16).tolist() == [0x7FC1, 0x4000, -63]
    nan = tensorbus.tensor([np.nan, -np.nan]).to(device).bfloat16().cpu()
    assert tensorbus.signbit(nan).tolist() == [False, True]
