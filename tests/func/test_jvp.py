"""``func.jvp`` and the Jacobians of a table of functions, against PyTorch and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.func.programs import FUNCTIONS, V, X, function, slope

import tensorbus as tb
from tensorbus.func import hessian, jacfwd, jacrev, jvp, linearize

TEXTS = [text for text, _ in FUNCTIONS]


def matrix(values: Any) -> Any:
    return tb.tensor(np.asarray(values).tolist(), dtype=tb.float64)


@pytest.mark.parametrize(("text", "expected"), FUNCTIONS, ids=TEXTS)
def test_directional_derivatives_are_pytorchs(text: str, expected: float) -> None:
    assert slope(text, tb) == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_the_table_is_what_pytorch_says(live_torch: Any) -> None:
    for text, expected in FUNCTIONS:
        assert slope(text, live_torch) == pytest.approx(expected, rel=1e-12, abs=1e-13), text


# What is detached has no derivative, and differences.
@pytest.mark.parametrize("text", [text for text in TEXTS if "detach" not in text])
def test_jacobians_agree_with_central_differences(text: str) -> None:
    f = function(text, tb)
    x = matrix(X)
    rows, columns = jacrev(f)(x), jacfwd(f)(x)
    output, push = linearize(f, x)
    assert rows.shape == columns.shape == (*output.shape, 2, 3)
    np.testing.assert_allclose(rows.numpy(), columns.numpy(), rtol=1e-10, atol=1e-12)
    product = np.tensordot(rows.numpy(), np.array(V), 2)
    np.testing.assert_allclose(push(matrix(V)).numpy(), product, rtol=1e-10, atol=1e-12)
    for step in np.eye(6).reshape(6, 2, 3):
        ahead, behind = (f(matrix(np.array(X) + h * step)).numpy() for h in (1e-6, -1e-6))
        expected = np.tensordot(rows.numpy(), step, 2)
        np.testing.assert_allclose((ahead - behind) / 2e-6, expected, rtol=1e-6, atol=1e-7)


SECOND = [t for t in TEXTS if "tensor([1, 0, 1])" not in t and "detach" not in t]


@pytest.mark.slow
@pytest.mark.parametrize("text", SECOND)
def test_the_orders_of_nesting_agree(text: str) -> None:
    f = function(text, tb)

    def number(x: Any) -> Any:
        return (f(x) ** 2).sum()

    x = matrix(X)
    found = [
        outer(inner(number))(x).numpy() for outer in (jacfwd, jacrev) for inner in (jacfwd, jacrev)
    ]
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=1e-8, atol=1e-9)
    slopes = jacrev(number)
    for step in np.eye(6).reshape(6, 2, 3):
        ahead, behind = (slopes(matrix(np.array(X) + h * step)).numpy() for h in (1e-5, -1e-5))
        expected = np.tensordot(found[0], step, 2)
        np.testing.assert_allclose((ahead - behind) / 2e-5, expected, rtol=1e-4, atol=1e-4)


def test_hessians_made_by_hand() -> None:
    x = np.array([0.5, -1.0, 2.0])
    a = np.arange(9.0).reshape(3, 3)
    quadratic = hessian(lambda x: x @ matrix(a) @ x)(matrix(x))
    np.testing.assert_allclose(quadratic.numpy(), a + a.T, rtol=1e-12)
    product = hessian(lambda x: x.prod())(matrix(x))
    np.testing.assert_allclose(
        product.numpy(), [[0, 2, -1], [2, 0, 0.5], [-1, 0.5, 0]], rtol=1e-12, atol=1e-15
    )
    s = np.exp(x) / np.exp(x).sum()
    logs = hessian(lambda x: x.logsumexp(0))(matrix(x))
    np.testing.assert_allclose(logs.numpy(), np.diag(s) - np.outer(s, s), rtol=1e-10, atol=1e-14)
    y = matrix([2.0, 3.0])
    (xx, xy), (yx, yy) = hessian(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(matrix(X)[:, :2], y)
    np.testing.assert_allclose(xx.numpy().reshape(4, 4), np.diag([4.0, 6, 4, 6]), atol=1e-14)
    assert xy.shape == (2, 2, 2) and yx.shape == (2, 2, 2)
    np.testing.assert_allclose(xy.numpy(), np.moveaxis(yx.numpy(), 0, 2), rtol=1e-12)
    assert not yy.numpy().any()


ONE = [
    ("sin", lambda x: x.sin(), [np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v)]),
    ("x^4", lambda x: x**4, [lambda v: 4 * v**3, lambda v: 12 * v**2, lambda v: 24 * v]),
    ("1/x", lambda x: 1 / x, [lambda v: -(v**-2.0), lambda v: 2 * v**-3.0, lambda v: -6 * v**-4.0]),
]


@pytest.mark.parametrize(("name", "f", "slopes"), ONE, ids=[name for name, *_ in ONE])
def test_forward_mode_nests(name: str, f: Any, slopes: Any) -> None:
    def along(g: Any) -> Any:
        return lambda x: jvp(g, (x,), (tb.ones_like(x),))[1]

    x = matrix([0.7, 1.9])
    for order, expected in enumerate(slopes):
        g = f
        for _ in range(order + 1):
            g = along(g)
        np.testing.assert_allclose(g(x).numpy(), expected(x.numpy()), rtol=1e-12)
