"""Tensors overwritten with random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.modes import RARE
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, bump
from tensorbus.op_engine.argument_forms import mixed_error
from tensorbus.op_engine.arguments import not_implemented, whole_number
from tensorbus.op_engine.in_place import abandon, check_write, rebase, record_as
from tensorbus.op_engine.public import public
from tensorbus.op_engine.row_handlers import DRAW, handled, seen
from tensorbus.ops.random.choices import bernoulli_pieces
from tensorbus.ops.random.pieces import Pieces, write
from tensorbus.ops.random.random import (
    NORMAL,
    UNIFORM,
    checked,
    integer_pieces,
    normal_pieces,
    uniform_pieces,
)
from tensorbus.random import Generator


def _fill(
    name: str, t: Tensor, drawn: Pieces, finish: Callable[[Any], Any] = lambda values: values
) -> Tensor:
    """Overwrite with what *finish* makes of each piece of a draw; *name* is that of the node."""
    if RARE.on and seen(t):
        return handled(DRAW, (t, name), lambda row, given: _fill(name, given[0], drawn, finish))
    recorded = check_write(t)
    bump(t)
    try:
        for start, values in drawn:
            write(t._k, t._a, start, finish(values))
        if recorded:
            rebase(t, None)
    except BaseException:
        abandon(t)
        raise
    return record_as(t, name) if recorded else t


def _from(function: str, keywords: dict[str, Any], given: Any) -> Any:
    """The start of a range, whose keyword is no name of Python's."""
    start = keywords.pop("from", given)
    if keywords:
        name = next(iter(keywords))
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    return start


@public(function=False)
def uniform_(
    self: Tensor,
    from_: float = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
    **kwargs: Any,
) -> Tensor:
    """Overwrite with uniform random numbers in [from, to)."""
    low, high = float(_from("uniform_", kwargs, from_)), float(to)
    k = checked(self._k, UNIFORM, ())
    largest = dtypes.finfo(k.dtype.to_real()).max
    for name, bound in (("from", low), ("to", high)):
        if not abs(bound) <= largest:
            raise RuntimeError(f"{name} is out of bounds for {c_name(k.dtype.to_real())}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )

    def scaled(u: Any) -> Any:
        u = k.mul(u, high - low)
        if low and k.is_float:
            # The sum may round up to the end, which is not in the range.
            u = k.add(u, low)
            u = k.where(k.lt(u, high), u, k.number(low))
        elif low:
            u = k.add(u, complex(low, low))
        return u

    return _fill("UniformBackward0", self, uniform_pieces(k, tuple(self._s), generator), scaled)


@public(function=False)
def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with normal random numbers."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    k = checked(self._k, NORMAL, self._s)

    def scaled(z: Any) -> Any:
        return k.add(k.mul(z, float(std)), float(mean))

    return _fill("NormalBackward0", self, normal_pieces(k, tuple(self._s), generator), scaled)


@public(function=False)
def random_(
    self: Tensor, *bounds: Any, generator: Generator | None = None, **kwargs: Any
) -> Tensor:
    """Overwrite with random integers: all the dtype holds, below *to*, or in [from, to).

    The bounds are given by position or as ``from=`` and ``to=``; where *to* is None, the last is
    the largest that the dtype holds.
    """
    names = ("to",) if len(bounds) == 1 and "to" not in kwargs else ("from", "to")
    given = dict(zip(names, bounds, strict=False))
    if unknown := kwargs.keys() - {"from", "to"}:
        raise TypeError(f"random_() got an unexpected keyword argument '{min(unknown)}'")
    if len(bounds) > 2 or kwargs.keys() & given.keys():
        raise mixed_error("random_", {"bounds": bounds, **kwargs})
    given.update(kwargs)
    if "from" in given and "to" not in given:
        raise mixed_error("random_", given)
    low = whole_number("random_", "from", 1, given.get("from", 0))
    if "to" in given and (given["to"] is not None or "from" not in given):
        high = whole_number("random_", "to", 2, given["to"])
    else:
        d = self._k.dtype
        digits = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}.get(d.name)
        high = 2 if d is dtypes.bool else 2**digits + 1 if digits else dtypes.iinfo(d).max + 1
    drawn = integer_pieces(self._k, tuple(self._s), low, high, generator)
    return _fill("RandomBackward0", self, drawn)


@public(function=False)
def bernoulli_(
    self: Tensor, p: Tensor | complex = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with 1 with probability *p*, else 0."""
    if self._k.dtype.is_complex and self._s.numel():
        raise not_implemented("bernoulli_scalar_cpu_", self)
    drawn = bernoulli_pieces(self._k, tuple(self._s), p, generator)
    return _fill("BernoulliBackward2", self, drawn)


@public(function=False)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Overwrite with exponential random numbers, of which none is 0."""
    k = self._k
    if not k.is_float and self._s.numel():
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {scalar_name(k.dtype)}"
        )
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")

    def waited(draws: Kind, u: Any) -> Any:
        least = dtypes.finfo(draws.dtype).eps / 2  # the step of uniforms
        return draws.mul(draws.log1p(draws.neg(draws.maximum(u, least))), -1.0 / lambd)

    return _fill_from_uniforms("ExponentialBackward0", self, waited, generator)


@public(function=False)
def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with random numbers of Cauchy's distribution."""
    k = self._k
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not k.is_float:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {scalar_name(k.dtype)}"
        )

    def slope(u: Any) -> Any:
        return k.add(k.mul(k.tan(k.mul(k.sub(u, 0.5), math.pi)), float(sigma)), float(median))

    return _fill("CauchyBackward0", self, uniform_pieces(k, tuple(self._s), generator), slope)


@public(function=False)
def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with the exponentials of normal random numbers of such a mean and deviation."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    k = self._k
    if not k.is_float:
        raise not_implemented("log_normal_cpu", self)

    def grown(z: Any) -> Any:
        return k.exp(k.add(k.mul(z, float(std)), float(mean)))

    return _fill("LogNormalBackward0", self, normal_pieces(k, tuple(self._s), generator), grown)


@public(function=False)
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Overwrite with how many trials, each with probability *p*, it takes to succeed once."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    k = self._k
    if k.dtype is dtypes.bool or k.dtype.is_complex:
        raise not_implemented("geometric_cpu", self)

    def trials(draws: Kind, u: Any) -> Any:
        waited = draws.mul(draws.log1p(draws.neg(u)), 1.0 / math.log1p(-p))
        return draws.maximum(draws.ceil(waited), 1.0)

    return _fill_from_uniforms("GeometricBackward0", self, trials, generator)


def _fill_from_uniforms(
    node: str, self: Tensor, formula: Callable[[Kind, Any], Any], generator: Generator | None
) -> Tensor:
    """Overwrite with ``formula(kind, u)`` of uniforms of a kind, float32 at the least: half
    precision and integers cannot hold those that small probabilities are made of."""
    k = self._k
    draws = k if k.is_float and k.dtype.itemsize > 2 else k.of(dtypes.float32)

    def made(u: Any) -> Any:
        found = formula(draws, u)
        return found if draws is k else k.cast(found, draws)

    return _fill(node, self, uniform_pieces(draws, tuple(self._s), generator), made)
