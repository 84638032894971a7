"""Composed pointwise ops piece by piece: the elements are those of one evaluation of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus_cpu_numpy.backend import CpuBackend

PIECE = CpuBackend.traits.piece
COUNT = 2 * PIECE + 77


def values(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(3).uniform(-3, 3, shape))


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "one operand": lambda: (values(COUNT).erfc(), erfc_of(values(COUNT))),
    "rows": lambda: (values(3, PIECE).erfc(), erfc_of(values(3, PIECE))),
    "a transposed operand": lambda: (
        values(PIECE, 3).T.erfc(), erfc_of(values(PIECE, 3).T)),
    "a strided operand": lambda: (
        values(COUNT, 2)[:, 1].erfc(), erfc_of(values(COUNT, 2)[:, 1])),
    "in place, a view": lambda: (
        values(COUNT, 2)[:, 1].erfc_(), erfc_of(values(COUNT, 2)[:, 1])),
    "operands that broadcast": lambda: (
        values(PIECE, 1).logaddexp2(values(1, 5)),
        values(PIECE, 1).expand(PIECE, 5).reshape(5, PIECE).logaddexp2(
            values(1, 5).expand(PIECE, 5).reshape(5, PIECE)).reshape(PIECE, 5)),
    "one operand of no dimensions": lambda: (
        values(COUNT).logaddexp2(torch.tensor(0.5)),
        values(COUNT).logaddexp2(torch.full((COUNT,), 0.5))),
    "truth values": lambda: (
        values(COUNT).isfinite(), torch.ones(COUNT, dtype=torch.bool)),
}  # fmt: skip


def erfc_of(x: Any) -> Any:
    """The function of fewer elements than two pieces at a time."""
    flat = x.reshape(-1)
    parts = [flat[at : at + 1001].erfc() for at in range(0, len(flat), 1001)]
    return torch.cat(parts).reshape(x.shape)


@pytest.mark.parametrize("name", CASES)
def test_pieces_have_the_elements_of_the_whole(name: str) -> None:
    found, expected = CASES[name]()
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.equal(expected)


def test_the_layout_is_that_of_the_operand() -> None:
    x = values(PIECE, 3).T
    assert x.erfc().stride() == x.stride() == (1, 3)


def test_gradients_of_a_large_tensor() -> None:
    x = values(COUNT).requires_grad_()
    x.erfc().sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(), -2 / np.sqrt(np.pi) * np.exp(-(x.detach().numpy() ** 2)), rtol=1e-13
    )
