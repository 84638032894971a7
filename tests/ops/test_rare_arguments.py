"""Calls that PyTorch takes though they look odd, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch

ONES, BOOLS = torch.tensor([1, 2]), torch.tensor([True, False])


def test_samples_of_lower_rank_are_those_of_the_last_dimensions() -> None:
    y = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
    x = torch.tensor([[0.0, 1.0, 3.0]])
    by_hand = [1.5 * 1 + 3.0 * 2, 4.0 * 1 + 7.0 * 2]
    assert torch.trapezoid(y, x).tolist() == by_hand
    assert torch.trapezoid(y, x[0]).tolist() == by_hand
    assert torch.cumulative_trapezoid(y, x).tolist() == [[1.5, 7.5], [4.0, 18.0]]


def test_samples_of_higher_rank_keep_the_dimension_of_the_values() -> None:
    y = torch.tensor([1.0, 3.0])
    x = torch.tensor([[0.0, 1.0], [10.0, 21.0]])
    # The steps lie along dimension 0, that of y: 10 and 20. The mean height is 2.
    assert torch.trapezoid(y, x).tolist() == [20.0, 40.0]
    assert torch.cumulative_trapezoid(y, x).tolist() == [[20.0, 40.0]]


NUMPY_TRUTHS = [
    (lambda t: torch.add(ONES, t), [2.0, 3.0], torch.float32),
    (lambda t: ONES * t, [1.0, 2.0], torch.float32),
    (lambda t: torch.sub(torch.tensor([2.0]), t), [1.0], torch.float32),
    (lambda t: torch.where(BOOLS, t, ONES), [1.0, 2.0], torch.float32),
    (lambda t: torch.full((2,), t), [1.0, 1.0], torch.float32),
    (lambda t: t == BOOLS, [True, False], torch.bool),
    (lambda t: torch.zeros(2, dtype=torch.int64).fill_(t), [1, 1], torch.int64),
]


@pytest.mark.parametrize(("run", "values", "dtype"), NUMPY_TRUTHS)
def test_a_truth_value_of_numpy_is_a_number_in_floating_point(
    run: Any, values: list[Any], dtype: Any
) -> None:
    made = run(np.bool_(True))
    assert made.tolist() == values
    assert made.dtype is dtype


@pytest.mark.parametrize("flag", [1, 2, 255, np.int64(1), torch.tensor(1), torch.tensor(True)])
def test_an_integer_may_stand_for_a_flag_of_a_backward_pass(flag: Any) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=flag)
    torch.autograd.backward(y, retain_graph=flag)
    (g,) = torch.autograd.grad(y, x, create_graph=flag)
    assert torch.autograd.grad(g, x)[0].item() == 2.0
    assert x.grad is not None
    assert x.grad.item() == 12.0


def test_zero_does_not_retain_the_graph() -> None:
    y = (torch.tensor(3.0, requires_grad=True) ** 2).sum()
    y.backward(retain_graph=0)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_nothing_has_every_dimension(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    assert torch.roll(x, 1, 5).shape == shape
    assert torch.cummax(x, 5).values.shape == shape
    assert torch.cummin(x, 5).indices.dtype is torch.int64
    with pytest.raises(IndexError):
        torch.logcumsumexp(x, 5)


def test_numbers_of_normal_may_be_tensors_where_a_size_is_given() -> None:
    drawn = torch.normal(torch.tensor(5), torch.tensor(0.0), (3,))
    assert drawn.tolist() == [5.0, 5.0, 5.0]
    with pytest.raises(TypeError, match="mean or std is a tensor"):
        torch.normal(torch.zeros(2), 1.0, (2,))


def test_a_comparison_in_place_takes_its_operand_by_name() -> None:
    x = torch.tensor([1.0, 2.0])
    assert x.clone().eq_(other=2.0).tolist() == [0.0, 1.0]
    assert x.clone().logical_and_(other=torch.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(TypeError):
        x.eq_(2.0, other=2.0)
