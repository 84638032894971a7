"""Gradients through samples beside finite differences of the quantile functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from tests.distributions.univariate import CONTINUOUS, Case

import tensorbus
from tensorbus import distributions
from tensorbus.distributions.implicit_gradients import dirichlet_grad, standard_gamma_grad

LEVELS = np.array([1e-3, 0.05, 0.3, 0.5, 0.8, 0.99])


def grad_of(leaf: tensorbus.Tensor) -> tensorbus.Tensor:
    assert leaf.grad is not None
    return leaf.grad


def slope(f: Callable[[Any], Any], x: Any) -> Any:
    h = 2e-3 * np.abs(x)
    near, far = f(x + h) - f(x - h), f(x + 2 * h) - f(x - 2 * h)
    farther = f(x + 3 * h) - f(x - 3 * h)
    return (45 * near - 9 * far + farther) / (60 * h)


@pytest.mark.parametrize("alpha", [0.08, 0.3, 0.9, 1.0, 1.6, 4.0, 25.0, 300.0, 1e5])
def test_gamma(alpha: float) -> None:
    x = special.gammaincinv(alpha, LEVELS)
    expected = slope(lambda a: special.gammaincinv(a, LEVELS), alpha)
    found = standard_gamma_grad(
        tensorbus.full((6,), alpha, dtype=tensorbus.float64), tensorbus.tensor(x)
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6)
    single = standard_gamma_grad(tensorbus.full((6,), alpha), tensorbus.tensor(x).float())
    np.testing.assert_allclose(single.numpy(), expected, rtol=2e-4)


@pytest.mark.parametrize("beta", [0.1, 0.7, 1.0, 3.0, 40.0, 2000.0])
@pytest.mark.parametrize("alpha", [0.1, 0.6, 1.0, 2.5, 30.0, 1000.0])
def test_beta(alpha: float, beta: float) -> None:
    x = special.betaincinv(alpha, beta, LEVELS)
    x = x[(x > 1e-30) & (x < 1 - 1e-9)]
    level = special.betainc(alpha, beta, x)
    expected = slope(lambda a: special.betaincinv(a, beta, level), alpha)
    n = len(x)
    a = tensorbus.full((n,), alpha, dtype=tensorbus.float64)
    found = dirichlet_grad(tensorbus.tensor(x), a, a + beta).numpy() * (1 - x)
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_beyond_what_the_quantile_function_of_scipy_can_do(oracle: Any) -> None:
    """PyTorch's formulas are good to about a thousandth."""
    alpha = [1e-3, 0.05, 1.0]
    samples = [1e-30, 1e-8, 0.02, 0.7]

    def slopes(torch: Any, grad: Callable[..., Any], dirichlet: Callable[..., Any]) -> Any:
        a = torch.tensor(alpha, dtype=torch.float64).reshape(-1, 1)
        x = torch.tensor(samples, dtype=torch.float64)
        a, x = torch.broadcast_tensors(a, x)
        of_beta = dirichlet(x.contiguous(), a.contiguous(), (a + 0.5).contiguous())
        return grad(a, x).numpy(), of_beta.numpy()

    ours = slopes(tensorbus, standard_gamma_grad, dirichlet_grad)
    theirs = oracle(lambda torch: slopes(torch, torch._standard_gamma_grad, torch._dirichlet_grad))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-3)


REPARAMETERIZED = [
    c for c in CONTINUOUS if c.name not in ("VonMises", "StudentT", "FisherSnedecor")
]


@pytest.mark.parametrize("case", REPARAMETERIZED, ids=lambda case: case.name)
def test_samples_move_as_the_quantiles_do(case: Case) -> None:
    """With the same level the quantile of other parameters: its slope is the gradient."""
    tensorbus.manual_seed(7)
    given = {n: v.requires_grad_() for n, v in case.arguments().items()}
    x = getattr(distributions, case.name)(**given).rsample((20,))
    x.sum().backward()
    drawn = x.detach().numpy()
    for name, leaf in given.items():
        expected = np.zeros(case.count)
        for i, row in enumerate(zip(*case.parameters.values(), strict=True)):
            at = dict(zip(case.parameters, row, strict=True))
            level = case.scipy(*row).cdf(drawn[:, i])
            upper = case.scipy(*row).sf(drawn[:, i])

            def quantile(value: float, at: Any = at, level: Any = level, upper: Any = upper) -> Any:
                moved = case.scipy(*{**at, name: value}.values())  # noqa: B023
                return np.where(level < 0.5, moved.ppf(level), moved.isf(upper))

            h = 1e-4 * max(1e-3, abs(at[name]))
            near = quantile(at[name] + h) - quantile(at[name] - h)
            far = quantile(at[name] + 2 * h) - quantile(at[name] - 2 * h)
            expected[i] = ((8 * near - far) / (12 * h)).sum()
        np.testing.assert_allclose(
            grad_of(leaf).numpy(), expected, rtol=1e-4, atol=1e-6, err_msg=name
        )


def test_student_and_f_follow_the_gamma_variables_in_them() -> None:
    """E[x**2] is the variance df / (df - 2), whose slope is -2 / (df - 2)**2."""
    tensorbus.manual_seed(8)
    df = tensorbus.tensor(9.0, dtype=tensorbus.float64, requires_grad=True)
    x = distributions.StudentT(df).rsample((200_000,))
    (x**2).mean().backward()
    assert abs(grad_of(df).item() + 2 / 49) < 0.01
    df1 = tensorbus.tensor(4.0, dtype=tensorbus.float64, requires_grad=True)
    df2 = tensorbus.tensor(12.0, dtype=tensorbus.float64, requires_grad=True)
    distributions.FisherSnedecor(df1, df2).rsample((200_000,)).mean().backward()
    assert abs(grad_of(df2).item() + 2 / 100) < 0.005  # the mean is df2 / (df2 - 2)
    assert abs(grad_of(df1).item()) < 0.005


def test_the_gradient_of_a_dirichlet_sample() -> None:
    """``E[f(x)]`` moves with alpha as the samples do: here of squares, whose means are known."""
    tensorbus.manual_seed(9)
    alpha = tensorbus.tensor([0.6, 1.5, 3.0], dtype=tensorbus.float64, requires_grad=True)
    weights = tensorbus.tensor([1.0, -2.0, 0.5], dtype=tensorbus.float64)
    x = distributions.Dirichlet(alpha).rsample((100_000,))
    ((x**2) * weights).sum(-1).mean().backward()
    exact = alpha.detach().clone().requires_grad_()
    total = exact.sum()
    (exact * (exact + 1) / (total * (total + 1)) * weights).sum().backward()
    np.testing.assert_allclose(grad_of(alpha).numpy(), grad_of(exact).numpy(), atol=0.005)


def test_a_second_derivative_is_an_error_and_not_zero() -> None:
    a = tensorbus.tensor([1.0, 2.0], requires_grad=True)
    for drawn, name in (
        (distributions.Gamma(a, 1.0).rsample(), "_standard_gamma_grad"),
        (distributions.Dirichlet(a).rsample(), "_dirichlet_grad"),
    ):
        (grad,) = tensorbus.autograd.grad((drawn**2).sum(), a, create_graph=True)
        with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not impl"):
            grad.sum().backward()
