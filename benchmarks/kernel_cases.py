"""Kernels at the sizes where they count: what ``benchmarks.kernels`` measures beside PyTorch.

Fixed before anything was measured. A case's work is the least that any implementation has to do:
the floating-point operations of a product, else the bytes that go through memory when each operand
is read once, each result written once, and with a backward pass what that reads and writes as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.harness import Case, Loop

Call = Callable[[], Any]
COPY, PRODUCT = "copy", "product"


class Operands:
    """A library, and tensors of it that are the same numbers in each library."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.nn = torch.nn.functional
        self._random = np.random.default_rng(0)

    def normal(self, *shape: int, wanted: bool = False) -> Any:
        """Standard normals, as float32; *wanted*: their gradient is."""
        made = self.torch.from_numpy(self._random.standard_normal(shape, np.float32))
        return made.requires_grad_() if wanted else made

    def below(self, n: int, *shape: int) -> Any:
        """Indices."""
        return self.torch.from_numpy(self._random.integers(0, n, shape))

    def both_ways(self, call: Call, *wanted: Any) -> Call:
        """*call* and its backward pass, which gives the gradients of what is *wanted*."""
        gradient = self.normal(*call().shape)

        def run() -> Any:
            for x in wanted:
                x.grad = None
            call().backward(gradient)
            return tuple(x.grad for x in wanted)

        return run


Build = Callable[..., Call]
"""``build(operands, *sizes)`` makes the tensors and says the call that is measured."""


@dataclass(frozen=True, kw_only=True)
class KernelCase(Case):
    """A case at its full size, its small size for tests, and what limits it."""

    small: Callable[[Any], Call]
    """``small(torch)`` gives the call at sizes that cost nothing."""
    bound: str
    """What the machine's limit is for it: the bandwidth of a copy, or the rate of products."""
    work: float
    """Bytes, or floating-point operations."""
    random: bool
    """Whether the libraries draw numbers of their own, so that values differ."""


def case(
    name: str,
    build: Build,
    sizes: tuple[int, ...],
    small: tuple[int, ...],
    *,
    floats: int = 0,
    flops: int = 0,
    random: bool = False,
) -> KernelCase:
    """A case with *floats* numbers of four bytes to move, or *flops* operations to do."""

    def make(torch: Any) -> Loop:
        call = build(Operands(torch), *sizes)

        def loop(n: int) -> object:
            for _ in repeat(None, n):
                result = call()
            return result

        return loop

    return KernelCase(
        name,
        None,
        make,
        small=lambda torch: build(Operands(torch), *small),
        bound=PRODUCT if flops else COPY,
        work=flops or 4 * floats,
        random=random,
    )


# -- products ----------------------------------------------------------------------------------
def matmul(o: Operands, m: int, k: int, n: int) -> Call:
    a, b = o.normal(m, k), o.normal(k, n)
    return lambda: a @ b


def bmm(o: Operands, batch: int, n: int) -> Call:
    a, b = o.normal(batch, n, n), o.normal(batch, n, n)
    return lambda: a @ b


def linear(o: Operands, rows: int, k: int, n: int) -> Call:
    x, w, b = (o.normal(*shape, wanted=True) for shape in ((rows, k), (n, k), (n,)))
    return o.both_ways(lambda: o.nn.linear(x, w, b), x, w, b)


def attention(o: Operands, batch: int, heads: int, length: int, width: int) -> Call:
    q, k, v = (o.normal(batch, heads, length, width) for _ in range(3))
    return lambda: (q @ k.transpose(-2, -1) * width**-0.5).softmax(-1) @ v


# -- pointwise ---------------------------------------------------------------------------------
def add(o: Operands, n: int) -> Call:
    a, b = o.normal(n), o.normal(n)
    return lambda: a + b


def where(o: Operands, n: int) -> Call:
    a, b = o.normal(n), o.normal(n)
    chosen = o.normal(n) > 0
    return lambda: o.torch.where(chosen, a, b)


def unary(name: str) -> Build:
    def build(o: Operands, n: int) -> Call:
        x, function = o.normal(n), getattr(o.torch, name)
        return lambda: function(x)

    return build


def gelu(approximate: str) -> Build:
    def build(o: Operands, n: int) -> Call:
        x = o.normal(n)
        return lambda: o.nn.gelu(x, approximate=approximate)

    return build


# -- along a dimension -------------------------------------------------------------------------
def total(o: Operands, n: int) -> Call:
    x = o.normal(n)
    return lambda: x.sum()


def along(name: str, dim: int) -> Build:
    """A method that takes a dimension, on a matrix."""

    def build(o: Operands, rows: int, width: int) -> Call:
        x = o.normal(rows, width)
        return lambda: getattr(x, name)(dim)

    return build


def softmax_both_ways(o: Operands, rows: int, width: int) -> Call:
    x = o.normal(rows, width, wanted=True)
    return o.both_ways(lambda: x.softmax(1), x)


def sort(o: Operands, n: int) -> Call:
    x = o.normal(n)
    return lambda: tuple(x.sort(stable=True))


def topk(o: Operands, rows: int, width: int, k: int) -> Call:
    x = o.normal(rows, width)
    return lambda: tuple(x.topk(k))


# -- normalisation and losses ------------------------------------------------------------------
def layer_norm(o: Operands, rows: int, width: int) -> Call:
    x, w, b = o.normal(rows, width), o.normal(width), o.normal(width)
    return lambda: o.nn.layer_norm(x, (width,), w, b)


def layer_norm_both_ways(o: Operands, rows: int, width: int) -> Call:
    x, w, b = (o.normal(*shape, wanted=True) for shape in ((rows, width), (width,), (width,)))
    return o.both_ways(lambda: o.nn.layer_norm(x, (width,), w, b), x, w, b)


def batch_norm_both_ways(o: Operands, n: int, channels: int, side: int) -> Call:
    x = o.normal(n, channels, side, side, wanted=True)
    w, b = o.normal(channels, wanted=True), o.normal(channels, wanted=True)
    mean, var = o.torch.zeros(channels), o.torch.ones(channels)
    return o.both_ways(lambda: o.nn.batch_norm(x, mean, var, w, b, training=True), x, w, b)


def cross_entropy_both_ways(o: Operands, rows: int, classes: int) -> Call:
    x, i = o.normal(rows, classes, wanted=True), o.below(classes, rows)
    return o.both_ways(lambda: o.nn.cross_entropy(x, i), x)


def mse_both_ways(o: Operands, n: int) -> Call:
    x, y = o.normal(n, wanted=True), o.normal(n)
    return o.both_ways(lambda: o.nn.mse_loss(x, y), x)


# -- convolutions and pools --------------------------------------------------------------------
def conv(padding: int, backward: bool = False) -> Build:
    def build(
        o: Operands, n: int, channels: int, filters: int, side: int, kernel: int, groups: int
    ) -> Call:
        x = o.normal(n, channels, side, side, wanted=backward)
        w = o.normal(filters, channels // groups, kernel, kernel, wanted=backward)

        def call() -> Any:
            return o.nn.conv2d(x, w, padding=padding, groups=groups)

        return o.both_ways(call, x, w) if backward else call

    return build


def max_pool_both_ways(o: Operands, n: int, channels: int, side: int) -> Call:
    x = o.normal(n, channels, side, side, wanted=True)
    return o.both_ways(lambda: o.nn.max_pool2d(x, 2), x)


def avg_pool(o: Operands, n: int, channels: int, side: int) -> Call:
    x = o.normal(n, channels, side, side)
    return lambda: o.nn.avg_pool2d(x, 3, stride=2, padding=1)


# -- by an index -------------------------------------------------------------------------------
def index_select(o: Operands, rows: int, width: int, of: int) -> Call:
    x, i = o.normal(of, width), o.below(of, rows)
    return lambda: x.index_select(0, i)


def index_add(o: Operands, rows: int, width: int, of: int) -> Call:
    x, i, source = o.normal(of, width), o.below(of, rows), o.normal(rows, width)
    return lambda: x.index_add(0, i, source)


def gather(o: Operands, rows: int, width: int) -> Call:
    x, i = o.normal(rows, width), o.below(width, rows, width)
    return lambda: x.gather(1, i)


def scatter_add(o: Operands, rows: int, width: int) -> Call:
    x, i, source = o.normal(rows, width), o.below(width, rows, width), o.normal(rows, width)
    return lambda: x.scatter_add(1, i, source)


def embedding(backward: bool) -> Build:
    def build(o: Operands, words: int, width: int, of: int) -> Call:
        table, i = o.normal(of, width, wanted=backward), o.below(of, words)

        def call() -> Any:
            return o.nn.embedding(i, table)

        return o.both_ways(call, table) if backward else call

    return build


# -- random numbers, optimisers, copies --------------------------------------------------------
def randn(o: Operands, n: int) -> Call:
    return lambda: o.torch.randn(n)


def dropout(o: Operands, n: int) -> Call:
    x = o.normal(n)
    return lambda: o.nn.dropout(x, 0.5)


def optimiser(name: str, **options: Any) -> Build:
    def build(o: Operands, n: int) -> Call:
        x = o.normal(n, wanted=True)
        x.grad = o.normal(n)
        made = getattr(o.torch.optim, name)([x], **options)

        def step() -> Any:
            made.step()
            return x.detach()

        return step

    return build


def cat(o: Operands, count: int, rows: int, width: int) -> Call:
    parts = [o.normal(rows, width) for _ in range(count)]
    return lambda: o.torch.cat(parts, 1)


def transposed(o: Operands, n: int) -> Call:
    x = o.normal(n, n)
    return lambda: x.t().contiguous()


_MI = 1 << 20
_PIXELS = 16 * 28 * 28

# fmt: off
CASES = [
    case("matmul 1024 x 1024", matmul, (1024, 1024, 1024), (5, 6, 7), flops=2 * 1024**3),
    case("matmul 64 x 1024 by 1024 x 1024", matmul, (64, 1024, 1024), (3, 6, 6),
         flops=2 * 64 * 1024**2),
    case("matmul, 64 of 64 x 64", bmm, (64, 64), (3, 4), flops=2 * 64**4),
    case("linear 256 x 1024 to 512, with backward", linear, (256, 1024, 512), (3, 5, 4),
         flops=6 * 256 * 1024 * 512),
    case("attention by its parts, 8 x 8 of 256 x 64", attention, (8, 8, 256, 64), (2, 2, 5, 4),
         flops=4 * 8 * 8 * 256**2 * 64),

    case("add 1e5", add, (10**5,), (7,), floats=3 * 10**5),
    case("add 1e7", add, (10**7,), (7,), floats=3 * 10**7),
    case("where 1e6", where, (10**6,), (7,), floats=3 * 10**6 + 10**6 // 4),
    case("exp 1e6", unary("exp"), (10**6,), (7,), floats=2 * 10**6),
    case("sigmoid 1e6", unary("sigmoid"), (10**6,), (7,), floats=2 * 10**6),
    case("gelu 1e6", gelu("none"), (10**6,), (7,), floats=2 * 10**6),
    case("gelu, tanh form, 1e6", gelu("tanh"), (10**6,), (7,), floats=2 * 10**6),

    case("sum 1e7", total, (10**7,), (7,), floats=10**7),
    case("sum 4096 x 1024 over rows", along("sum", 0), (4096, 1024), (5, 3), floats=4 * _MI),
    case("var 1024 x 1024 along rows", along("var", 1), (1024, 1024), (5, 3), floats=_MI),
    case("amax 1024 x 1024 along rows", along("amax", 1), (1024, 1024), (5, 3), floats=_MI),
    case("softmax 1024 x 1024", along("softmax", 1), (1024, 1024), (5, 3), floats=2 * _MI),
    case("softmax 1024 x 1024, with backward", softmax_both_ways, (1024, 1024), (5, 3),
         floats=5 * _MI),
    case("cumsum 1024 x 1024 along rows", along("cumsum", 1), (1024, 1024), (5, 3),
         floats=2 * _MI),
    case("sort 1e6", sort, (10**6,), (9,), floats=4 * 10**6),
    case("topk 8 of 4096, 1024 rows", topk, (1024, 4096, 8), (4, 9, 3), floats=4 * _MI),

    case("layer_norm 1024 x 1024", layer_norm, (1024, 1024), (5, 3), floats=2 * _MI),
    case("layer_norm 1024 x 1024, with backward", layer_norm_both_ways, (1024, 1024), (5, 3),
         floats=5 * _MI),
    case("batch_norm 32 x 64 x 28 x 28, with backward", batch_norm_both_ways, (32, 64, 28),
         (3, 2, 4), floats=5 * 32 * 64 * 28**2),
    case("cross_entropy 1024 x 1000, with backward", cross_entropy_both_ways, (1024, 1000),
         (5, 3), floats=3 * 1024 * 1000),
    case("mse_loss 1e6, with backward", mse_both_ways, (10**6,), (7,), floats=5 * 10**6),

    case("conv 3 x 3, 64 to 64", conv(1), (16, 64, 64, 28, 3, 1), (2, 3, 4, 6, 3, 1),
         flops=2 * _PIXELS * 64 * 64 * 9),
    case("conv 3 x 3, 64 to 64, with backward", conv(1, True), (16, 64, 64, 28, 3, 1),
         (2, 3, 4, 6, 3, 1), flops=6 * _PIXELS * 64 * 64 * 9),
    case("conv 5 x 5, 16 to 32, with backward", conv(2, True), (16, 16, 32, 28, 5, 1),
         (2, 3, 4, 6, 5, 1), flops=6 * _PIXELS * 16 * 32 * 25),
    case("conv 1 x 1, 128 to 128", conv(0), (16, 128, 128, 28, 1, 1), (2, 3, 4, 5, 1, 1),
         flops=2 * _PIXELS * 128 * 128),
    case("conv 1 x 1, 128 to 128, with backward", conv(0, True), (16, 128, 128, 28, 1, 1),
         (2, 3, 4, 5, 1, 1), flops=6 * _PIXELS * 128 * 128),
    case("conv 3 x 3, 64 to 64, 4 groups", conv(1), (16, 64, 64, 28, 3, 4), (2, 4, 6, 6, 3, 2),
         flops=2 * _PIXELS * 16 * 64 * 9),
    case("conv 3 x 3, depthwise 64", conv(1), (16, 64, 64, 28, 3, 64), (2, 4, 4, 6, 3, 4),
         floats=2 * _PIXELS * 64),
    case("conv 3 x 3, depthwise 64, with backward", conv(1, True), (16, 64, 64, 28, 3, 64),
         (2, 4, 4, 6, 3, 4), floats=6 * _PIXELS * 64),
    case("max_pool2d 2 x 2, with backward", max_pool_both_ways, (32, 32, 28), (2, 3, 6),
         floats=32 * 32 * 28**2 * 3),
    case("avg_pool2d 3 x 3 by 2", avg_pool, (32, 32, 28), (2, 3, 6),
         floats=32 * 32 * (28**2 + 14**2)),

    case("index_select 20000 of 5000 x 128", index_select, (20000, 128, 5000), (7, 3, 5),
         floats=2 * 20000 * 128),
    case("gather 1024 x 1024 along rows", gather, (1024, 1024), (4, 5), floats=4 * _MI),
    case("scatter_add 1024 x 1024 along rows", scatter_add, (1024, 1024), (4, 5),
         floats=5 * _MI),
    case("index_add 20000 to 5000 x 128", index_add, (20000, 128, 5000), (7, 3, 5),
         floats=20000 * 128 + 2 * 5000 * 128),
    case("embedding 8192 of 10000 x 128", embedding(False), (8192, 128, 10000), (7, 3, 5),
         floats=2 * 8192 * 128),
    case("embedding 8192 of 10000 x 128, with backward", embedding(True), (8192, 128, 10000),
         (7, 3, 5), floats=3 * 8192 * 128 + 10000 * 128),

    case("randn 1e6", randn, (10**6,), (64,), floats=10**6, random=True),
    case("dropout 1e6", dropout, (10**6,), (64,), floats=2 * 10**6, random=True),
    case("SGD with momentum, 4e6", optimiser("SGD", lr=0.01, momentum=0.9), (4 * 10**6,), (7,),
         floats=5 * 4 * 10**6),
    case("Adam, 4e6", optimiser("Adam"), (4 * 10**6,), (7,), floats=7 * 4 * 10**6),
    case("cat of 8, 1024 x 256", cat, (8, 1024, 256), (3, 4, 2), floats=2 * 8 * 1024 * 256),
    case("transposed copy 4096 x 4096", transposed, (4096,), (5,), floats=2 * 16 * _MI),
]
# fmt: on
