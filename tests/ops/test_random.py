"""Random tensors: the stream, its distributions, and that it is one on every device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tensorbus as tb


def words(seed: int, n: int, offset: int = 0) -> np.ndarray:
    """The stream's definition: Philox4x64-10 with key (seed, 0), from a block on."""
    # NumPy advances the counter before the first block.
    start = (offset - 1) % 2**256
    counter = [(start >> (64 * i)) & (2**64 - 1) for i in range(4)]
    return np.random.Philox(key=[seed, 0], counter=counter).random_raw(n)


def test_uniforms_are_the_streams_bits(device: str) -> None:
    tb.manual_seed(7)
    single = tb.rand(5, device=device).cpu().numpy()
    halves = words(7, 3).view(np.uint32)  # low half first on little-endian machines
    np.testing.assert_array_equal(single, (halves[:5] & 0xFFFFFF) * np.float32(2.0**-24))
    double = tb.rand(3, dtype=tb.float64, device=device).cpu().numpy()
    # The first draw took 3 words: one block of 4 is spent.
    np.testing.assert_array_equal(double, (words(7, 3, offset=1) >> 11) * 2.0**-53)


@pytest.mark.parametrize(
    "draw",
    [
        lambda d: tb.rand(1001, device=d),
        lambda d: tb.randint(-5, 1000, (77,), device=d),
        lambda d: tb.randperm(100, device=d),
        lambda d: tb.empty(33, device=d).uniform_(-2, 3),
        lambda d: tb.empty(40, dtype=tb.int32, device=d).random_(0, 9),
        lambda d: tb.bernoulli(tb.full((50,), 0.3, device=d)),
        lambda d: tb.nn.functional.dropout(tb.ones(60, device=d), 0.4),
    ],
    ids=["rand", "randint", "randperm", "uniform_", "random_", "bernoulli", "dropout"],
)
def test_integers_and_uniforms_are_equal_to_the_bit(draw: Any, device: str) -> None:
    tb.manual_seed(3)
    there = draw(device).cpu()
    after = tb.rand(2)
    tb.manual_seed(3)
    here = draw("cpu")
    assert (there == here).all()
    assert (after == tb.rand(2)).all(), "draws on another device spend the same of the stream"


def test_normals_are_equal_to_rounding(device: str) -> None:
    tb.manual_seed(1)
    there = tb.randn(1000, device=device).cpu().numpy()
    tb.manual_seed(1)
    np.testing.assert_allclose(there, tb.randn(1000).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: tb.rand(5_000), stats.uniform()),
        (lambda: tb.randn(5_000), stats.norm()),
        (lambda: tb.randn(5_001, dtype=tb.float64), stats.norm()),
        (lambda: tb.empty(5_000).normal_(2, 3), stats.norm(2, 3)),
        (lambda: tb.empty(5_000).uniform_(-1, 4), stats.uniform(-1, 5)),
        (lambda: tb.empty(5_000).exponential_(2.0), stats.expon(scale=0.5)),
        (lambda: tb.normal(tb.full((5_000,), 1.0), 2.0), stats.norm(1, 2)),
    ],
    ids=["rand", "randn", "randn64", "normal_", "uniform_", "exponential_", "normal"],
)
def test_distributions(draw: Any, distribution: Any) -> None:
    # p-values of a right sampler are uniform themselves: over 40 seeds that is a sharper test than
    # one seed's p-value, and no seed has to be chosen.
    pvalues = []
    for seed in range(40):
        tb.manual_seed(seed)
        sample = draw().double().numpy()
        pvalues.append(stats.kstest(sample, distribution.cdf).pvalue)
        successive = np.corrcoef(sample[:-1], sample[1:])[0, 1]
        assert abs(successive) < 5 / math.sqrt(len(sample))
    assert stats.kstest(pvalues, stats.uniform().cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", [tb.float16, tb.bfloat16, tb.float32])
def test_exponentials_are_never_zero(dtype: Any, device: str) -> None:
    tb.manual_seed(211)  # its uniforms of float32 have a 0 at index 43704
    drawn = tb.empty(1 << 16, dtype=dtype, device=device).exponential_()
    assert drawn.min().item() == 2.0**-24 and drawn.log().isfinite().all().item()


def test_integers_cover_their_range_evenly() -> None:
    tb.manual_seed(0)
    counts = np.bincount(tb.randint(0, 10, (5_000,)).numpy(), minlength=10)
    assert stats.chisquare(counts).pvalue > 0.01
    low = tb.randint(-3, -1, (100,)).numpy()
    assert set(low) == {-3, -2}


def test_randperm_is_a_permutation() -> None:
    for n in (0, 1, 2, 1000):
        assert sorted(tb.randperm(n).tolist()) == list(range(n))


def test_half_precision_never_gives_one() -> None:
    tb.manual_seed(0)
    sample = tb.rand(100_000, dtype=tb.float16).numpy()
    assert sample.max() < 1 and sample.min() >= 0


def test_multinomial() -> None:
    tb.manual_seed(5)
    weights = tb.tensor([0.0, 1.0, 3.0, 0.0, 4.0])
    drawn = weights.multinomial(8000, replacement=True).numpy()
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == counts[3] == 0
    assert stats.chisquare(counts[[1, 2, 4]], 8000 * np.array([1, 3, 4]) / 8).pvalue > 0.01
    several = tb.stack([weights, weights]).multinomial(3)
    assert [sorted(row) for row in several.tolist()] == [[1, 2, 4]] * 2
    with pytest.raises(RuntimeError, match="without replacement"):
        weights.multinomial(6)
    with pytest.raises(RuntimeError, match="probability tensor contains"):
        tb.tensor([-1.0, 2.0]).multinomial(1)


def test_state_is_24_bytes_and_goes_on_where_it_was() -> None:
    tb.manual_seed(9)
    tb.rand(10)
    state = tb.get_rng_state()
    assert state.dtype is tb.uint8 and state.numel() == 24
    first = tb.randn(5)
    tb.set_rng_state(state)
    assert (first == tb.randn(5)).all()
    with pytest.raises(RuntimeError, match="uint8 tensor of 24 bytes"):
        tb.set_rng_state(tb.zeros(3, dtype=tb.uint8))


def test_generators_are_streams_of_their_own() -> None:
    tb.manual_seed(0)
    expected = tb.rand(4)
    tb.manual_seed(0)
    own = tb.Generator().manual_seed(0)
    assert (tb.rand(4, generator=own) == expected).all()
    assert own.initial_seed() == 0
    assert (tb.rand(4) == expected).all(), "the default stream was not touched"
    assert own.seed() != own.seed()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tb.randint(3, 3, (2,)), "expects 'from' to be less than 'to'"),
        (lambda: tb.empty(2).uniform_(3, 1), r"\[from, to\) range"),
        (lambda: tb.empty(2).normal_(0, -1), "expects std >= 0.0"),
        (lambda: tb.bernoulli(tb.tensor([1.5])), "p_in >= 0"),
        (lambda: tb.ones(2, requires_grad=True).normal_(), "a leaf Variable that requires grad"),
    ],
)
def test_bad_arguments(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_out_of_range(seed: int) -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        tb.manual_seed(seed)


def test_dropout_with_certainty_gives_zeros() -> None:
    x = tb.full((5,), math.inf)
    dropped = tb.nn.functional.dropout(tb.ones(5), 1.0)
    assert dropped.tolist() == [0.0] * 5
    assert tb.nn.functional.dropout(x, 0.5, training=False) is x
