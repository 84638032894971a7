"""Random tensors: composites over the words of a counter-based stream."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.errors import type_error
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import Given, takes
from tensorbus.op_engine.arguments import check_tensors, whole_number
from tensorbus.op_engine.options import Options, factory
from tensorbus.ops.creation.factories import factory_shape
from tensorbus.ops.random import pieces
from tensorbus.ops.random.pieces import Pieces
from tensorbus.random import Generator, taken
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.rows.registry import row

takes("Generator", Generator, "torch.Generator")

# fmt: off
row("random_bits", "key, offset, n",
    doc="*n* words of the stream of random bits under *key*, from its block *offset* on.")
# fmt: on

# fmt: off
row("uniform", "key, offset, n",
    doc="*n* random numbers, uniform in [0, 1), from the stream under *key* at *offset*.",
    composite=lambda F, key, offset, n: _uniform(F, key, offset, n))
row("unit_floats", "bits:int32", domain="float",
    doc="Numbers in [0, 1) from the lowest 24 of 32 random *bits* each.",
    composite=lambda F, bits: F.mul(
        F.cast(F.i32.bitwise_and(bits, 2**24 - 1), F.i32), 2.0**-24))
row("normal", "key, offset, n",
    doc="*n* random numbers of the standard normal distribution, from the stream under *key* at "
        "*offset*.",
    composite=lambda F, key, offset, n: _normal(F, key, offset, n))
row("integers", "key, offset, n, low, span",
    doc="*n* random integers from *low* to ``low + span - 1``, from the stream under *key* at "
        "*offset*.",
    composite=lambda F, key, offset, n, low, span: _integers(F, key, offset, n, low, span))
# fmt: on


def _words(F: Any, n: int) -> int:
    """How many 64-bit words *n* values of a floating point dtype take."""
    return n if F.dtype is dtypes.float64 else -(-n // 2)


def _uniform(F: Any, key: Any, offset: int, n: int) -> Any:
    """Values in [0, 1): 53 bits of a word for float64, 24 bits of each half otherwise."""
    if n > pieces.piece_size(F):
        return pieces.joined(F, n, pieces.uniforms(F, key, offset, n))
    I = F.i64  # noqa: E741
    words = I.random_bits(key, offset, _words(F, n))
    if F.dtype is dtypes.float64:
        bits = I.bitwise_and(I.rshift(words, 11), 2**53 - 1)
        return F.mul(F.cast(bits, I), 2.0**-53)
    # The halves of a word, the lower one first, lie so in the memory of devices.
    wide, count = F if F.dtype is dtypes.float32 else F.of(dtypes.float32), 2 * len_of(words)
    halves = I.backend.as_strided(words, (count,), (1,), 0, dtypes.int64, dtypes.int32)
    flat = wide.unit_floats(halves if n == count else F.i32.slice(halves, 0, 0, n, 1))
    if wide is F:
        return flat
    # Half precision keeps 11 or 8 bits: cut, so that rounding never gives 1.
    steps = 2.0**11 if F.dtype is dtypes.float16 else 2.0**8
    return F.cast(wide.mul(wide.floor(wide.mul(flat, steps)), 1.0 / steps), wide)


def len_of(array: Any) -> int:
    """The size of a vector."""
    return array.shape[0]


def _normal(F: Any, key: Any, offset: int, n: int) -> Any:
    return pieces.joined(F, n, pieces.normals(F, key, offset, n))


def _integers(F: Any, key: Any, offset: int, n: int, low: int, span: int) -> Any:
    if n > pieces.piece_size(F):
        return pieces.joined(F, n, pieces.integers(F, key, offset, n, low, span))
    I = F.i64  # noqa: E741
    words = I.random_bits(key, offset, n)
    if span < 2**63:
        words = I.fmod(I.bitwise_and(words, 2**63 - 1), span)
    elif span == 2**63:
        words = I.bitwise_and(words, 2**63 - 1)
    elif span < 2**64:
        # As unsigned numbers: those from span on are negative here, and start again from 0.
        beyond = I.bool.bitwise_and(I.lt(words, 0), I.ge(words, span - 2**64))
        words = I.where(beyond, I.add(words, 2**64 - span), words)
    values = I.add(words, low)
    return values if F is I else F.cast(values, I)


# -- draws in pieces, for tensors that are filled -------------------------------------------------
def uniform_pieces(kind: Kind, shape: tuple[int, ...], generator: Generator | None) -> Pieces:
    """Uniforms as ``draw_uniform`` gives them; complex ones in one piece."""
    if kind.dtype.is_complex:
        return _whole(kind, draw_uniform(kind, shape, generator))
    key, offset = taken(kind, generator, _words(kind, _even(shape)))
    return pieces.uniforms(kind, key, offset, math.prod(shape))


def normal_pieces(kind: Kind, shape: tuple[int, ...], generator: Generator | None) -> Pieces:
    """Normals as ``draw_normal`` gives them; complex ones, and few, in one piece."""
    n = math.prod(shape)
    if kind.dtype.is_complex or n <= pieces.piece_size(kind):
        return _whole(kind, draw_normal(kind, shape, generator))
    key, offset = taken(kind, generator, _words(kind, _even(shape)))
    return pieces.normals(kind, key, offset, n)


def integer_pieces(
    kind: Kind, shape: tuple[int, ...], low: int, high: int, generator: Generator | None
) -> Pieces:
    """Integers as ``draw_integers`` gives them."""
    check_range(kind.dtype, low, high)
    n = math.prod(shape)
    key, offset = taken(kind, generator, n)
    return pieces.integers(kind, key, offset, n, low, high - low)


def _whole(kind: Kind, array: Any) -> Pieces:
    return [(0, kind.view(array, (math.prod(array.shape),)))]


# -- draws -----------------------------------------------------------------------------------
def draw_uniform(kind: Kind, shape: tuple[int, ...], generator: Generator | None = None) -> Any:
    """An array of uniforms in [0, 1), in both parts of complex numbers."""
    if kind.dtype.is_complex:
        return _complex(draw_uniform, kind, shape, generator)
    return _draw(kind, kind.uniform, shape, generator, _words(kind, _even(shape)))


def draw_normal(kind: Kind, shape: tuple[int, ...], generator: Generator | None = None) -> Any:
    """An array of standard normals; complex ones have a variance of 1/2 in each part."""
    if kind.dtype.is_complex:
        pairs = _complex(draw_normal, kind, shape, generator)
        return kind.mul(pairs, math.sqrt(0.5))
    return _draw(kind, kind.normal, shape, generator, _words(kind, _even(shape)))


def _complex(draw: Any, kind: Kind, shape: tuple[int, ...], generator: Any) -> Any:
    parts = kind.of(kind.dtype.to_real())
    pairs = draw(parts, (*shape, 2), generator)
    strides = contiguous_strides(shape)
    return kind.backend.as_strided(pairs, shape, strides, 0, parts.dtype, kind.dtype)


def draw_integers(
    kind: Kind, shape: tuple[int, ...], low: int, high: int, generator: Generator | None = None
) -> Any:
    """An array of integers in [low, high)."""
    check_range(kind.dtype, low, high)

    def draw(key: Any, offset: int, n: int) -> Any:
        return kind.integers(key, offset, n, low, high - low)

    return _draw(kind, draw, shape, generator, math.prod(shape))


def check_range(d: dtypes.dtype, low: int, high: int) -> None:
    """RuntimeError for integers in [low, high) that are none, or that the dtype does not hold."""
    if high <= low:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    _check_bounds(d, low, high)


def _check_bounds(d: dtypes.dtype, low: int, high: int) -> None:
    """RuntimeError where the dtype does not hold the least or the largest integer."""
    if d.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    if d is dtypes.bool:
        least, most = 0, 1
    elif d.is_floating_point:
        most = int(dtypes.finfo(d).max)
        least = -most
    else:
        least, most = dtypes.iinfo(d).min, dtypes.iinfo(d).max
    for what, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{what} is out of bounds for {c_name(d)}")


def _even(shape: tuple[int, ...]) -> int:
    n = math.prod(shape)
    return n + n % 2


def _draw(kind: Kind, draw: Any, shape: tuple[int, ...], generator: Any, words: int) -> Any:
    n = math.prod(shape)
    if not n:
        return kind.empty(shape)
    key, offset = taken(kind, generator, words)
    return kind.view(kind.contiguous(draw(key, offset, n)), shape)


def checked(kind: Kind, kernel: str, shape: tuple[int, ...]) -> Kind:
    """The kind, if it holds fractions or nothing of the shape is to be drawn."""
    if kind.dtype.category < dtypes.FLOAT and 0 not in shape:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(kind.dtype)}'")
    return kind


UNIFORM = "check_uniform_bounds"
NORMAL = "normal_kernel_cpu"


@factory("out")
def rand(
    *size: Any,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """Uniform random numbers in [0, 1); equal seeds give equal bits on every device."""
    shape = factory_shape("rand", size)
    kind = checked(options.drawn_kind(), UNIFORM, shape)
    return draw_uniform(kind, shape, generator)


@factory("out")
def randn(
    *size: Any,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """Random numbers of the standard normal distribution."""
    shape = factory_shape("randn", size)
    kind = checked(options.drawn_kind(), NORMAL, shape)
    return draw_normal(kind, shape, generator)


@factory("out")
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """Random integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    low = 0 if low is None else low
    if not isinstance(size, (tuple, list)):
        raise type_error("randint", "size", 2, "tuple of ints", size)
    low, high = _bounds("randint", low, high)
    shape = factory_shape("randint", (size,))
    return draw_integers(options.drawn_kind(dtypes.int64), shape, low, high, generator)


def _bounds(name: str, low: Any, high: Any) -> tuple[int, int]:
    """The limits of random integers."""
    return whole_number(name, "low", 1, low), whole_number(name, "high", 2, high)


@factory("out")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """A random order of 0..n-1: the order of *n* random words."""
    kind = options.drawn_kind(dtypes.int64)
    n = whole_number("randperm", "n", 1, n)
    _check_permutation(kind.dtype, n)
    index = kind.i64
    if not n:
        return kind.empty((0,))
    key, offset = taken(kind, generator, n)
    order = index.argsort(index.random_bits(key, offset, n), 0)
    return order if kind is index else kind.cast(order, index)


_HELD_EXACTLY = {"float16": 2**11 + 1, "bfloat16": 2**8 + 1, "float32": 2**24 + 1}


def _check_permutation(d: dtypes.dtype, n: int) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if d is dtypes.bool or d.is_complex:
        raise NotImplementedError(f"\"randperm\" not implemented for '{scalar_name(d)}'")
    if n > _HELD_EXACTLY.get(d.name, n):
        most = _HELD_EXACTLY[d.name]
        raise RuntimeError(f"n cannot be greater than {most} for {scalar_name(d)} type.")
    if d.category == dtypes.INTEGER and n > dtypes.iinfo(d).max:
        raise RuntimeError(f"value cannot be converted to type {d.name}_t without overflow")


def _like(name: str, draw: Any, kernel: str) -> Any:
    def make(input: Tensor, *, generator: Generator | None = None, options: Options) -> Any:
        check_tensors(name, input=input)
        shape = () if draw is draw_uniform else input._s
        kind = checked(options.drawn_kind(like=input), kernel, shape)
        return _laid_out(draw(kind, tuple(input._s), generator), kind, input, options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``{name.removesuffix('_like')}`` in the shape of another tensor."
    return factory("memory_format")(make)


def _laid_out(drawn: Any, kind: Kind, input: Tensor, options: Options) -> Any:
    """Random numbers in the memory format that is asked for, else in the order of *input*."""
    if input._b is None and options.memory_format is None:
        return drawn
    return kind.copy_(options.empty(tuple(input._s), like=input), drawn)


_like("rand_like", draw_uniform, UNIFORM)
_like("randn_like", draw_normal, NORMAL)


def _bound(t: Tensor) -> Any:
    """A bound of random integers given as a tensor of any dtype."""
    return t if t._s else int(t.item())


@factory("memory_format")
def randint_like(
    input: Tensor,
    low: Given[int | Tensor] = None,
    high: Given[int | Tensor] = None,
    *,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """``randint`` in the shape of another tensor."""
    check_tensors("randint_like", input=input)
    if high is None:
        if isinstance(low, Tensor) and low._s:
            raise RuntimeError("randint_like: high must be a scalar tensor")
        low, high = 0, low
    low, high = (_bound(n) if isinstance(n, Tensor) else n for n in (low or 0, high))
    low, high = _bounds("randint_like", low, high)
    kind = options.drawn_kind(like=input)
    drawn = draw_integers(kind, tuple(input._s), low, high, generator)
    return _laid_out(drawn, kind, input, options)
