"""Optimizers step complex parameters as the two real ones that each is, as PyTorch does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as tb

OPTIMIZERS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, {"momentum_buffer"}),
    ("Adam", {"lr": 0.1}, {"exp_avg", "exp_avg_sq"}),
    ("Adam", {"lr": 0.1, "amsgrad": True}, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}),
    ("AdamW", {"lr": 0.1, "maximize": True}, {"exp_avg", "exp_avg_sq"}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}, {"exp_avg", "exp_inf"}),
    ("NAdam", {"lr": 0.1}, {"exp_avg", "exp_avg_sq"}),
    ("RAdam", {"lr": 0.1}, {"exp_avg", "exp_avg_sq"}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5}, {"sum"}),
    ("Adadelta", {}, {"square_avg", "acc_delta"}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5},
     {"square_avg", "grad_avg", "momentum_buffer"}),
    ("Rprop", {"lr": 0.1}, {"prev", "step_size"}),
    ("ASGD", {"lr": 0.01}, {"ax"}),
    ("LBFGS", {"lr": 0.3, "line_search_fn": "strong_wolfe"}, set()),
]  # fmt: skip
START = [[1 + 2j, 0.5 - 1j], [-0.3j, 0.7 + 0j]]


def _stepped(name: str, options: dict[str, Any], param: Any, of: Any) -> Any:
    optimizer = getattr(tb.optim, name)([param], **options)

    def closure() -> Any:
        optimizer.zero_grad()
        z = of(param)
        loss = ((z * z - (1 + 1j)).abs() ** 2).sum() + (z * (0.3 - 2j)).real.sum()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    return optimizer


@pytest.mark.parametrize(("name", "options", "complex_state"), OPTIMIZERS)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_complex_parameter_is_two_real_ones(
    name: str, options: dict[str, Any], complex_state: set[str], transposed: bool
) -> None:
    z = tb.tensor(START, dtype=tb.complex128)
    z = (z.t() if transposed else z).requires_grad_()
    parts = tb.view_as_real(z.detach()).clone().requires_grad_()
    optimizer = _stepped(name, options, z, lambda z: z)
    _stepped(name, options, parts, tb.view_as_complex)
    np.testing.assert_allclose(tb.view_as_real(z.detach()).numpy(), parts.detach().numpy(), 1e-12)
    state = optimizer.state_dict()["state"][0]
    found = {k for k, v in state.items() if isinstance(v, tb.Tensor) and v.is_complex()}
    assert found == complex_state
    assert {state[k].shape for k in found} <= {z.shape}
    again = getattr(tb.optim, name)([z], **options)
    again.load_state_dict(optimizer.state_dict())
    assert {k for k in again.state_dict()["state"][0] if k in found} == found


def test_adam_gives_what_pytorch_gives() -> None:
    p = tb.tensor([1 + 2j, 0.5 - 1j], dtype=tb.complex128, requires_grad=True)
    optimizer = tb.optim.Adam([p], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        ((p * p - (1 + 1j)).abs() ** 2).sum().backward()
        optimizer.step()
    # Printed by PyTorch 2.13.
    expected = [0.64709297 + 1.60621621j, 0.10958063 - 0.61149380j]
    np.testing.assert_allclose(p.detach().numpy(), expected, atol=1e-6)


def test_gradients_of_complex_parameters_are_clipped_by_their_sizes() -> None:
    p = tb.tensor([3 + 4j, 1j], dtype=tb.complex128, requires_grad=True)
    for order, expected in ((2.0, 104**0.5), (1.0, 12.0), (float("inf"), 10.0)):
        p.grad = None
        (p.abs() ** 2).sum().backward()
        total = tb.nn.utils.clip_grad_norm_([p], 1.0, order)
        assert total.dtype is tb.float64
        assert total.item() == pytest.approx(expected)
        np.testing.assert_allclose(p.grad.numpy(), np.array([6 + 8j, 2j]) / (expected + 1e-6))
