"""Graphs of several nests: which are left to other kernels, when, and in what order they run."""

from __future__ import annotations

import numpy as np

import tensorbus as torch
from tensorbus import discovery

RNG = np.random.default_rng(4)


def normal(*shape):
    return RNG.standard_normal(shape).astype("float32")


TWO_SETS = """
def graph(x: float32[s0, s1], n: float32):
    v0: float32[s0] = sum(x, (1,), float32)
    v1: float32[s0] = div(v0, n)
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, s1] = sub(x, v2)
    v4: float32[s0, s1] = mul(v3, v3)
    v5: float32[s1] = sum(v4, (0,), float32)
    v6: float32[s1] = sqrt(v5)
    return v6
"""


def test_what_a_nest_leaves_to_others_is_left_before_anything_is_computed(generated, compiled):
    kernel = compiled(TWO_SETS)
    few, many = normal(5000, 3), normal(300, 200)
    before = getattr(generated.backend, "launches", 0)
    for _ in range(2):  # as much in the first call as in those that know it
        assert kernel(generated.put(few), 3.0) is NotImplemented
    assert getattr(generated.backend, "launches", 0) == before
    wanted = np.sqrt(np.square(many - many.mean(1, dtype=float, keepdims=True)).sum(0))
    got = generated.get(kernel(generated.put(many), 200.0))
    np.testing.assert_allclose(got, wanted, rtol=2e-5)
    assert kernel(generated.put(few), 3.0) is NotImplemented


def test_a_batch_of_few_channels_is_composed_from_its_first_call_on(generated):
    backend = generated.backend
    x = RNG.normal(2, 3, (8, 3, 30, 30)).astype("float32")
    g = normal(*x.shape)
    mean, var = x.mean((0, 2, 3), dtype=float), x.var((0, 2, 3), dtype=float)
    unit = (x - mean[:, None, None]) / np.sqrt(var + 1e-5)[:, None, None]
    level, slope = (a.mean((0, 2, 3), dtype=float, keepdims=True) for a in (g, g * unit))
    counts = []
    with discovery.plugged(backend) as name:
        for _ in range(5):
            leaf = torch.from_numpy(x).to(name).requires_grad_()
            before = getattr(backend, "launches", 0)
            y = torch.nn.functional.batch_norm(leaf, None, None, training=True)
            y.backward(torch.from_numpy(g).to(name))
            counts.append(getattr(backend, "launches", 0) - before)
            np.testing.assert_allclose(y.detach().cpu().numpy(), unit, rtol=1e-4, atol=1e-5)
            wanted = (g - level - unit * slope) / np.sqrt(var + 1e-5)[:, None, None]
            np.testing.assert_allclose(leaf.grad.cpu().numpy(), wanted, rtol=1e-3, atol=1e-5)
    assert max(counts[2:]) <= counts[0]


def test_what_a_nest_reads_is_made_before_it(generated, compiled):
    """One of the results belongs to a nest behind those that read it."""
    kernel = compiled("""
def graph(x: float32[s0]):
    v0: float32[()] = sum(x, (0,), float32)
    v1: float32[()] = mul(v0, 0.5)
    v2: float32[s0] = mul(x, v1)
    v3: float32[s0] = abs(v2)
    v4: float32[()] = sum(v3, (0,), float32)
    v5: float32[s0] = mul(x, v4)
    v6: float32[s0] = mul(v5, v1)
    v7: float32[()] = add(v4, 1.0)
    return v1, v6, v7
""")
    x = np.linspace(-1, 2, 100_000).astype("float32")
    half = x.sum(dtype=float) / 2
    total = np.abs(x * half).sum(dtype=float)
    for got, wanted in zip(
        kernel(generated.put(x)), (half, x * total * half, total + 1), strict=True
    ):
        np.testing.assert_allclose(generated.get(got), wanted, rtol=1e-5)
