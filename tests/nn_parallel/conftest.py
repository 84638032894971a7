"""Nets, and what one process makes of the whole batch."""

from __future__ import annotations

import copy
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ports import own_port

import tensorbus as tb
from tensorbus import nn


class Tied(nn.Module):
    """An embedding whose weight is the output layer's too, and a layer that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.mix = nn.Linear(6, 6)
        self.out = nn.Linear(6, 11, bias=False)
        self.out.weight = self.embed.weight
        self.unused = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return {"out": [self.out(self.mix(self.embed(x)).tanh())]}


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 7), nn.ReLU(), nn.Linear(7, 3))


def conv() -> nn.Module:
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip
    net[1].running_mean.uniform_(-1, 1)
    net[1].eval()
    return net


def numbers(*shape: int, seed: int = 0) -> Any:
    return tb.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def tokens(*shape: int, high: int = 11, seed: int = 0) -> Any:
    return tb.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def cross_entropy(out: Any, y: Any) -> Any:
    return nn.functional.cross_entropy(out["out"][0], y)


def squares(out: Any, y: Any) -> Any:
    return ((out - y) ** 2).mean()


class Case:
    """A net in float64, a batch, and a loss that is a mean over the batch."""

    def __init__(self, make: Callable[[], nn.Module], x: Any, y: Any, loss: Callable[..., Any]):
        tb.manual_seed(5)
        self._net = make().double()
        self.x, self.y, self.loss = x, y, loss

    def net(self) -> Any:
        """A fresh copy of the net."""
        return copy.deepcopy(self._net)

    def part(self, rank: int, size: int) -> tuple[Any, Any]:
        """One rank's part of the batch."""
        n = len(self.x) // size
        return self.x[rank * n : rank * n + n], self.y[rank * n : rank * n + n]


CASES: dict[str, Callable[[], Case]] = {
    "mlp": lambda: Case(mlp, numbers(8, 5), numbers(8, 3, seed=1), squares),
    "conv": lambda: Case(conv, numbers(8, 2, 6, 6), numbers(8, 3, seed=1), squares),
    "tied": lambda: Case(Tied, tokens(16), tokens(16, seed=1), cross_entropy),
}


def parameters_of(net: Any) -> list[np.ndarray]:
    """Copies of all parameters."""
    return [p.detach().numpy().copy() for p in net.parameters()]


def assert_same(got: list[np.ndarray], want: list[np.ndarray], tolerance: float = 1e-12) -> None:
    """Equal to rounding of float64 after a few steps."""
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def processes(command: list[Any], size: int, timeout: float = 240) -> list[tuple[int, str]]:
    """Run a program as the ranks of a job: how each ended and what it wrote."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENSORBUS_DIST")}
    env |= {
        "TENSORBUS_JOB_SECRET": secrets.token_hex(8),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(own_port()),
        "WORLD_SIZE": str(size),
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=env | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    stop, results = time.monotonic() + timeout, []
    try:
        for p in ranks:
            out, _ = p.communicate(timeout=max(stop - time.monotonic(), 0.1))
            results.append((p.returncode, out))
    finally:
        for p in ranks:
            if p.poll() is None:
                p.kill()
                p.communicate()
    return results


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """Each of the nets."""
    return CASES[request.param]()


@pytest.fixture
def mlp_case() -> Case:
    """The plainest net."""
    return CASES["mlp"]()


@pytest.fixture
def tools() -> Any:
    """What tests of other files need of this one."""

    class Tools:
        same = staticmethod(assert_same)
        parameters = staticmethod(parameters_of)
        numbers = staticmethod(numbers)
        processes = staticmethod(processes)

    return Tools
