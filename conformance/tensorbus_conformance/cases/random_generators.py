"""Level 5: seeds, states and generators; the distributions of long draws."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

import tensorbus
import tensorbus.nn.functional
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.random_streams import FAMILY, keeping, spent
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.random_reference import Stream, distance
from tensorbus_conformance.trial import Trial

_N = 20_000
_FAR = 1.95
"""Kolmogorov's distance of 1 sample in 1,000; the samples are the same on every run."""


def cases() -> Iterator[Case]:
    plain: dict[str, Callable[[Trial], None]] = {
        "manual_seed/reproduces": _reproduces,
        "manual_seed/range": _seed_range,
        "seed/entropy": _entropy,
        "get_rng_state/resumes": _resumes,
        "get_rng_state/threads": _threads,
        "set_rng_state/refused": _refused_state,
        "Generator/own-stream": _own_stream,
        "Generator/state": _generator_state,
        "Generator/every-function": _every_function,
        "multinomial/frequencies": _multinomial,
        "poisson/frequencies": _poisson,
        "binomial/frequencies": _binomial,
        "multinomial/without-replacement": _without_replacement,
        "multinomial/shapes": _multinomial_shapes,
        "normal/parameters": _normal_parameters,
        "nn.functional.dropout/frequencies": _dropout_frequencies,
        "randint/frequencies": _frequencies,
        "geometric_/frequencies": _geometric,
    }
    for name, check in plain.items():
        op, _, variant = name.partition("/")
        yield Case(f"L5/{op}/float32/{variant}", FAMILY, keeping(check), (formats.FLOAT32,))
    for name, (draw, cdf) in DISTRIBUTIONS.items():
        for d in (formats.FLOAT32, formats.FLOAT64):
            check = keeping(_distribution, draw, cdf, d)
            yield Case(f"L5/{name}/{d.name}/distribution", FAMILY, check, (d,))


# -- seeds and states ------------------------------------------------------------------------
def _reproduces(t: Trial) -> None:
    bench = Bench(t)

    def draw() -> list[np.ndarray]:
        made = (
            tensorbus.rand(7, device=bench.device),
            tensorbus.randn(4, device=bench.device),
            tensorbus.randint(0, 99, (5,), device=bench.device),
            tensorbus.randperm(6, device=bench.device),
        )
        return [bench.read(x) for x in made]

    found = []
    for seed in (42, 43, 42):
        generator = tensorbus.manual_seed(seed)
        if generator.initial_seed() != seed or tensorbus.initial_seed() != seed:
            raise Mismatch(f"after manual_seed({seed}), initial_seed() says otherwise")
        found.append(draw())
    if any(a.tobytes() != b.tobytes() for a, b in zip(found[0], found[2], strict=True)):
        raise Mismatch("the same seed gave other numbers the second time")
    if all(a.tobytes() == b.tobytes() for a, b in zip(found[0], found[1], strict=True)):
        raise Mismatch("another seed gave the same numbers")


def _seed_range(t: Trial) -> None:
    """Seeds from -2**63 to 2**64 - 1; negative ones count from 2**64 down."""
    bench = Bench(t)
    for seed in (0, 2**64 - 1, -1, -(2**63), 2**32):
        tensorbus.manual_seed(seed)
        stream = Stream(seed)
        want = stream.uniform(9, formats.FLOAT32)
        bench.same(tensorbus.rand(9, device=bench.device), want, formats.FLOAT32)
        spent(stream, f"manual_seed({seed})")
    for seed in (2**64, -(2**63) - 1):
        expect_raises(functools.partial(tensorbus.manual_seed, seed), ValueError)


def _entropy(t: Trial) -> None:
    seeds = {tensorbus.seed() for _ in range(4)}
    if len(seeds) != 4:
        raise Mismatch(f"four calls of seed() gave {len(seeds)} different seeds")
    last = tensorbus.seed()
    if tensorbus.initial_seed() != last:
        raise Mismatch("initial_seed() is not the seed that seed() returned")
    bench = Bench(t)
    want = Stream(last).uniform(5, formats.FLOAT32)
    bench.same(tensorbus.rand(5, device=bench.device), want, formats.FLOAT32)


def _resumes(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(9)
    tensorbus.rand(10, device=bench.device)
    state = tensorbus.get_rng_state()
    if state.dtype is not formats.UINT8 or tuple(state.shape) != (24,):
        raise Mismatch(f"the state is {state.dtype.name}{list(state.shape)}, expected uint8[24]")
    first = bench.read(tensorbus.randn(5, device=bench.device))
    kept = state.clone()
    tensorbus.rand(1000, device=bench.device)
    tensorbus.set_rng_state(state)
    again = bench.read(tensorbus.randn(5, device=bench.device))
    if first.tobytes() != again.tobytes():
        raise Mismatch("the stream did not go on from the state it was set to")
    if not tensorbus.equal(state, kept):
        raise Mismatch("a state changed after it was taken")


def _threads(t: Trial) -> None:
    """Draws of several threads share no block, and spend what draws of one would."""
    bench = Bench(t)
    tensorbus.manual_seed(21)
    found: list[tuple[int, ...]] = []

    def draw() -> None:
        for _ in range(10):
            made = tensorbus.randint(0, 2**62, (4,), device=bench.device)
            found.append(tuple(bench.read(made).tolist()))

    workers = [threading.Thread(target=draw) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stream = Stream(21)
    want = [tuple(stream.integers(4, 0, 2**62)) for _ in range(40)]
    if sorted(found) != sorted(want):
        raise Mismatch("four threads together drew other numbers than one would have")
    spent(stream, "draws of four threads")


def _refused_state(_: Trial) -> None:
    for wrong, error, text in (
        (tensorbus.zeros(3, dtype=formats.UINT8), RuntimeError, "uint8 tensor of 24 bytes"),
        (tensorbus.zeros(24), TypeError, "RNG state must be a torch.ByteTensor"),
    ):
        raised = expect_raises(functools.partial(tensorbus.set_rng_state, wrong), error)
        if text not in str(raised):
            raise Mismatch(f"the message does not say what a state is: {raised}")


def _own_stream(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(4)
    own = tensorbus.Generator(bench.device).manual_seed(5)
    drawn = tensorbus.rand(6, generator=own, device=bench.device)
    bench.same(drawn, Stream(5).uniform(6, formats.FLOAT32), formats.FLOAT32)
    default = Stream(4)
    spent(default, "a draw from another generator")
    tensorbus.manual_seed(77)
    if own.initial_seed() != 5:
        raise Mismatch("manual_seed changed a generator that is not the default one")


def _generator_state(t: Trial) -> None:
    bench = Bench(t)
    own = tensorbus.Generator().manual_seed(2**40)
    stream = Stream(2**40)
    tensorbus.rand(5, generator=own, device=bench.device)
    stream.words(3)
    state = own.get_state().numpy().view("<u8").tolist()
    if state != [stream.seed, 0, stream.offset]:
        raise Mismatch(f"the state is {state}, expected {[stream.seed, 0, stream.offset]}")
    other = tensorbus.Generator()
    other.set_state(own.get_state())
    pair = [bench.read(tensorbus.rand(5, generator=g, device=bench.device)) for g in (own, other)]
    if pair[0].tobytes() != pair[1].tobytes():
        raise Mismatch("a generator set to another's state drew other numbers")
    if str(tensorbus.Generator(bench.device).device) != str(tensorbus.device(bench.device)):
        raise Mismatch("a generator forgot the device that it was made for")


def _every_function(t: Trial) -> None:
    """All that draw take ``generator=``, and then leave the default one alone."""
    where = Bench(t).device
    tensorbus.manual_seed(6)
    like = tensorbus.full((4,), 0.5, device=where)
    draws: dict[str, Callable[[Any], Any]] = {
        "rand": lambda g: tensorbus.rand(4, generator=g, device=where),
        "randn": lambda g: tensorbus.randn(4, generator=g, device=where),
        "randint": lambda g: tensorbus.randint(9, (4,), generator=g, device=where),
        "randperm": lambda g: tensorbus.randperm(4, generator=g, device=where),
        "bernoulli": lambda g: tensorbus.bernoulli(like, generator=g),
        "normal": lambda g: tensorbus.normal(like, like, generator=g),
        "poisson": lambda g: tensorbus.poisson(like, generator=g),
        "binomial": lambda g: tensorbus.binomial(like * 6, like, generator=g),
        "multinomial": lambda g: tensorbus.multinomial(like, 2, generator=g),
        "uniform_": lambda g: like.clone().uniform_(generator=g),
        "normal_": lambda g: like.clone().normal_(generator=g),
        "random_": lambda g: like.clone().random_(generator=g),
        "bernoulli_": lambda g: like.clone().bernoulli_(generator=g),
        "exponential_": lambda g: like.clone().exponential_(generator=g),
        "cauchy_": lambda g: like.clone().cauchy_(generator=g),
        "log_normal_": lambda g: like.clone().log_normal_(generator=g),
        "geometric_": lambda g: like.clone().geometric_(0.5, generator=g),
    }
    for name, draw in draws.items():
        own = tensorbus.Generator().manual_seed(1)
        draw(own)
        if own.get_state().numpy().view("<u8")[2] == 0:
            raise Mismatch(f"{name} spent nothing of the generator it was given")
        spent(Stream(6), f"{name} with a generator of its own")


# -- distributions ---------------------------------------------------------------------------
def _made(d: Any, device: str) -> Any:
    return tensorbus.empty(_N, dtype=d, device=device)


DISTRIBUTIONS: dict[str, tuple[Any, Any]] = {
    "rand": (lambda d, w: tensorbus.rand(_N, dtype=d, device=w), lambda x: x),
    "randn": (lambda d, w: tensorbus.randn(_N, dtype=d, device=w), special.ndtr),
    "uniform_": (lambda d, w: _made(d, w).uniform_(-1, 4), lambda x: (x + 1) / 5),
    "normal_": (lambda d, w: _made(d, w).normal_(2, 3), lambda x: special.ndtr((x - 2) / 3)),
    "exponential_": (lambda d, w: _made(d, w).exponential_(2.0), lambda x: -np.expm1(-2 * x)),
    "cauchy_": (
        lambda d, w: _made(d, w).cauchy_(1.0, 2.0),
        lambda x: 0.5 + np.arctan((x - 1) / 2) / np.pi,
    ),
    "log_normal_": (
        lambda d, w: _made(d, w).log_normal_(0.5, 0.75),
        lambda x: special.ndtr((np.log(x) - 0.5) / 0.75),
    ),
}


def _distribution(draw: Any, cdf: Any, d: Any, t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(17)
    sample = bench.read(draw(d, bench.device)).astype(np.float64)
    far = distance(sample, cdf(np.sort(sample)))
    if not far < _FAR:
        raise Mismatch(f"Kolmogorov's distance times sqrt(n) is {far:.3g}, allowed {_FAR}")
    successive = float(np.corrcoef(sample[:-1], sample[1:])[0, 1]) * math.sqrt(_N)
    if not abs(successive) < 4:
        raise Mismatch(f"successive numbers correlate: {successive:.3g} standard deviations")


def _chi_square(counts: np.ndarray, chances: np.ndarray, what: str) -> None:
    """Counts beside their chances; beyond the bound in 1 of 1,000 samples."""
    expected = counts.sum() * chances
    found = float(((counts - expected) ** 2 / expected).sum())
    if not special.chdtrc(counts.size - 1, found) > 1e-3:
        raise Mismatch(f"{what}: counts {counts.tolist()}, expected about {expected.tolist()}")


def _frequencies(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(0)
    drawn = bench.read(tensorbus.randint(-3, 7, (_N,), device=bench.device))
    _chi_square(np.bincount(drawn + 3, minlength=10), np.full(10, 0.1), "randint(-3, 7)")


def _geometric(t: Trial) -> None:
    """How often 1, 2, ... trials are needed, and more than 5; integers too."""
    bench = Bench(t)
    tensorbus.manual_seed(2)
    for d in (formats.FLOAT32, formats.INT64):
        drawn = bench.read(_made(d, bench.device).geometric_(0.375)).astype(np.int64)
        if drawn.min() < 1:
            raise Mismatch(f"geometric_ gave {drawn.min()}")
        counts = np.bincount(np.minimum(drawn, 6), minlength=7)[1:]
        chances = 0.375 * 0.625 ** np.arange(6)
        chances[-1] = 0.625**5
        _chi_square(counts, chances, "geometric_(0.375)")


def _poisson(t: Trial) -> None:
    """Few events and many, which are counted in two ways."""
    bench = Bench(t)
    tensorbus.manual_seed(9)
    for rate, first, last in ((2.5, 0, 8), (40.0, 25, 55)):
        rates = bench.place(np.full(8000, rate), formats.FLOAT32).tensor
        _counted(bench.read(tensorbus.poisson(rates)), special.pdtr, (rate,), first, last)
    spent(Stream(9, 2 * 8000 * 2 // 4), "poisson")


def _binomial(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(10)
    for n, p, first, last in ((6, 0.75, 1, 6), (100, 0.625, 50, 75)):
        given = [bench.place(np.full(8000, x), formats.FLOAT32).tensor for x in (float(n), p)]
        _counted(bench.read(tensorbus.binomial(*given)), special.bdtr, (n, p), first, last)
    spent(Stream(10, 2 * 8000 * 2 // 4), "binomial")


def _counted(drawn: np.ndarray, cdf: Any, args: tuple[Any, ...], first: int, last: int) -> None:
    """How often *first*, or less, and the next came, up to *last*, or more."""
    counts = np.bincount(np.clip(drawn, first, last).astype(np.int64) - first)
    below = np.array([cdf(k, *args) for k in range(first, last)])
    _chi_square(counts, np.diff([0.0, *below, 1.0]), f"counts for {args}")


def _multinomial(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(5)
    chances = np.array([0.0, 1.0, 3.0, 0.0, 4.0])
    weights = bench.place(chances, formats.FLOAT32).tensor
    drawn = bench.read(tensorbus.multinomial(weights, 8000, replacement=True))
    counts = np.bincount(drawn, minlength=5)
    if counts.size != 5 or counts[0] or counts[3]:
        raise Mismatch(f"an index of weight 0, or beyond the weights, was drawn: {counts.tolist()}")
    _chi_square(counts[[1, 2, 4]], chances[[1, 2, 4]] / 8, "multinomial")


def _without_replacement(t: Trial) -> None:
    """Each index once, those of weight 0 never, the first as often as its weight says."""
    bench = Bench(t)
    tensorbus.manual_seed(8)
    rows = np.tile([1.0, 0.0, 3.0, 4.0], (4000, 1))
    drawn = bench.read(tensorbus.multinomial(bench.place(rows, formats.FLOAT32).tensor, 3))
    if not (np.sort(drawn, axis=1) == [0, 2, 3]).all():
        raise Mismatch("a row has an index twice, or one of weight 0")
    counts = np.bincount(drawn[:, 0], minlength=4)
    _chi_square(counts[[0, 2, 3]], np.array([1, 3, 4]) / 8, "the first of multinomial's indices")


def _multinomial_shapes(t: Trial) -> None:
    bench = Bench(t)
    for shape, n, want in (((5,), 2, (2,)), ((3, 5), 4, (3, 4)), ((0, 3), 1, (0, 1))):
        weights = bench.place(np.ones(shape), formats.FLOAT32).tensor
        for replacement in (False, True):
            found = tensorbus.multinomial(weights, n, replacement)
            if tuple(found.shape) != want or found.dtype is not formats.INT64:
                raise Mismatch(
                    f"multinomial of {shape} gave {found.dtype.name}{list(found.shape)}, "
                    f"expected int64{list(want)}"
                )


def _normal_parameters(t: Trial) -> None:
    """Means and deviations as tensors or numbers, broadcast; the first tensor's dtype."""
    bench, d = Bench(t), formats.FLOAT32
    mean: Any = np.array([[0.5], [-2.0]])
    std: Any = np.array([1.0, 0.25, 3.0])
    given = [bench.place(x, d).tensor for x in (mean, std)]
    for args, m, s in (
        ((given[0], given[1]), mean, std),
        ((given[0], 2.0), mean, 2.0),
        ((1.5, given[1]), 1.5, std),
    ):
        tensorbus.manual_seed(12)
        shape = np.broadcast_shapes(np.shape(m), np.shape(s))
        want, size = (np.reshape(x, shape) for x in Stream(12).normal(math.prod(shape), d))
        got = tensorbus.normal(*args)
        bench.same(got, m + s * want, d, 16.0, scale=np.abs(m) + s * size)
    tensorbus.manual_seed(12)
    want, size = (np.reshape(x, (2, 3)) for x in Stream(12).normal(6, d))
    got = tensorbus.normal(1.0, 2.0, (2, 3), device=bench.device)
    bench.same(got, 1.0 + 2.0 * want, d, 16.0, scale=1.0 + 2.0 * size)


def _dropout_frequencies(t: Trial) -> None:
    bench = Bench(t)
    tensorbus.manual_seed(3)
    ones = tensorbus.ones(_N, device=bench.device)
    for p in (0.1, 0.5, 0.9):
        found = bench.read(tensorbus.nn.functional.dropout(ones, p))
        kept = np.count_nonzero(found)
        _chi_square(np.array([_N - kept, kept]), np.array([p, 1 - p]), f"dropout of {p}")
