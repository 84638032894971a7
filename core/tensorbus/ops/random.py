"""Random tensors: composites over the words of a counter-based stream."""

from __future__ import annotations

import math
from typing import Any

from tensorbus import dtypes
from tensorbus._tensor import Tensor, bump, from_array
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.kinds import Kind
from tensorbus.ops.creation import finished, kind_for
from tensorbus.ops.dims import shape_argument
from tensorbus.ops.public import public
from tensorbus.ops.registry import row
from tensorbus.random import Generator, default_generator

# fmt: off
row("uniform", "key, offset, n", composite=lambda F, key, offset, n: _uniform(F, key, offset, n))
row("normal", "key, offset, n", composite=lambda F, key, offset, n: _normal(F, key, offset, n))
row("integers", "key, offset, n, low, span",
    composite=lambda F, key, offset, n, low, span: _integers(F, key, offset, n, low, span))
# fmt: on


def _words(F: Any, n: int) -> int:
    """How many 64-bit words *n* values of a floating point dtype take."""
    return n if F.dtype is dtypes.float64 else -(-n // 2)


def _uniform(F: Any, key: Any, offset: int, n: int) -> Any:
    """Values in [0, 1): 53 bits of a word for float64, 24 bits of each half otherwise."""
    I = F.i64  # noqa: E741
    words = I.random_bits(key, offset, _words(F, n))
    if F.dtype is dtypes.float64:
        bits = I.bitwise_and(I.rshift(words, 11), 2**53 - 1)
        return F.mul(F.cast(bits, I), 2.0**-53)
    wide = F if F.dtype is dtypes.float32 else F.of(dtypes.float32)
    halves = wide.empty((len_of(words), 2))
    low, high = wide.select(halves, 1, 0), wide.select(halves, 1, 1)
    wide.copy_(low, wide.cast(I.bitwise_and(words, 2**24 - 1), I))
    wide.copy_(high, wide.cast(I.bitwise_and(I.rshift(words, 32), 2**24 - 1), I))
    flat = wide.slice(wide.view(halves, (2 * len_of(words),)), 0, 0, n, 1)
    if wide is F:
        return F.mul(flat, 2.0**-24)
    # Half precision keeps 11 or 8 bits: cut, so that rounding never gives 1.
    steps = 2.0**11 if F.dtype is dtypes.float16 else 2.0**8
    cut = wide.mul(wide.floor(wide.mul(flat, 2.0**-24 * steps)), 1.0 / steps)
    return F.cast(cut, wide)


def len_of(array: Any) -> int:
    """The extent of a vector."""
    return array.shape[0]


def _normal(F: Any, key: Any, offset: int, n: int) -> Any:
    """Standard normals by Box and Muller: radius from one uniform, angle from another."""
    wide = F if F.dtype in (dtypes.float32, dtypes.float64) else F.of(dtypes.float32)
    half = -(-n // 2)
    u = wide.uniform(key, offset, 2 * half)
    first, second = wide.slice(u, 0, 0, half, 1), wide.slice(u, 0, half, 2 * half, 1)
    radius = wide.sqrt(wide.mul(wide.log1p(wide.neg(first)), -2.0))
    angle = wide.mul(second, 2.0 * math.pi)
    out = wide.empty((2 * half,))
    wide.copy_(wide.slice(out, 0, 0, half, 1), wide.mul(radius, wide.cos(angle)))
    wide.copy_(wide.slice(out, 0, half, 2 * half, 1), wide.mul(radius, wide.sin(angle)))
    out = wide.slice(out, 0, 0, n, 1)
    return out if wide is F else F.cast(out, wide)


def _integers(F: Any, key: Any, offset: int, n: int, low: int, span: int) -> Any:
    I = F.i64  # noqa: E741
    words = I.bitwise_and(I.random_bits(key, offset, n), 2**63 - 1)
    values = I.add(I.fmod(words, span), low)
    return values if F is I else F.cast(values, I)


# -- draws -----------------------------------------------------------------------------------
def draw_uniform(kind: Kind, shape: tuple[int, ...], generator: Generator | None = None) -> Any:
    """An array of uniforms in [0, 1)."""
    return _draw(kind, kind.uniform, shape, generator, _words(kind, _even(shape)))


def draw_normal(kind: Kind, shape: tuple[int, ...], generator: Generator | None = None) -> Any:
    """An array of standard normals."""
    return _draw(kind, kind.normal, shape, generator, _words(kind, _even(shape)))


def draw_integers(
    kind: Kind, shape: tuple[int, ...], low: int, high: int, generator: Generator | None = None
) -> Any:
    """An array of integers in [low, high)."""
    if high <= low:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )

    def draw(key: Any, offset: int, n: int) -> Any:
        return kind.integers(key, offset, n, low, high - low)

    return _draw(kind, draw, shape, generator, math.prod(shape))


def _even(shape: tuple[int, ...]) -> int:
    n = math.prod(shape)
    return n + n % 2


def _draw(kind: Kind, draw: Any, shape: tuple[int, ...], generator: Any, words: int) -> Any:
    n = math.prod(shape)
    if not n:
        return kind.empty(shape)
    key, offset = (generator or default_generator).take(words)
    return kind.view(kind.contiguous(draw(key, offset, n)), shape)


def _float_kind(dtype: Any, device: Any, name: str) -> Kind:
    kind = kind_for(dtype, device)
    if not kind.is_float:
        raise RuntimeError(
            f"\"{name}\" not implemented for '{kind.dtype.legacy.removesuffix('Tensor')}'"
        )
    return kind


@public(method=False, out=True)
def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform random numbers in [0, 1); equal seeds give equal bits on every device."""
    kind = _float_kind(dtype, device, "rand")
    return finished(draw_uniform(kind, shape_argument(size), generator), kind, requires_grad)


@public(method=False, out=True)
def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random numbers of the standard normal distribution."""
    kind = _float_kind(dtype, device, "randn")
    return finished(draw_normal(kind, shape_argument(size), generator), kind, requires_grad)


@public(method=False, out=True)
def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = dtypes.int64,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = kind_for(dtype, device)
    shape = shape_argument((size,))
    return finished(draw_integers(kind, shape, int(low), int(high), generator), kind, requires_grad)


@public(method=False, out=True)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = dtypes.int64,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A random order of 0..n-1: the order of *n* random words."""
    kind = kind_for(dtype, device)
    index = kind.i64
    if not n:
        return finished(kind.empty((0,)), kind, requires_grad)
    key, offset = (generator or default_generator).take(n)
    order = index.argsort(index.random_bits(key, offset, n), 0)
    return finished(order if kind is index else kind.cast(order, index), kind, requires_grad)


def _like(name: str, draw: Any) -> Any:
    def like(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        generator: Generator | None = None,
    ) -> Tensor:
        kind = kind_for(dtype or input._k.dtype, device or input._k.device)
        return finished(draw(kind, tuple(input._s), generator), kind, requires_grad)

    like.__name__ = like.__qualname__ = name
    like.__doc__ = f"``{name.removesuffix('_like')}`` in the shape of another tensor."
    return public(method=False)(like)


_like("rand_like", draw_uniform)
_like("randn_like", draw_normal)


@public(method=False)
def randint_like(
    input: Tensor,
    low: Any = 0,
    high: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    **_: Any,
) -> Tensor:
    """``randint`` in the shape of another tensor."""
    if high is None:
        low, high = 0, low
    return randint(
        int(low), int(high), tuple(input._s), dtype=dtype or input._k.dtype,
        device=device or input._k.device,
    )  # fmt: skip


@public(out=True)
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that *input* (or *p*) says, else 0."""
    k = input._k
    with no_grad():
        if p is None:
            if not k.is_float:
                raise RuntimeError("bernoulli expects probabilities of a floating point dtype")
            if input._s.numel() and bool(((input < 0) | (input > 1)).any()):
                raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
            p = input
        u = from_array(
            draw_uniform(k if k.is_float else k.of(dtypes.float32), tuple(input._s), generator), k
        )
        return (u < p).to(k.dtype)


@public(method=False, out=True)
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normal random numbers with means and standard deviations given as tensors or numbers."""
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    with no_grad():
        if given:
            from tensorbus.ops.layouts import broadcast_shapes

            k = given[0]._k
            shape = tuple(broadcast_shapes(*(tuple(t._s) for t in given)))
        else:
            k, shape = kind_for(dtype, device), shape_argument((size,))
        z = from_array(draw_normal(k, shape, generator), k) * std + mean
    return z.requires_grad_() if requires_grad else z


@public(out=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn by rows of weights, int64."""
    weights = input if len(input._s) == 2 else input.unsqueeze(0)
    n = weights._s[1]
    with no_grad():
        if bool((~(weights >= 0)).any()) or bool((weights == math.inf).any()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if bool((weights.sum(1) <= 0).any()):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if not replacement and num_samples > n:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
            )
        k = weights._k
        if replacement:
            total = weights.cumsum(1)
            u = from_array(draw_uniform(k, (weights._s[0], num_samples), generator), k)
            u = u * total[:, -1:]
            found = (total.unsqueeze(1) <= u.unsqueeze(2)).sum(2).clamp(max=n - 1)
        else:
            # Exponential clocks: the order in which they ring is a draw without replacement.
            u = from_array(draw_uniform(k, tuple(weights._s), generator), k)
            found = ((1 - u).log() / weights).neg().argsort(1)[:, :num_samples].contiguous()
    return found if len(input._s) == 2 else found.squeeze(0)


# -- in place --------------------------------------------------------------------------------
def _write(t: Tensor, array: Any) -> Tensor:
    from tensorbus.autograd.grad_mode import GRAD, THREAD
    from tensorbus.ops.inplace import check_leaf, rebase, refuse_overlap

    if GRAD.on or THREAD.on:
        check_leaf(t)
    refuse_overlap(t)
    t._k.copy_(t._a, array)
    bump(t)
    if t._e is not None and (GRAD.on or THREAD.on):
        rebase(t, None)
    return t


@public(function=False)
def uniform_(
    self: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None, **kwargs: Any
) -> Tensor:
    """Overwrite with uniform random numbers in [from, to)."""
    low = float(kwargs.pop("from", from_))
    if not low <= to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}"
        )
    k = self._k
    u = draw_uniform(k, tuple(self._s), generator)
    return _write(self, k.add(k.mul(u, float(to) - low), low))


@public(function=False)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Overwrite with normal random numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    k = self._k
    z = draw_normal(k, tuple(self._s), generator)
    return _write(self, k.add(k.mul(z, float(std)), float(mean)))


@public(function=False)
def random_(
    self: Tensor, from_: Any = 0, to: Any = None, *, generator: Any = None, **kwargs: Any
) -> Tensor:
    """Overwrite with random integers: below *to*, or in [from, to), or all the dtype holds."""
    low = kwargs.pop("from", from_)
    if to is None and low:
        low, to = 0, low
    if to is None:
        d = self._k.dtype
        digits = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}.get(d.name)
        to = 2 if d is dtypes.bool else 2**digits + 1 if digits else dtypes.iinfo(d).max
    return _write(self, draw_integers(self._k, tuple(self._s), int(low), int(to), generator))


@public(function=False)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Overwrite with 1 with probability *p*, else 0."""
    k = self._k.of(dtypes.float32)
    with no_grad():
        u = from_array(draw_uniform(k, tuple(self._s), generator), k)
        return _write(self, (u < p).to(self._k.dtype)._a)


@public(function=False)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Overwrite with exponential random numbers."""
    k = self._k
    u = draw_uniform(k, tuple(self._s), generator)
    return _write(self, k.mul(k.log1p(k.neg(u)), -1.0 / lambd))
