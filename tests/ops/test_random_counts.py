"""``poisson`` and ``binomial``: their distributions, edges, batches, and one stream everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tensorbus as tb
from tensorbus.ops.random import counts

RATES = [1e-3, 0.5, 3.0, 9.5, 12.0, 60.0, 1e3, 1e6]
TRIALS = [(1, 0.3), (10, 0.5), (30, 0.9), (20, 0.5), (400, 0.03), (10**6, 1e-6), (10**6, 0.3)]
N = 4_000


def chance(sample: Any, distribution: Any) -> float:
    """How often a right sample is further off than this one: Pearson's test, of 5 or more each."""
    ends = np.unique(distribution.ppf(np.linspace(0.02, 0.98, 25)))
    parts = np.diff([0.0, *distribution.cdf(ends), 1.0]) * sample.size
    found = np.histogram(sample, [-np.inf, *(ends + 0.5), np.inf])[0]
    assert not found[parts == 0].any()
    found, parts = found[parts > 0], parts[parts > 0]
    rare = parts < 5
    if rare.any():
        parts, found = (np.append(x[~rare], x[rare].sum()) for x in (parts, found))
    return float(stats.chi2.sf(((found - parts) ** 2 / parts).sum(), parts.size - 1))


def chances(draw: Any, distribution: Any) -> list[float]:
    found = []
    for seed in range(6):
        tb.manual_seed(seed)
        found.append(chance(draw().double().numpy(), distribution))
    return found


def test_events_have_poissons_distribution() -> None:
    found = []
    for rate in RATES:
        for dtype in (tb.float32, tb.float64):
            rates = tb.full((N,), rate, dtype=dtype)
            found += chances(lambda r=rates: tb.poisson(r), stats.poisson(rates[0].item()))
    assert stats.kstest(found, stats.uniform().cdf).pvalue > 1e-3 and min(found) > 1e-5


def test_successes_have_the_binomial_distribution() -> None:
    found = []
    for n, p in TRIALS:
        count, prob = tb.full((N,), float(n), dtype=tb.float64), tb.tensor(p, dtype=tb.float64)
        found += chances(lambda c=count, p=prob: tb.binomial(c, p), stats.binom(n, p))
    assert stats.kstest(found, stats.uniform().cdf).pvalue > 1e-3 and min(found) > 1e-5


def heights(curve: Any, log_chance: Any, *operands: float) -> np.ndarray:
    """The probabilities beside the curve that lies above them, for all that it may give."""
    u = np.linspace(-0.4999, 0.4999, 2001)
    x = [tb.full((u.size,), v, dtype=tb.float64) for v in operands]
    spread, tails, middle, scale, most = (t.numpy() for t in curve(*x))
    margin = 0.5 - abs(u)
    k = np.floor((2 * tails / margin + spread) * u + middle)
    inside = (k >= 0) & (k <= most)
    found = log_chance(tb.tensor(np.where(inside, k, 0.0)), *x).exp().numpy()
    return np.where(inside, found, 0.0) * (tails / margin**2 + spread) / scale


def test_the_curves_lie_above_the_probabilities() -> None:
    def of_events(k: Any, rate: Any) -> Any:
        return tb.tensor(stats.poisson.logpmf(k.numpy(), rate.numpy()))

    for rate in (*np.linspace(10, 30, 81), 60.0, 300.0, 1e4, 1e6):
        assert 0.8 < heights(counts._curve_of_events, of_events, rate).max() <= 1
    for n in (20, 23, 50, 333, 10**4, 10**7):
        for p in {10 / n, *(min(0.5, m / n) for m in (10.7, 14.0, 40.0, 1000.0))}:
            high = heights(counts._curve_of_successes, counts._log_chance_of_successes, n, p)
            assert 0.8 < high.max() <= 1


def test_probabilities_are_scipys() -> None:
    k = np.array([0.0, 1, 2, 15, 16, 17, 100, 995, 1000, 1500, 10**6 + 77])
    for rate in (10.0, 1000.0, 1e6):
        found = -counts._deviance(tb.tensor(k), tb.tensor(rate, dtype=tb.float64))
        found = (found - counts._log_factorial(tb.tensor(k))).numpy()
        np.testing.assert_allclose(found, stats.poisson.logpmf(k, rate), rtol=1e-9, atol=1e-9)


EDGES = [
    ((-1.0, 0.5), 0.0), ((0.0, math.nan), 0.0), ((10.0, -0.1), 0.0), ((10.0, 0.0), 0.0),
    ((10.0, 1.0), 10.0), ((10.0, 1.5), 10.0), ((10.0, math.nan), math.nan), ((0.9, 0.5), 0.0),
    ((math.nan, 0.5), math.nan), ((math.inf, 0.5), math.inf), ((1e30, 1.0), 1e30),
    ((5.0, 1e-300), 0.0),
]  # fmt: skip


def test_edges() -> None:
    for (count, prob), expected in EDGES:
        given = [tb.tensor([x], dtype=tb.float64) for x in (count, prob)]
        np.testing.assert_equal(tb.binomial(*given).tolist(), [expected], f"{count, prob}")
    drawn = tb.poisson(tb.tensor([0.0, math.inf, 3.0, 1e38, 1e-30]))
    assert drawn[[0, 1, 4]].tolist() == [0.0, math.inf, 0.0]
    assert abs(drawn[3].item() / 1e38 - 1) < 1e-6
    assert tb.poisson(tb.ones(0, 3)).shape == (0, 3)
    assert tb.poisson(tb.ones(2, 3, device="meta")).shape == (2, 3)
    for dtype in (tb.float16, tb.bfloat16):
        assert tb.poisson(tb.full((9,), 5.0).to(dtype)).dtype is dtype
    assert tb.binomial(tb.full((2, 1), 4.0), tb.full((3,), 0.5)).shape == (2, 3)
    assert tb.poisson(tb.ones(4, 2).t()).stride() == (4, 1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda d: tb.poisson(tb.linspace(0, 40, 501, device=d)),
        lambda d: tb.binomial(tb.full((400,), 30.0, device=d), tb.linspace(0, 1, 400, device=d)),
    ],
    ids=["poisson", "binomial"],
)
def test_counts_are_equal_on_every_device(draw: Any, device: str) -> None:
    tb.manual_seed(3)
    there, after = draw(device).cpu(), tb.rand(2)
    tb.manual_seed(3)
    assert (there == draw("cpu")).all() and (after == tb.rand(2)).all()


def test_a_long_draw_has_the_counts_of_its_stream() -> None:
    """Beyond one piece, and with a generator of its own; nothing hangs on what was drawn."""
    g = tb.Generator().manual_seed(5)
    x = tb.full((70_000,), 20.0)
    drawn = tb.poisson(x, generator=g)
    assert g.get_state().numpy().view("<u8")[2] == 2 * 70_000 // 4
    again = tb.poisson(x, g.manual_seed(5))
    assert (drawn == again).all() and drawn[: 2**16].std() > 4
    assert not (drawn[:4000] == drawn[2**16 : 2**16 + 4000]).all()


@pytest.mark.parametrize("name", ["poisson", "bernoulli"])
def test_the_gradient_is_zero(name: str) -> None:
    x = tb.full((3,), 0.5, requires_grad=True)
    y = getattr(tb, name)(x)
    assert type(y.grad_fn).__name__ == f"{name.title()}Backward0"
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    with tb.autograd.forward_ad.dual_level():
        dual = tb.autograd.forward_ad.make_dual(x.detach(), tb.ones(3))
        drawn = tb.autograd.forward_ad.unpack_dual(getattr(tb, name)(dual))
    assert drawn.tangent is None or not drawn.tangent.any()


def test_batches() -> None:
    rates = tb.tensor([[0.0, 5.0], [30.0, 0.0], [1e4, 2.0]])
    drawn = tb.vmap(tb.poisson, randomness="different")(rates)
    assert drawn.shape == (3, 2) and drawn[0, 0] == drawn[1, 1] == 0 and drawn[2, 0] > 9000
    one = tb.vmap(lambda x: tb.poisson(rates), randomness="same")(rates)
    assert one.shape == (3, 3, 2) and (one == one[0]).all()
    each = tb.vmap(lambda x: tb.poisson(rates), randomness="different")(rates)
    assert each.shape == (3, 3, 2) and not (each == each[0]).all()
    nested = tb.vmap(tb.vmap(tb.binomial, (0, None), randomness="different"), (0, None),
                     randomness="different")(rates, tb.tensor(0.5))  # fmt: skip
    assert nested.shape == (3, 2) and (nested <= rates).all()
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor"):
        tb.vmap(tb.poisson, randomness="same")(rates)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        tb.vmap(tb.poisson)(rates)


ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: tb.poisson(tb.tensor([1.0, -1.0])), RuntimeError,
     "invalid Poisson rate, expected rate to be non-negative"),
    (lambda: tb.poisson(tb.tensor([math.nan])), RuntimeError,
     "invalid Poisson rate, expected rate to be non-negative"),
    (lambda: tb.poisson(tb.ones(2, dtype=tb.int64)), NotImplementedError,
     "\"poisson_cpu\" not implemented for 'Long'"),
    (lambda: tb.poisson(3.0), TypeError,
     r"poisson\(\): argument 'input' \(position 1\) must be Tensor, not float"),
    (lambda: tb.binomial(tb.tensor([2]), tb.ones(1)), ValueError,
     "binomial only supports floating-point dtypes for count, got: Long"),
    (lambda: tb.binomial(tb.ones(1), tb.ones(1, dtype=tb.float64)), RuntimeError,
     "Found dtype Double but expected Float"),
    (lambda: tb.binomial(tb.ones(1).half(), tb.ones(1).half()), NotImplementedError,
     "\"binomial_cpu\" not implemented for 'Half'"),
    (lambda: tb.binomial(tb.ones(2), 0.5), TypeError,
     r"binomial\(\): argument 'prob' \(position 2\) must be Tensor, not float"),
    (lambda: tb.binomial(tb.ones(2), tb.ones(3)), RuntimeError, "must match"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
