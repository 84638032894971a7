"""A device without kernels for linear algebra trains through it all the same, and on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorbus as torch


@pytest.fixture
def no_fallback() -> Iterator[None]:
    before = torch.get_fallback()
    torch.set_fallback("error")
    yield
    torch.set_fallback(before)


def _by_factors(a: Any, b: Any) -> Any:
    lu, pivots = torch.linalg.lu_factor(a)
    return torch.linalg.lu_solve(lu, pivots, b)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda a, b: torch.linalg.solve(a, b).sum(),
    "inv": lambda a, b: (torch.linalg.inv(a) @ b).sum(),
    "logdet": lambda a, b: torch.logdet(a @ a.mT) + b.sum(),
    "det": lambda a, b: torch.linalg.det(a) + b.sum(),
    "cholesky": lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mT)).sum(),
    "lu_factor": lambda a, b: _by_factors(a, b).sum(),
    "qr": lambda a, b: (torch.linalg.qr(a).R @ b).sum(),
    "matrix_exp": lambda a, b: (torch.linalg.matrix_exp(a / 4) @ b).sum(),
}


def test_ldl_stays_on_the_device(no_fallback: None, device: str) -> None:
    a, b = (torch.tensor(x, device=device) for x in values())
    a = a + a.mT
    factors = torch.linalg.ldl_factor(a)
    x = torch.linalg.ldl_solve(*factors, b)
    np.testing.assert_allclose((a @ x).cpu().numpy(), b.cpu().numpy(), atol=2e-5)
    singular = torch.zeros(2, 2, 2, device=device)
    assert torch.linalg.ldl_factor_ex(singular).info.tolist() == [1, 1]


def values() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, (5, 5)) + 3 * np.eye(5)[::-1]
    return a.astype(np.float32), rng.uniform(-1, 1, (5, 2)).astype(np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_on_the_device_are_those_of_the_cpu(no_fallback: None, name: str) -> None:
    found: dict[str, Any] = {}
    for device in ("strict", "cpu"):
        leaves = [torch.tensor(x, device=device, requires_grad=True) for x in values()]
        result = FUNCTIONS[name](*leaves)
        gradients = torch.autograd.grad(result, leaves)
        found[device] = [x.detach().cpu().numpy() for x in (result, *gradients)]
    for there, here in zip(*found.values(), strict=True):
        np.testing.assert_allclose(there, here, rtol=2e-4, atol=2e-4 * np.abs(here).max())
