"""The first gradient of a leaf: the array that arrives, where nobody else holds it, else a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.autograd import engine


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the gradients that were copied into the order of their leaf."""
    found: list[tuple[int, ...]] = []
    made = engine.empty_in_layout

    def counted(kind: Any, shape: Any, strides: Any) -> Any:
        found.append(shape)
        return made(kind, shape, strides)

    monkeypatch.setattr(engine, "empty_in_layout", counted)
    return found


LEAVES = {
    "own": lambda x: torch.tensor(x),
    "over NumPy": torch.from_numpy,
    "a part": lambda x: torch.tensor(np.concatenate([x, x]))[: len(x)].detach(),
}


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_nobody_holds_is_taken(leaf: str, copied: list[tuple[int, ...]]) -> None:
    values = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = LEAVES[leaf](values).requires_grad_()
    y = (x * x).sum()
    y.backward()
    assert x.grad is not None and not copied
    np.testing.assert_array_equal(x.grad.numpy(), 2 * values)
    x.grad.zero_()
    np.testing.assert_array_equal(x.detach().numpy(), values)


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_a_program_holds_is_copied(leaf: str) -> None:
    x = LEAVES[leaf](np.zeros((3, 4), np.float32)).requires_grad_()
    gradient = torch.ones(3, 4)
    x.view(3, 4).backward(gradient)
    assert x.grad is not None
    x.grad.add_(1)
    assert gradient.sum() == 12


def test_a_leaf_in_another_order_has_a_gradient_in_that_order(
    copied: list[tuple[int, ...]],
) -> None:
    values = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    for x in (torch.from_numpy(values.T), torch.from_numpy(np.repeat(values, 2, 1)[:, ::2])):
        x.requires_grad_()
        (x * x).sum().backward()
        assert x.grad is not None and x.grad.is_contiguous() is (x.stride() != (1, 4))
        np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    assert copied == [(4, 3)]
