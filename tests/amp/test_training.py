"""Training under autocast in bfloat16 stays beside PyTorch's, and learns what float32 learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as tb

STEPS = 20
UNIT = 2.0**-9
"""What rounding to bfloat16 changes a number by at most."""


def filled(torch: Any, net: Any) -> Any:
    """The net with parameters that are the same in each library."""
    rng = np.random.default_rng(3)
    with torch.no_grad():
        for p in net.parameters():
            bound = 1 / np.sqrt(np.prod(p.shape[1:]) or 1)
            p.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)).astype("f")))
    return net


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4)
    )


def conv(torch: Any) -> Any:
    """Smooth: where a maximum or a ReLU decides, a rounding may choose another way for good."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(32, 4),
    )  # fmt: skip


NETS = {"mlp": (mlp, (24, 10)), "conv": (conv, (24, 1, 8, 8))}


def losses(torch: Any, name: str, lowered: bool) -> list[float]:
    """The losses of a classifier over some steps."""
    make, shape = NETS[name]
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal(shape).astype("f"))
    y = torch.from_numpy(rng.integers(0, 4, shape[0]))
    net = filled(torch, make(torch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lowered):
            out = net(x)
            loss = torch.nn.functional.cross_entropy(out, y)
        assert out.dtype is (torch.bfloat16 if lowered else torch.float32)
        loss.backward()
        assert all(p.grad.dtype is torch.float32 for p in net.parameters())
        optimizer.step()
        found.append(float(loss.detach()))
    return found


ALLOWED = 12 * UNIT / np.sqrt(24)
"""Twelve results of about 1 are rounded on the way to a gradient, in 24 rows by themselves."""


@pytest.mark.parametrize("name", NETS)
def test_losses_of_bfloat16_are_beside_pytorchs(name: str, oracle: Any) -> None:
    low, full = (np.array(losses(tb, name, lowered)) for lowered in (True, False))
    # The order of sums is the processor's, and so are its products of bfloat16.
    theirs = oracle(lambda torch: losses(torch, name, True), rtol=UNIT)
    theirs_full = oracle(lambda torch: losses(torch, name, False), rtol=1e-6)
    np.testing.assert_allclose(full, theirs_full, rtol=1e-5)
    np.testing.assert_allclose(low, theirs, rtol=0, atol=ALLOWED)
    np.testing.assert_allclose(low, full, rtol=0, atol=ALLOWED)
    assert (low != full).all() and low[-1] < 0.7 * low[0]
