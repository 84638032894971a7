"""Every derivative rule on complex numbers against finite differences, order 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.autograd.test_matrix_rules import FACTORED, SPECTRAL, factored
from tests.autograd.test_rules import SAMPLES, Draw, each

import tensorbus as tb
from tensorbus._base.dtypes import COMPLEX
from tensorbus.op_engine.cores import core
from tensorbus.rows.registry import DOMAINS, ROWS


def _complex(values: Any, rng: np.random.Generator) -> np.ndarray:
    """Complex numbers of all four quadrants, no two of which are close, nor close to an axis."""
    imag = rng.uniform(0.3, 0.8, np.shape(values)) * rng.choice([-1, 1], np.shape(values))
    return np.asarray(values) * rng.choice([-1, 1], np.shape(values)) + 1j * imag


def _made(sample: tuple[Any, ...], size: float = 1.0) -> tuple[list[Any], Callable[..., list[Any]]]:
    """The leaves of a sample, complex and *size* times as large, and what replaces them."""
    rng = np.random.default_rng(5)
    leaves = []

    def make(s: Any) -> Any:
        if isinstance(s, Draw):
            leaf = s.make(rng)
            if not leaf.is_complex():
                leaf = tb.tensor(size * _complex(leaf.tolist(), rng), requires_grad=True)
            leaves.append(leaf)
        elif isinstance(s, tb.Tensor) and s.is_floating_point():
            s = tb.tensor(_complex(s.tolist(), rng))
        return s

    fixed = each(sample, make)

    def operands(given: Any) -> list[Any]:
        rest = iter(given)
        return each(fixed, lambda s: next(rest) if isinstance(s, Draw) else s)

    return leaves, operands


def _host(x: Any) -> np.ndarray:
    return np.array(x.detach().tolist())


def _inner(a: Any, b: Any) -> float:
    """The real inner product of lists of arrays: what a gradient in PyTorch's convention means."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


def _like(x: Any, rng: np.random.Generator) -> np.ndarray:
    values = rng.uniform(-1, 1, tuple(x.shape))
    return values + 1j * rng.uniform(-1, 1, values.shape) if x.is_complex() else values


def _slope(f: Callable[..., list[Any]], at: list[Any], way: list[Any], seeds: list[Any]) -> float:
    """The derivative of ``inner(seeds, f)`` along a way, by a central difference of order 4."""
    step = 1e-3

    def value(t: float) -> float:
        moved = [
            tb.tensor(_host(x) + t * step * w, dtype=x.dtype, requires_grad=True)
            for x, w in zip(at, way, strict=True)
        ]
        return _inner(seeds, [_host(y) for y in f(*moved)])

    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step)


def check(f: Callable[..., Any], leaves: list[Any]) -> None:
    """Both orders of the gradient of *f*, of one result or several, along a random way."""
    rng = np.random.default_rng(11)

    def results(*x: Any) -> list[Any]:
        made = f(*x)
        return [y for y in made if y.requires_grad] if isinstance(made, tuple) else [made]

    first = results(*leaves)
    seeds = [_like(out, rng) for out in first]
    way = [_like(x, rng) for x in leaves]
    given = [tb.tensor(s, dtype=out.dtype) for s, out in zip(seeds, first, strict=True)]
    found = tb.autograd.grad(first, leaves, given, allow_unused=True, materialize_grads=True)
    assert all(
        g.dtype is x.dtype and g.shape == x.shape for g, x in zip(found, leaves, strict=True)
    )
    expected = _slope(results, leaves, way, seeds)
    got = _inner([_host(g) for g in found], way)
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-7), "order 1"

    def gradients(*at: Any) -> list[Any]:
        x, g = at[: len(leaves)], at[len(leaves) :]
        made = tb.autograd.grad(
            results(*x), x, g, create_graph=True, allow_unused=True, materialize_grads=True
        )
        return list(made)

    at = [*leaves, *(g.requires_grad_() for g in given)]
    weights = [_like(x, rng) for x in leaves]
    way = [*way, *(_like(out, rng) for out in first)]
    made = gradients(*at)
    pairs = [(m, tb.tensor(w)) for m, w in zip(made, weights, strict=True) if m.requires_grad]
    second = tb.autograd.grad(
        [m for m, _ in pairs], at, [w for _, w in pairs], allow_unused=True, materialize_grads=True
    )
    expected = _slope(gradients, at, way, weights)
    got = _inner([_host(g) for g in second], way)
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-7), "order 2"


REFUSED = {
    "amax", "amin", "avg_pool2d", "avg_pool2d_backward", "bce", "bce_backward", "bce_logits",
    "clamp_tensors", "div_floor", "elu", "largest_size",
    "leaky_relu", "log_sigmoid", "log_softmax", "max_of_all", "max_pool2d", "min_of_all",
    "relu_backward", "smooth_l1", "softmax", "softplus", "threshold",
}  # fmt: skip
"""Rows of a domain with complex numbers whose parts, such as comparisons, do not take them."""

SMALL = {"lstm_layer", "gru_layer", "rnn_layer"}
"""Rows that are tried on small numbers: the tangent of larger ones has poles."""

CASES = [
    (name, n)
    for name, samples in SAMPLES.items()
    if DOMAINS[ROWS[name].domain][1] == COMPLEX
    for n in range(len(samples))
]


COMPLEX_FACTORED = {name for name, *_ in FACTORED} - {"log_determinant"}


@pytest.mark.parametrize(
    ("name", "shapes", "others"), [case for case in FACTORED if case[0] in COMPLEX_FACTORED]
)
def test_rule_of_factored(name: str, shapes: Any, others: Any) -> None:
    rng = np.random.default_rng(5)
    leaves = [
        tb.tensor(_complex(rng.uniform(-0.8, 0.8, shape), rng), requires_grad=True)
        for shape in shapes
    ]
    check(factored(name, *others), leaves)


def test_every_complex_row_with_a_rule_is_here() -> None:
    taking = {
        name
        for name, row in ROWS.items()
        if any(rule.__name__ != "refuse" for rule in row.rules.values())
        and DOMAINS[row.domain][1] == COMPLEX
        and "test" not in name
    }
    # The suite differentiates functions of the spectral ones on complex numbers, in L3.
    assert taking == {name for name, _ in CASES} | COMPLEX_FACTORED | {*SPECTRAL}


def test_a_rule_that_is_not_flagged_is_caught() -> None:
    class Unconjugated(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x = tb.tensor([1 + 2j, 0.5 - 1j], dtype=tb.complex128, requires_grad=True)
    with pytest.raises(AssertionError, match="order 1"):
        check(Unconjugated.apply, [x])
    with pytest.raises(RuntimeError, match="imaginary part of complex outputs only, Jacobian mism"):
        tb.autograd.gradcheck(Unconjugated.apply, (x,))


@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_rule(name: str, n: int) -> None:
    leaves, operands = _made(SAMPLES[name][n], 0.3 if name in SMALL else 1.0)
    if name in REFUSED or (name, n) == ("rnn_layer", 1):  # with relu
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexDouble'"):
            core(name)(*operands(leaves))
        return
    check(lambda *given: core(name)(*operands(given)), leaves)
