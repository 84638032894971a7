"""bfloat16 on the device ``cuda``: what its conversions, kernels and gradients compute."""

from __future__ import annotations

import math

import cupy
import numpy as np
import pytest

import tensorbus as torch

EDGES = [0.0, -0.0, 1.00390625, 1.01171875, 1 + 2**-8 + 2**-40, 3.3961775292304e38, -1e-40,
         2.0**-133, math.inf, -math.inf, math.nan, 65520.0]  # fmt: skip


def test_two_bytes_hold_an_element(backend):
    x = torch.ones(3, device="cuda").bfloat16()
    assert x._a.dtype == np.int16 and x._a.itemsize == 2 and isinstance(x._a, cupy.ndarray)
    assert x.untyped_storage().nbytes() == 6
    assert torch.cuda.is_bf16_supported()


@pytest.mark.parametrize("source", ["float64", "int64", "float16", "bool", "int8"])
def test_conversions_round_once(source):
    values = np.array(EDGES)
    if source == "int64":
        values = np.array([(257 << 40) + 1, (0x10180 << 40) - 1, -(2**63), 2**63 - 1, 0])
    elif source != "float64":
        values = np.nan_to_num(values, posinf=3, neginf=-3).clip(-100, 100)
    x = torch.tensor(values).to(getattr(torch, source))
    on_device = x.to("cuda").bfloat16()
    here, there = (t.view(torch.int16).tolist() for t in (x.bfloat16(), on_device.cpu()))
    assert here == there
    for name in ("float32", "float64", "int32", "uint8", "bool", "float16"):
        d = getattr(torch, name)
        ours, theirs = on_device.to(d).cpu().numpy(), x.bfloat16().to(d).numpy()
        np.testing.assert_array_equal(ours, theirs)


PROGRAMS = {
    "numbers": lambda x: 2 - x * 3 + (x > 0.5),
    "written": lambda x: x.clone().fill_(0.1),
    "item": lambda x: x.clone().index_fill_(0, torch.tensor([1]).to(x.device), 7.5),
    "where": lambda x: torch.where(x > 0, x, 0.3),
    "added": lambda x: x.index_add(0, torch.tensor([1, 1, 1]).to(x.device), x[:3]),
    "product": lambda x: x @ x.t(),
    "linear": lambda x: torch.addmm(x[0, :4], x, x.t()),
    "softmax": lambda x: x.softmax(1),
    "norm": lambda x: torch.nn.functional.layer_norm(x, (5,)),
    "sums": lambda x: torch.stack([x.sum(), x.mean(), x.var(), x.amax(), x.prod()]),
    "order": lambda x: x.sort(1).values,
    "first": lambda x: x.argmax(1),
    "running": lambda x: x.cumsum(1),
    "joined": lambda x: torch.cat([x, x.flip(0)])[1:, ::2],
    "silu": torch.nn.functional.silu,
    "truth": lambda x: torch.stack([x.any(), (-x * 0).any(), (x != 0).all()]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_the_cpu_gives(name):
    torch.set_fallback("error")
    values = torch.tensor(np.random.default_rng(3).standard_normal((4, 5))).bfloat16()
    try:
        ours, theirs = PROGRAMS[name](values.to("cuda")), PROGRAMS[name](values)
    finally:
        torch.set_fallback("warn")
    assert ours.dtype is theirs.dtype and ours.device.type == "cuda"
    assert ours.stride() == theirs.stride()
    np.testing.assert_allclose(
        ours.cpu().double().numpy(), theirs.double().numpy(), rtol=2**-8, atol=1e-6
    )


def test_a_training_step_is_that_of_the_cpu():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.SiLU(), torch.nn.Linear(8, 2))
    data = torch.randn(5, 6)
    losses = []
    for device in ("cpu", "cuda"):
        copy = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.SiLU(), torch.nn.Linear(8, 2))
        copy.load_state_dict(net.state_dict())
        copy = copy.to(device).bfloat16()
        copy(data.to(device).bfloat16()).square().mean().backward()
        losses.append([p.grad.cpu().double().numpy() for p in copy.parameters()])
    for ours, theirs in zip(*losses, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2**-5, atol=2e-3)
