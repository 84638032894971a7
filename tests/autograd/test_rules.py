"""Every derivative rule against finite differences, order 1 and 2, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorbus as tb
from tensorbus.nn.functional.resampling_tables import tables
from tensorbus.op_engine.cores import core
from tensorbus.rows.registry import ROWS

REAL = "real"
POSITIVE = "positive"
UNIT = "unit"
ABOVE_ONE = "above one"
FRACTION = "between 0 and 1"
COMPLEX = "complex"

_RANGES = {POSITIVE: (0.3, 2.0), UNIT: (-0.8, 0.8), ABOVE_ONE: (1.2, 3.0), FRACTION: (0.1, 0.9)}


class Draw:
    """A differentiable operand: its shape and where its values lie."""

    def __init__(self, *shape: int, of: str = REAL):
        self.shape = shape
        self.of = of

    def make(self, rng: np.random.Generator) -> Any:
        if self.of in (REAL, COMPLEX):
            # Away from 0 and from each other: no kink or tie within the finite differences' step.
            n = int(np.prod(self.shape))
            values = (rng.permutation(n) - n / 2 + 0.37) / max(n, 4) * 3
            values = values.reshape(self.shape)
            if self.of == COMPLEX:
                values = values + 1j * rng.uniform(0.3, 0.8, self.shape)
                return tb.tensor(values, requires_grad=True)
        else:
            values = rng.uniform(*_RANGES[self.of], size=self.shape)
        return tb.tensor(values, dtype=tb.float64, requires_grad=True)


def ints(*values: Any) -> Any:
    return tb.tensor(values)


def truths(*values: Any) -> Any:
    return tb.tensor(values, dtype=tb.bool)


_CONV = ((2, 1), (1, 0), (1, 2), 1)
_GROUPED = ((1, 1), (1, 1), (1, 1), 2)
_VOLUMES = ((2, 1, 1), (1, 0, 1), (2, 2, 1), 1)
_POOL = ((2, 3), (2, 1), (1, 1), (1, 1), False)
_AVERAGE = ((2, 3), (2, 2), (1, 1), True, False, None)
_PLACES = [[[[0, 5], [7, 2]]]]


def _table(mode: str) -> tuple[Any, ...]:
    *pairs, empty = tables(mode, 5, 3, False, None, False, True)
    made = (None if part is None else tb.tensor(part) for pair in pairs for part in pair)
    return (*made, empty)


def _unary(of: str = REAL, *parameters: Any) -> list[tuple[Any, ...]]:
    return [(Draw(3, 4, of=of), *parameters)]


_PAIR = (Draw(2, 3), Draw(2, 3))
_BROADCAST = (Draw(2, 3), Draw(3))

# Operands of the prepared form of each op; the operands that are no Draw are parameters.
SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    **{name: [_PAIR, _BROADCAST, (Draw(2, 1), 2.0)] for name in ["add", "sub", "mul"]},
    "div": [(Draw(2, 3), Draw(3, of=POSITIVE)), (Draw(2, 1), 2.0)],
    "fmod": [(Draw(2, 3), Draw(3, of=POSITIVE)), (Draw(2, 3), 0.7)],
    "remainder": [(Draw(2, 3), Draw(3, of=POSITIVE)), (Draw(2, 3), 0.7)],
    "pow": [
        (Draw(2, 3, of=POSITIVE), Draw(3)),
        (Draw(2, 3), 2),
        (Draw(2, 3), 3.0),
        (Draw(2, 3, of=POSITIVE), -0.5),
        (Draw(2, 3), 0),
    ],
    **{name: [(Draw(2, 3), Draw(2, 3, of=POSITIVE))] for name in ["atan2", "hypot", "logaddexp"]},
    **{name: [(Draw(2, 3), Draw(2, 3, of=POSITIVE)), (Draw(2, 3), 0.1)]
       for name in ["maximum", "minimum"]},
    **{name: _unary() for name in [
        "neg", "abs", "sign", "floor", "ceil", "round", "trunc", "frac", "square", "exp", "exp2",
        "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid", "relu",
        "erf", "gelu", "gelu_tanh", "log_sigmoid", "silu",
    ]},
    **{name: _unary(POSITIVE) for name in [
        "sqrt", "rsqrt", "reciprocal", "log", "log2", "log10", "log1p",
    ]},
    **{name: _unary(UNIT) for name in ["asin", "acos", "atanh"]},
    "acosh": _unary(ABOVE_ONE),
    "relu_backward": [(Draw(2, 3), tb.tensor([[0.5, -1.0, 2.0]] * 2, dtype=tb.float64))],
    "softmax": [(Draw(2, 3, 2), 1), (Draw(4), 0)],
    "log_softmax": [(Draw(2, 3, 2), 1), (Draw(4), 0)],
    **{name: _unary(UNIT) for name in ["asin_slope", "atanh_slope"]},
    "acosh_slope": _unary(ABOVE_ONE),
    "sigmoid_backward": [(Draw(2, 3), Draw(2, 3))],
    "clamp_min": _unary(REAL, -0.3),
    **{name: [(Draw(2, 3), Draw(2, 3, of=POSITIVE)), _BROADCAST]
       for name in ["clamp_min_tensor", "clamp_max_tensor"]},
    "clamp_tensors": [(Draw(2, 3), Draw(2, 3, of=UNIT), Draw(2, 3, of=POSITIVE))],
    "hardtanh": _unary(REAL, -0.3, 0.3),
    **{name: _unary() for name in ["hardsigmoid", "hardswish"]},
    **{name: _unary(REAL, 0.3) for name in ["hardshrink", "softshrink"]},
    "prelu_kernel": [_PAIR, _BROADCAST],
    "clamp_max": _unary(REAL, 0.3),
    "clamp": _unary(REAL, -0.3, 0.3),
    "leaky_relu": _unary(REAL, 0.1),
    "elu": _unary(REAL, 1.3, 1.1, 0.7),
    "softplus": [*_unary(REAL, 1.5, 20.0), *_unary(REAL, 2.0, 0.4)],
    "threshold": _unary(REAL, 0.2, -1.0),
    "dropout_scale": [(Draw(2, 2), truths([True, False], [False, True]), 2.0)],
    "view": [(Draw(2, 6), (3, 4))],
    "permute": [(Draw(2, 3, 4), (2, 0, 1))],
    "transpose": [(Draw(2, 3, 4), 0, -1)],
    "expand": [(Draw(2, 1, 3), (4, 2, 5, 3))],
    "slice": [(Draw(5, 3), 0, 1, 5, 2)],
    "leading": [(Draw(5, 3), slice(-4, None, 2))],
    "select": [(Draw(2, 3), 1, 2)],
    "unsqueeze": [(Draw(2, 3), 1)],
    "strided": [(Draw(3, 4), (2, 3), (3, 1), 1), (Draw(6), (4, 3), (1, 1), 0)],
    "restrided": [
        (Draw(3, 4), (2, 3), (3, 1), 1, (0, (4, 1))),
        (Draw(5), (2, 2), (2, 1), 1, (0, (1,))),
    ],
    "diagonal": [(Draw(3, 4), 1, 0, 1), (Draw(2, 3, 3), -1, 2, 1)],
    "windows": [(Draw(7, 2), 0, 3, 2), (Draw(2, 6), 1, 2, 3)],
    "alias": [(Draw(3),)],
    **{name: [(Draw(2, 3, of=COMPLEX),), (Draw(of=COMPLEX),)]
       for name in ["view_as_real", "conj", "abs_complex", "sgn_complex"]},
    "view_as_complex": [(Draw(3, 2),), (Draw(2),)],
    "clone": [(Draw(2, 3),)],
    "sum_to": [(Draw(4, 2, 3), (2, 1))],
    "slice_backward": [(Draw(2, 3), (5, 3), 0, 1, 5, 3)],
    "select_backward": [(Draw(3), (3, 2), 1, 0)],
    "strided_backward": [(Draw(4, 3), (6,), (1, 1), 0)],
    "diagonal_backward": [(Draw(2), (3, 4), -1, 0, 1)],
    "windows_backward": [(Draw(4, 2), (5,), 0, 2, 1), (Draw(2, 2), (5,), 0, 2, 3)],
    "convolution": [
        (Draw(2, 2, 5, 6), Draw(3, 2, 3, 2), Draw(3), *_CONV),
        (Draw(1, 4, 4, 4), Draw(2, 2, 3, 3), None, *_GROUPED),
        (Draw(1, 2, 3, 3, 2), Draw(2, 2, 2, 1, 2), Draw(2), *_VOLUMES),
    ],
    "conv2d": [(Draw(2, 2, 5, 6), Draw(3, 2, 3, 2), *_CONV)],
    "conv2d_input": [(Draw(1, 3, 3, 4), Draw(3, 2, 3, 2), (5, 6), *_CONV)],
    "conv2d_weight": [(Draw(1, 3, 3, 4), Draw(1, 2, 5, 6), (3, 2), *_CONV)],
    "conv3d": [(Draw(1, 2, 3, 3, 2), Draw(2, 2, 2, 1, 2), *_VOLUMES)],
    "conv3d_input": [(Draw(1, 2, 2, 3, 3), Draw(2, 2, 2, 1, 2), (3, 3, 2), *_VOLUMES)],
    "conv3d_weight": [(Draw(1, 2, 2, 3, 3), Draw(1, 2, 3, 3, 2), (2, 1, 2), *_VOLUMES)],
    "index_clear": [(Draw(4, 2), 0, ints(1, 3), False)],
    "where": [(truths([True, False, True]), Draw(2, 3), Draw(3))],
    "matmul": [(Draw(2, 3), Draw(3, 4)), (Draw(2, 2, 3), Draw(2, 3, 2))],
    "take": [(Draw(3, 4), 1, ints(0, 2, 2), False), (Draw(3, 4), 0, ints(-1, 2), True)],
    "gather": [(Draw(3, 4), 1, ints([0, 1], [3, 3], [2, 0]))],
    "index_add_zeros": [(Draw(3, 2), (4, 2), 0, ints(0, 3, 3), False)],
    "scatter_add_zeros": [(Draw(2, 2), (3, 4), 1, ints([0, 1], [3, 3]))],
    "cat": [(Draw(2, 3), Draw(2, 1), 1)],
    "concatenate": [([Draw(2, 3), Draw(2, 1), Draw(2, 2)], 1), ([Draw(3)], 0)],
    "flip": [(Draw(2, 3), (0, 1))],
    "linear": [(Draw(2, 3), Draw(4, 3), Draw(4)), (Draw(2, 2, 3), Draw(4, 3), None)],
    "nll_rows": [(Draw(3, 4), ints(0, 3, 1), truths(True, True, False))],
    "nll_rows_backward": [(Draw(3), ints(0, 3, 1), truths(True, True, False), (3, 4))],
    "im2col": [(Draw(1, 2, 4, 5), (3, 2), (1, 2), (1, 0), (2, 1))],
    "col2im": [(Draw(1, 12, 4), (4, 3), (3, 2), (1, 1), (0, 0), (1, 1))],
    "layer_norm": [
        (Draw(2, 4), Draw(4), Draw(4), (1,), 1e-3), (Draw(2, 2, 3), Draw(2, 3), None, (1, 2), 1e-3),
    ],
    "rms_norm": [
        (Draw(2, 4), Draw(4), (1,), 1e-3), (Draw(2, 2, 3), None, (1, 2), 1e-3),
    ],
    "batch_norm": [
        (Draw(3, 2, 2), Draw(2), Draw(2), (0, 2), 1e-3), (Draw(4, 2), None, None, (0,), 1e-3),
    ],
    # Steps of two sequences, then of one; of even sizes in both directions; with a projection.
    "lstm_layer": [
        (Draw(3, 2), Draw(1, 2, 1), Draw(1, 2, 1), [Draw(4, 2), Draw(4, 1), Draw(4), Draw(4)],
         (2, 1)),
        (Draw(4, 2), Draw(2, 2, 1), Draw(2, 2, 1), [Draw(4, 2), Draw(4, 1)] * 2, (2, 2)),
        *((Draw(n, 1), Draw(2, 2, 1), Draw(2, 2, 2), [Draw(8, 1), Draw(8, 1), Draw(1, 2)] * 2,
           (2, n - 2)) for n in (3, 4))],
    "gru_layer": [
        (Draw(5, 2), Draw(2, 2, 1), [Draw(3, 2), Draw(3, 1), Draw(3), Draw(3)] * 2, (2, 2, 1)),
        (Draw(4, 3), Draw(1, 2, 2), [Draw(6, 3), Draw(6, 2)], (2, 2)),
    ],
    "rnn_layer": [(Draw(5, 3), Draw(2, 2, 2), [Draw(2, 3), Draw(2, 2), Draw(2), Draw(2)] * 2, relu,
                   (2, 2, 1)) for relu in (False, True)],
    "batch_norm_inference": [
        (Draw(3, 2, 2), tb.tensor([0.5, -1.0], dtype=tb.float64),
         tb.tensor([2.0, 0.25], dtype=tb.float64), Draw(2), Draw(2), 1e-3),
    ],
    "bce_logits": [(Draw(2, 3), Draw(2, 3, of=POSITIVE))],
    "bce": [(Draw(2, 3, of=FRACTION), Draw(2, 3, of=POSITIVE))],
    "bce_backward": [(Draw(2, 3), Draw(2, 3, of=FRACTION), Draw(2, 3, of=POSITIVE))],
    "smooth_l1": [(Draw(2, 3), Draw(2, 3, of=POSITIVE), beta) for beta in (0.7, 0.0)],
    "pad": [(Draw(2, 3), ((1, 0), (0, 2)), 0.5)],
    "unpad": [(Draw(3, 5), (2, 3), ((1, 0), (0, 2)))],
    "max_pool2d": [(Draw(1, 2, 4, 5), *_POOL)],
    "max_pool2d_backward": [(Draw(1, 1, 2, 2), tb.tensor(_PLACES), (1, 1, 3, 4))],
    "picked": [(Draw(1, 1, 3, 4), tb.tensor(_PLACES))],
    "unpooled": [(Draw(2, 3), ints((4, 0, 2), (1, 3, 0)), 5)],
    "resampled": [(Draw(5, 2), 0, *_table(mode)) for mode in ("linear", "nearest", "cubic")],
    "avg_pool2d": [(Draw(1, 2, 4, 5), *_AVERAGE)],
    "avg_pool2d_backward": [(Draw(1, 2, 3, 3), (4, 5), *_AVERAGE)],
    "sum": [(Draw(2, 3, 2), (0, 2))],
    "mean": [(Draw(2, 3, 2), (0, 2))],
    "prod": [(Draw(2, 3, 2), (0, 2)), (Draw(4), (0,))],
    "amax": [(Draw(2, 3, 2), (0, 2))],
    "amin": [(Draw(2, 3, 2), (0, 2))],
    "max_of_all": [(Draw(2, 3), (0, 1))],
    "min_of_all": [(Draw(2, 3), (0, 1))],
    "largest_size": [(Draw(2, 3), (1,))],
    "picked_along": [(Draw(3, 4), 1, ints(0, 2, 2))],
    "cumsum": [(Draw(2, 4), 1)],
    "cumprod": [(Draw(2, 4), 1)],
    "var": [(Draw(2, 4), (1,), 1), (Draw(2, 3, 2), (0, 2), 0)],
    "std": [(Draw(2, 4), (1,), 1), (Draw(2, 3, 2), (0, 2), 0)],
    "logsumexp": [(Draw(2, 3, 2), (0, 2))],
    "vector_norm": [(Draw(2, 3), order, (1,)) for order in (2.0, 1.0, 3.0)],
    **{name: _unary() for name in [
        "erfc", "digamma", "sinc", "deg2rad", "rad2deg", "angle", "lgamma",
    ]},
    **{name: _unary(UNIT) for name in ["erfcx", "erfinv", "log_ndtr", "ndtr"]},
    **{name: _unary(FRACTION) for name in ["entr", "logit", "ndtri"]},
    **{name: _unary() for name in ["i0", "i0e", "i1", "i1e"]},
    **{name: [(tb.tensor([[1.5], [4.25]], dtype=tb.float64), Draw(2, 3, of=POSITIVE))]
       for name in ["igamma", "igammac", "zeta"]},
    "polygamma": _unary(POSITIVE, 1) + _unary(POSITIVE, 3),
    "logaddexp2": [_PAIR, _BROADCAST],
    **{name: [(Draw(2, 3), Draw(3, of=POSITIVE))] for name in ["xlog1py", "xlogy"]},
    "copysign": [(Draw(2, 3), Draw(2, 3, of=POSITIVE)), (Draw(2, 3), -2.0)],
    **{name: [(Draw(2, 3), Draw(2, 3, of=POSITIVE))] for name in ["fmax", "fmin"]},
    **{name: [(Draw(2, 3), Draw(2, 3, of=POSITIVE))]
       for name in ["div_floor", "div_trunc", "nextafter"]},
    "frexp": [(Draw(2, 3),)],
    "nan_to_num": _unary(REAL, 0.0, 1.0, -1.0),
    "tril": [(Draw(3, 4), 1), (Draw(2, 3, 3), -1)],
    "triu": [(Draw(3, 4), 1), (Draw(2, 3, 3), -1)],
    "exchanged": [(Draw(3, 2), ints(2, 1, 2), back) for back in (False, True)],
    "linalg_lu": [(Draw(*shape, of=UNIT),) for shape in ((2, 3, 3), (3, 2), (2, 3))],
    "fft_c2c": [(Draw(2, 3, of=COMPLEX), (0, 1), True, 0.5)],
    **{name: [(Draw(3, n), dims, inverse, 0.5) for n, dims, inverse in
              ((3, (0, 1), True), (4, (1, 0), False), (2, (1,), True))]
       for name in ("fft_real", "fft_real_half")},
    "fft_r2c": [(Draw(2, n), 1, 0.5) for n in (1, 2, 5, 6)],
    **{name: [(Draw(n // 2 + 1, 2, of=COMPLEX), 0, n, 0.5) for n in (1, 2, 5, 6)]
       for name in ("fft_c2r", "fft_c2r_forward")},
    "linalg_qr": [(Draw(*shape), False) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))],
    "linalg_solve_triangular": [
        (Draw(3, 3, of=POSITIVE), Draw(3, 2), upper, unit)
        for upper, unit in ((True, False), (False, True))
    ],
    "logcumsumexp": [(Draw(2, 5), 1), (Draw(1, 3), 0)],
    **{f"scatter_{op}": [(Draw(3, 4), 1, ints([0, 1], [3, 2]), Draw(2, 2, of=POSITIVE))]
       for op in ["set", "add", "mul", "amax", "amin"]},
}  # fmt: skip


CASES = [(name, n) for name, samples in SAMPLES.items() for n in range(len(samples))]


def each(sample: Sequence[Any], f: Callable[[Any], Any]) -> list[Any]:
    """A sample with ``f(x)`` for each argument *x*, and for each element of one that is a list."""
    return [[f(x) for x in a] if isinstance(a, list) else f(a) for a in sample]


def _is_draw(given: Any) -> bool:
    return any(isinstance(x, Draw) for x in (given if isinstance(given, list) else [given]))


def _arranged(
    sample: tuple[Any, ...],
) -> tuple[list[Any], Callable[..., Any], Callable[[Any], Any]]:
    rng = np.random.default_rng(7)
    leaves: list[Any] = []
    each(sample, lambda s: leaves.append(s.make(rng)) if isinstance(s, Draw) else None)

    def operands(given: tuple[Any, ...]) -> list[Any]:
        rest = iter(given)
        return each(sample, lambda s: next(rest) if isinstance(s, Draw) else s)

    return leaves, operands, lambda row: lambda *given: core(row)(*operands(given))


@pytest.mark.parametrize(("name", "n"), CASES, ids=[f"{name}-{n}" for name, n in CASES])
def test_rule(name: str, n: int) -> None:
    leaves, _, function = _arranged(SAMPLES[name][n])
    assert tb.autograd.gradcheck(function(name), leaves)
    assert tb.autograd.gradgradcheck(function(name), leaves)


F = tb.nn.functional


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rule_of_cross_entropy(weighted: bool, smoothing: float, reduction: str) -> None:
    rng = np.random.default_rng(4)
    w = Draw(4, of=POSITIVE).make(rng).detach() if weighted else None
    classes = ints(0, -100, 3, 1)

    def loss(x: Any) -> Any:
        return F.cross_entropy(x, classes, w, reduction=reduction, label_smoothing=smoothing)

    x = Draw(4, 4).make(rng)
    assert tb.autograd.gradcheck(loss, (x,))
    assert tb.autograd.gradgradcheck(loss, (x,))
    slope = tb.ones_like(x)
    _, along = tb.func.jvp(loss, (x.detach(),), (slope,))
    _, back = tb.autograd.functional.jvp(loss, x.detach(), slope)
    tb.testing.assert_close(along, back)


SIGMOIDS: dict[str, Callable[[Any], Any]] = {
    "logaddexp": lambda x: tb.logaddexp(x, tb.zeros_like(x)),
    "logaddexp2": lambda x: tb.logaddexp2(x / np.log(2), tb.zeros_like(x)) * np.log(2),
    "softplus": lambda x: F.softplus(x, threshold=1e9),
    "logsigmoid": lambda x: -F.logsigmoid(x),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, tb.zeros_like(x), reduction="none"),
}


@pytest.mark.parametrize("name", SIGMOIDS)
def test_the_derivative_of_a_sigmoid_keeps_its_digits_at_both_ends(name: str) -> None:
    at = np.array([-400, -40, -7, 0, 7, 40, 400.0])
    for dtype in (tb.float64, tb.complex128) if name == "logaddexp" else (tb.float64,):
        x = tb.tensor(at, dtype=dtype, requires_grad=True)
        (slope,) = tb.autograd.grad(SIGMOIDS[name](x).real.sum(), x, create_graph=True)
        (found,) = tb.autograd.grad(slope.real.sum(), x)
        expected = np.exp(-np.abs(at)) / (1 + np.exp(-np.abs(at))) ** 2
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-13)  # 400's own rounding


def test_the_gradient_of_logcumsumexp_has_derivatives_where_it_is_0() -> None:
    values = np.array([1.0, 2.0, 3.0])
    x, w = tb.tensor(values, requires_grad=True), tb.tensor([0.0, 1.0, 0.0], requires_grad=True)
    w = w.to(x.dtype)
    (slope,) = tb.autograd.grad(x.logcumsumexp(0), x, w, create_graph=True)
    found = [tb.autograd.grad(s, w, retain_graph=True)[0].tolist() for s in slope]
    sums = np.log(np.cumsum(np.exp(values)))
    np.testing.assert_allclose(found, np.triu(np.exp(values[:, None] - sums)), rtol=1e-13)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_rule_of_valued(name: str) -> None:
    x = Draw(3, 3).make(np.random.default_rng(5))
    assert tb.autograd.gradcheck(getattr(tb, name), (x,))


def test_every_row_with_a_rule_has_a_sample() -> None:
    from tests.autograd.test_bag_rules import APART
    from tests.autograd.test_matrix_rules import FACTORED, SPECTRAL

    with_rules = {
        name
        for name, row in ROWS.items()
        if any(rule.__name__ != "refuse" for rule in row.rules.values()) and "test" not in name
    }
    apart = {"cross_entropy", "valued", *APART, *(name for name, *_ in FACTORED), *SPECTRAL}
    assert with_rules - set(SAMPLES) - apart == set()
    assert set(SAMPLES) <= with_rules, "samples of ops that are gone"


def test_samples_reach_every_rule() -> None:
    for name, samples in SAMPLES.items():
        row = ROWS[name]
        reached = {
            argument
            for sample in samples
            for argument, given in zip(row.arguments, sample, strict=True)
            if _is_draw(given)
        }
        missing = {x for x, rule in row.rules.items() if rule.__name__ != "refuse"} - reached
        assert missing <= {"y"} if name == "relu_backward" else not missing, name


def test_a_wrong_rule_is_caught() -> None:
    x = Draw(3, of=POSITIVE).make(np.random.default_rng(0))

    class Wrong(tb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        tb.autograd.gradcheck(Wrong.apply, (x,))
