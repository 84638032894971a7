"""Level 5: random streams. Bits, uniforms and integers are those of the seed; normals to rounding.

Each draw is held against the same draw made of NumPy's own Philox words, so all devices that pass
draw the same numbers. Every case leaves the default generator as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.nn.functional
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, layouts
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch, same_bytes
from tensorbus_conformance.interleaving import in_a_kernel, together
from tensorbus_conformance.random_reference import Stream
from tensorbus_conformance.trial import Trial

FAMILY = "random"
SEEDS = (0, 1234, 2**63 + 5, -7)
SIZES = (1, 2, 5, 8, 33, 1000)
Check = Callable[[Trial], None]


def keeping(check: Callable[..., None], *args: Any) -> Check:
    """The check; the default generator goes on afterwards where it was."""

    @functools.wraps(check)
    def run(t: Trial) -> None:
        state = tensorbus.get_rng_state()
        try:
            check(*args, t)
        finally:
            tensorbus.set_rng_state(state)

    return run


def _case(op: str, d: Dtype, variant: str, check: Callable[..., None], *args: Any) -> Case:
    return Case(f"L5/{op}/{d.name}/{variant}", FAMILY, keeping(check, *args), (d,))


def spent(stream: Stream, what: str) -> None:
    """Check that the default generator stands where a stream does."""
    state = tensorbus.get_rng_state().numpy().view("<u8").tolist()
    if state != [stream.seed, 0, stream.offset]:
        raise Mismatch(
            f"{what}: the state is {state}, expected {[stream.seed, 0, stream.offset]} "
            "(seed, 0, blocks of four words spent)"
        )


def streams(n: int) -> Iterator[tuple[int, Stream]]:
    """Seeds, each with the stream that it starts."""
    for seed in SEEDS[:n]:
        tensorbus.manual_seed(seed)
        yield seed, Stream(seed)


# -- draws beside each other ------------------------------------------------------------------
def _is_next(bench: Bench, op: str, got: Any, stream: Stream, where: str) -> None:
    """Check what ``rand`` or ``randn`` drew against the next numbers of a stream."""
    n, d = got.numel(), formats.FLOAT32
    if op == "rand":
        bench.same(got, stream.uniform(n, d), d, where=where)
    else:
        want, size = stream.normal(n, d)
        bench.same(got, want, d, _NORMAL_ULP, scale=size, where=where)


def _held(op: str, t: Trial) -> None:
    """Draws that are kept until all have been made, few numbers and many, are those of a seed."""
    bench, function = Bench(t), getattr(tensorbus, op)
    for n in (7, 1_500):
        tensorbus.manual_seed(11)
        stream = Stream(11)
        made = [function(n, device=bench.device) for _ in range(7)]
        for k, got in enumerate(made):
            _is_next(bench, op, got, stream, f"draw {k} of {n} numbers: ")


def _in_turn(op: str, t: Trial) -> None:
    """Two threads draw from generators of their own, and change at each line of a kernel."""
    bench, function = Bench(t), getattr(tensorbus, op)
    function(1, device=bench.device)  # what is made once for an op is made
    drawn: list[list[Any]] = [[], []]

    def draw(who: int) -> None:
        generator = tensorbus.Generator().manual_seed(who)
        for _ in range(3):
            drawn[who].append(function(9, generator=generator, device=bench.device))

    together([functools.partial(draw, who) for who in range(2)], in_a_kernel)
    for seed, made in enumerate(drawn):
        stream = Stream(seed)
        for got in made:
            _is_next(bench, op, got, stream, f"thread {seed}: ")


# -- draws from the bits ---------------------------------------------------------------------
def _uniforms(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for seed, stream in streams(4):
        for n in SIZES:
            got = tensorbus.rand(n, dtype=d, device=bench.device)
            bench.same(got, _uniform_of(stream, n, d), d, where=f"seed {seed}, {n} numbers: ")
            spent(stream, f"rand({n})")


def _uniform_of(stream: Stream, n: int, d: Dtype) -> np.ndarray:
    if d not in formats.COMPLEX:
        return stream.uniform(n, d)
    pairs = stream.uniform(2 * n, d.to_real()).reshape(n, 2)
    return pairs[:, 0] + 1j * pairs[:, 1]


_NORMAL_ULP = 16.0
"""The angle is rounded at up to 2 pi, its cosine is a function of the device's own."""


def _normals(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    narrow = d in (formats.FLOAT16, formats.BFLOAT16)
    for seed, stream in streams(2):
        for n in SIZES:
            got = tensorbus.randn(n, dtype=d, device=bench.device)
            want, size = _normal_of(stream, n, d)
            where = f"seed {seed}, {n} numbers: "
            bench.same(got, want, d, 1.0 if narrow else _NORMAL_ULP, scale=size, where=where)
            spent(stream, f"randn({n})")


def _normal_of(stream: Stream, n: int, d: Dtype) -> tuple[np.ndarray, np.ndarray]:
    if d not in formats.COMPLEX:
        return stream.normal(n, d)
    values, size = (x.reshape(n, 2) for x in stream.normal(2 * n, d.to_real()))
    return (values[:, 0] + 1j * values[:, 1]) * np.sqrt(0.5), size.max(1)


def _ranges(d: Dtype) -> list[tuple[int, int]]:
    if d is formats.BOOL:
        return [(0, 2)]
    if d in formats.FLOATS:
        return [(0, 2), (-100, 101)]
    low, high = formats.limits(d)
    ranges = [(0, 2), (0, 10), (low, high), (low, low + 3), (high - 5, high)]
    if d is formats.INT64:
        ranges += [(-5, 2**62 + 11), (0, 2**63 - 1), (-(2**62), 2**62), (-(2**62), 2**62 + 1)]
    return ranges


def _integers(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for _, stream in streams(2):
        for low, high in _ranges(d):
            got = tensorbus.randint(low, high, (3, 11), dtype=d, device=bench.device)
            want = np.array(stream.integers(33, low, high)).reshape(3, 11)
            bench.same(got, want.astype(formats.value_dtype(d)), d, where=f"[{low}, {high}): ")
            spent(stream, "randint")


def _permutation(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for _, stream in streams(2):
        for n in (0, 1, 2, 7, 100):
            got = tensorbus.randperm(n, dtype=d, device=bench.device)
            want = stream.permutation(n) if n else np.zeros(0, np.int64)
            bench.same(got, want.astype(formats.value_dtype(d)), d, where=f"{n} numbers: ")
            if sorted(bench.read(got).tolist()) != list(range(n)):
                raise Mismatch(f"randperm({n}) is no permutation of 0..{n - 1}")
            spent(stream, "randperm")


def _like(name: str, t: Trial) -> None:
    """The shape, dtype and device of another tensor; and of the arguments where they are given."""
    bench, d = Bench(t), formats.FLOAT32
    like = tensorbus.zeros((3, 4), dtype=d, device=bench.device)
    tensorbus.manual_seed(3)
    stream = Stream(3)
    if name == "rand_like":
        bench.same(tensorbus.rand_like(like), stream.uniform(12, d).reshape(3, 4), d)
    elif name == "randn_like":
        want, size = (x.reshape(3, 4) for x in stream.normal(12, d))
        bench.same(tensorbus.randn_like(like), want, d, _NORMAL_ULP, scale=size)
    else:
        want = np.array(stream.integers(12, -4, 9), np.int32).reshape(3, 4)
        got = tensorbus.randint_like(like, -4, 9, dtype=formats.INT32)
        bench.same(got, want, formats.INT32)
    spent(stream, name)


# -- in place --------------------------------------------------------------------------------
_EXACT_RANGES = ((0.0, 1.0), (0.0, 3.0), (-1.0, 1.0), (1.0, 2.0), (5.0, 5.0))


def _uniform_in_place(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for _, stream in streams(2):
        for low, high in _EXACT_RANGES:
            x = tensorbus.empty(200, dtype=d, device=bench.device)
            if x.uniform_(low, high) is not x:
                raise Mismatch("uniform_ returned another tensor than its own")
            want = low + (high - low) * stream.uniform(200, d)
            # A sum that would round up to the end, which is not in the range, starts again.
            want = np.where((formats.round_to(want, d) >= high) & (low < high), low, want)
            bench.same(x, want, d, 2.0, scale=np.full(200, max(abs(low), abs(high))))
            found = bench.read(x)
            if not ((found >= low) & ((found < high) | (low == high))).all():
                raise Mismatch(f"uniform_({low}, {high}) gave a number outside of [from, to)")
            spent(stream, "uniform_")


def _normal_in_place(d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    for _, stream in streams(2):
        for mean, std in ((0.0, 1.0), (2.5, 0.5), (-1.0, 0.0)):
            x = tensorbus.empty(51, dtype=d, device=bench.device).normal_(mean, std)
            want, size = stream.normal(51, d)
            narrow = d in (formats.FLOAT16, formats.BFLOAT16)
            bound = 3.0 if narrow else _NORMAL_ULP
            bench.same(x, mean + std * want, d, bound, scale=abs(mean) + std * size)
            spent(stream, "normal_")


def _exponential_in_place(d: Dtype, t: Trial) -> None:
    """By uniforms of float32 at the least, of which half precision would round many to 0."""
    bench = Bench(t)
    drawn = formats.FLOAT32 if d in (formats.FLOAT16, formats.BFLOAT16) else d
    for _, stream in streams(2):
        for rate in (1.0, 0.25):
            x = tensorbus.empty(51, dtype=d, device=bench.device).exponential_(rate)
            bench.same(x, -np.log1p(-stream.uniform(51, drawn)) / rate, d, 4.0)
            spent(stream, "exponential_")


def _random_in_place(d: Dtype, t: Trial) -> None:
    """Below a bound, in a range, and all that the dtype holds."""
    bench = Bench(t)
    digits = {formats.FLOAT16: 11, formats.BFLOAT16: 8, formats.FLOAT32: 24, formats.FLOAT64: 53}
    if d in digits:
        whole = (0, 2 ** digits[d] + 1)
    else:
        whole = (0, 2) if d is formats.BOOL else (0, formats.limits(d)[1] + 1)
    tensorbus.manual_seed(11)
    stream = Stream(11)
    for args, (low, high) in (((), whole), ((2,), (0, 2)), ((0, 2), (0, 2))):
        x = tensorbus.empty(40, dtype=d, device=bench.device).random_(*args)
        want = np.array(stream.integers(40, low, high)).astype(formats.value_dtype(d))
        bench.same(x, want, d, where=f"random_{args}: ")
        spent(stream, "random_")


def _laid_out(layout: str, t: Trial) -> None:
    """The elements in the order of the tensor's dimensions, and nothing beside them."""
    bench, d = Bench(t), formats.FLOAT32
    placed = bench.place(np.zeros((5, 7)), d, layout)
    tensorbus.manual_seed(5)
    placed.tensor.uniform_()
    bench.same(placed.tensor, Stream(5).uniform(35, d).reshape(5, 7), d)
    now = bench.read(placed.flat).copy()
    x = placed.tensor
    layouts.window(now, (5, 7), tuple(x.stride()), x.storage_offset())[...] = 0.0
    same_bytes(now, placed.buffer, "bytes outside the tensor's elements were written")


# -- choices ---------------------------------------------------------------------------------
def _bernoulli(d: Dtype, t: Trial) -> None:
    """1 where the uniform of the same dtype lies below the probability."""
    bench = Bench(t)
    p = formats.round_to(np.linspace(0.0, 1.0, 40), d)
    for _, stream in streams(2):
        chances = bench.place(p, d).tensor
        want = (stream.uniform(40, d) < p).astype(np.float64)
        bench.same(tensorbus.bernoulli(chances), want, d)
        want = (stream.uniform(40, d) < 0.3).astype(np.float64)
        bench.same(tensorbus.bernoulli(chances, 0.3), want, d)
        want = (stream.uniform(40, d) < p).astype(np.float64)
        bench.same(tensorbus.empty(40, dtype=d, device=bench.device).bernoulli_(chances), want, d)
        spent(stream, "bernoulli")


def _bernoulli_whole(d: Dtype, t: Trial) -> None:
    """Into integers and truth values, by the uniforms of float32."""
    bench = Bench(t)
    tensorbus.manual_seed(2)
    x = tensorbus.empty(64, dtype=d, device=bench.device).bernoulli_(0.25)
    want = Stream(2).uniform(64, formats.FLOAT32) < 0.25
    bench.same(x, want.astype(formats.value_dtype(d)), d)


def _dropout(d: Dtype, t: Trial) -> None:
    """Kept where the uniform is not below p, and scaled; untouched in evaluation."""
    bench = Bench(t)
    source = formats.FLOAT64 if d is formats.FLOAT64 else formats.FLOAT32
    dropout = tensorbus.nn.functional.dropout
    for _, stream in streams(2):
        x = bench.place(np.arange(1.0, 41.0), d).tensor
        for p in (0.5, 0.25):
            kept = stream.uniform(40, source) >= p
            bench.same(dropout(x, p), np.where(kept, np.arange(1.0, 41.0) / (1 - p), 0.0), d, 1.0)
            spent(stream, "dropout")
        stream.uniform(40, source)
        bench.same(dropout(x, 1.0), np.zeros(40), d)
        bench.same(dropout(x, 0.5, training=False), np.arange(1.0, 41.0), d)
        spent(stream, "dropout in evaluation")


def cases() -> Iterator[Case]:
    for d in (*formats.FLOATS, *formats.COMPLEX):
        yield _case("rand", d, "bits", _uniforms, d)
        yield _case("randn", d, "values", _normals, d)
    for d in formats.REAL:
        yield _case("randint", d, "bits", _integers, d)
        yield _case("random_", d, "bits", _random_in_place, d)
        if d is not formats.BOOL:
            yield _case("randperm", d, "order", _permutation, d)
        if d not in formats.FLOATS:
            yield _case("bernoulli_", d, "bits", _bernoulli_whole, d)
    for d in formats.FLOATS:
        yield _case("uniform_", d, "bits", _uniform_in_place, d)
        yield _case("normal_", d, "values", _normal_in_place, d)
        yield _case("exponential_", d, "values", _exponential_in_place, d)
        yield _case("bernoulli", d, "bits", _bernoulli, d)
        yield _case("nn.functional.dropout", d, "bits", _dropout, d)
    for layout in ("transposed", "strided", "offset"):
        yield _case("uniform_", formats.FLOAT32, layout, _laid_out, layout)
    for op in ("rand", "randn"):
        yield _case(op, formats.FLOAT32, "held", _held, op)
        yield _case(op, formats.FLOAT32, "in-turn", _in_turn, op)
    for name in ("rand_like", "randn_like", "randint_like"):
        yield _case(name, formats.FLOAT32, "bits", _like, name)
