"""Without the trait ``python_scalars`` a kernel sees what ``scalar`` makes, never a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus.nn import functional as F
from tensorbus.plugin import POINTWISE


@pytest.fixture(scope="module")
def device(shared: Any) -> str:
    """A device whose pointwise kernels, ``put`` and ``scatter`` refuse plain numbers."""
    name = shared(python_scalars=False)
    backend = discovery.backend(name)
    made = backend.kernel

    def kernel(op: str, dtype: Any, index: int) -> Any:
        found = made(op, dtype, index)
        if found is None or op not in (*POINTWISE, "put", "scatter"):
            return found

        def strict(*args: Any, **options: Any) -> Any:
            operands = args if op in POINTWISE else args[2:4]
            numbers = [a for a in operands if isinstance(a, (bool, int, float, complex))]
            if numbers:
                raise TypeError(f"{op} was given the number {numbers[0]!r}")
            return found(*args, **options)

        return strict

    backend.kernel = kernel
    return name


def trained(device: str) -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.GELU(), torch.nn.Linear(4, 2)
    model = torch.nn.Sequential(*layers).to(device)
    step = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        step.zero_grad()
        scores = model(torch.linspace(-1, 1, 15).reshape(5, 3).to(device))
        F.cross_entropy(scores, torch.tensor([0, 1, 0, 1, 1], device=device)).backward()
        step.step()
    return scores.detach()


OPS = {
    "erf": lambda d: torch.erf(torch.linspace(-3, 3, 9, device=d)),
    "gelu": lambda d: F.gelu(torch.linspace(-3, 3, 9, device=d)),
    "atan": lambda d: torch.atan(torch.linspace(-3, 3, 9, device=d)),
    "where": lambda d: torch.linspace(-1, 1, 5, device=d).where(
        torch.tensor([True, False, True, True, False], device=d), 7.0
    ),
    "integers": lambda d: torch.arange(-4, 5, device=d) % 3 + torch.arange(-4, 5, device=d) // 2,
    "index": lambda d: torch.zeros(5, device=d).index_fill(0, torch.tensor([1, 3], device=d), 2.5),
    "scatter": lambda d: torch.zeros(2, 3, device=d).scatter(
        1, torch.tensor([[0, 2], [1, 1]], device=d), 4.0
    ),
    "one_hot": lambda d: F.one_hot(torch.tensor([2, 0, 1], device=d)),
    "random": lambda d: torch.nn.init.normal_(torch.empty(4, 3, device=d)) * 2,
    "trained": trained,
}


@pytest.mark.parametrize("op", OPS)
def test_numbers_reach_kernels_as_the_backend_wants_them(op: str, device: str) -> None:
    torch.manual_seed(1)
    got = OPS[op](device).cpu().numpy()
    torch.manual_seed(1)
    np.testing.assert_allclose(got, OPS[op]("cpu").numpy(), rtol=1e-5, atol=1e-6)


def test_the_cpu_takes_them_as_they_are() -> None:
    assert discovery.backend("cpu").traits.python_scalars
    assert torch.ones(2)._k.add is np.add
