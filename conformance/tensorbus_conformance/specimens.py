"""One call of any primitive: its operands, its parameters, and what it should give.

Cases that ask the same of every primitive are written over these, so that none is left out.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus.plugin import POINTWISE, REDUCTIONS, dtype
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.cases import matmul, ordering, pointwise
from tensorbus_conformance.pointwise_reference import reference
from tensorbus_conformance.primitives import (
    ACCUMULATING,
    DIVIDING,
    INDEXED,
    TO_A_DTYPE,
    TO_INDICES,
    WRAPPING,
    WRITING,
    arity,
    in_family,
    operand_dtypes,
    result_dtype,
)
from tensorbus_conformance.trial import Placed, Trial

(CONTRACTION,) = in_family("contraction")
_COLUMNS = 3
"""How many columns the second factor of a product has."""


@dataclasses.dataclass(frozen=True, eq=False)
class Specimen:
    """A call of the primitive *op* on *dtype*."""

    op: str
    dtype: Dtype
    arrays: tuple[np.ndarray, ...]
    """The operands; for ``put`` and ``scatter`` what is written into comes first."""
    dim: int = 0
    how: str = "add"
    """How ``put`` and ``scatter`` join values."""
    wrap: bool = False
    to: Dtype | None = None
    """The dtype of the result, where the call says one."""

    @property
    def found(self) -> Dtype:
        """The dtype of the result."""
        return self.to or result_dtype(self.op, self.dtype)

    def dtypes(self) -> list[Dtype]:
        """The dtype of each operand."""
        return operand_dtypes(self.op, self.dtype)

    def place(self, t: Trial, layout: str | Sequence[str] = "contiguous") -> list[Placed]:
        """The operands on the device."""
        layouts = [layout] * 3 if isinstance(layout, str) else layout
        rows = zip(self.arrays, self.dtypes(), layouts, strict=False)
        return [t.place(a, d, where) for a, d, where in rows]

    def arguments(self, t: Trial, operands: Sequence[Any]) -> list[Any]:
        """The positional arguments of the kernel."""
        op, given = self.op, list(operands)
        if op in POINTWISE:
            return given
        if op in TO_A_DTYPE:
            token = t.token(self.to or self.dtype)
            if op == CONTRACTION:
                return [*given, token]
            return [*given, (self.dim,) if op in REDUCTIONS else self.dim, token]
        if op in ("amax", "amin"):
            return [*given, (self.dim,)]
        if op in INDEXED:
            first, i, *src = given
            rest: list[Any] = [self.how] if op in WRITING else []
            return [
                first,
                self.dim,
                i,
                *src,
                *rest,
                *([self.wrap] if op in WRAPPING else []),
            ]
        return [*given, self.dim]

    def launch(self, t: Trial, placed: Sequence[Placed]) -> Any:
        """Call the kernel; what it returns is read with ``read``."""
        return t.call(self.op, self.dtype, *self.arguments(t, placed))

    def read(self, t: Trial, made: Any, placed: Sequence[Placed]) -> np.ndarray:
        """The values of the result, checked for its dtype, shape and memory."""
        if self.op in WRITING:
            return t.written(placed[0])
        return t.result(made, self.found, self.expected[0].shape, placed)

    def judge(self, t: Trial, got: np.ndarray) -> None:
        """Raise where the values are not those expected."""
        want, tolerance = self.expected
        if self.op in POINTWISE:
            pointwise.judge(t, self.op, self.dtype, got, want, *self.arrays)
        elif tolerance is None:
            moved = self.op in INDEXED and not (self.op in WRITING and self.how != "set")
            t.exact(got, want, self.found, zeros=moved)
        else:
            t.near(got, want, np.where(np.isfinite(tolerance), tolerance, 0), self.found)

    def check(self, t: Trial, layout: str | Sequence[str] = "contiguous") -> None:
        """The whole of it: place, call, read, compare; the inputs stay as they were."""
        placed = self.place(t, layout)
        self.judge(t, self.read(t, self.launch(t, placed), placed))
        t.untouched(*placed[1 if self.op in WRITING else 0 :])

    @functools.cached_property
    def expected(self) -> tuple[np.ndarray, Any]:
        """(values, tolerance): exact where the tolerance is None."""
        with np.errstate(all="ignore"):
            return _expected(self)


def _expected(s: Specimen) -> tuple[np.ndarray, Any]:
    op, x, dst = s.op, s.arrays[0], s.to or s.dtype
    if op in POINTWISE:
        return _pointwise(s), None
    if op in ACCUMULATING:
        return _accumulated(s, dst)
    if op in ("amax", "amin"):
        return np.asarray((np.maximum if op == "amax" else np.minimum).reduce(x, axis=s.dim)), None
    if op in ("argmax", "argmin"):
        return _first(x, s.dim, op == "argmax"), None
    if op in ("cummax", "cummin"):
        extreme = np.maximum if op == "cummax" else np.minimum
        return extreme.accumulate(x, axis=s.dim), None
    if op == CONTRACTION:
        if dst in formats.INTS:
            kind = formats.value_dtype(dst)
            return np.einsum("...ij,...jk->...ik", *(a.astype(kind) for a in s.arrays)), None
        return matmul.expected(_loaded(s, x), _loaded(s, s.arrays[1]), dst)
    if op == "take":
        return np.take(x, s.arrays[1] % x.shape[s.dim], axis=s.dim), None
    if op == "gather":
        return np.take_along_axis(x, s.arrays[1], s.dim), None
    if op in WRITING:
        return _written(s)
    if op == "argsort":
        return ordering.expected(x, s.dim), None
    raise NotImplementedError(f"{op} is in the table of primitives; say here what it should give")


_PERIOD = 4999
"""Large integer operands repeat after so many elements."""
_SAMPLED = 60_000
"""Operands of more elements are whole; fewer may be a sample of a larger one."""


def _pointwise(s: Specimen) -> np.ndarray:
    """The values of a pointwise op; of large integers those of the part that repeats."""
    if s.dtype in formats.INTS and s.arrays[-1].size > _SAMPLED:
        flat = [a.reshape(-1)[:_PERIOD] for a in s.arrays]
        whole = reference(s.op, s.dtype, flat)
        return np.resize(whole, s.arrays[-1].size).reshape(s.arrays[-1].shape)
    return reference(s.op, s.dtype, list(s.arrays))


def _accumulated(s: Specimen, dst: dtype) -> tuple[np.ndarray, Any]:
    x = s.arrays[0]
    adds, function = s.op in ("sum", "cumsum"), np.add if s.op in ("sum", "cumsum") else np.multiply
    method = function.reduce if s.op in REDUCTIONS else function.accumulate
    if dst in formats.INTS:
        # Arithmetic modulo a power of two: converting first changes nothing.
        kind = formats.value_dtype(dst)
        return np.asarray(method(x.astype(kind), axis=s.dim, dtype=kind)), None
    x = _loaded(s, x)
    wide = np.asarray(method(x.astype(formats.WIDE), axis=s.dim))
    unit = float(np.finfo(formats.compute_dtype(dst)).eps) / 2
    n = x.shape[s.dim]
    if s.op in REDUCTIONS:
        steps: Any = np.ceil(np.log2(max(n, 2))) + 1 if adds else 2 * n
    else:
        steps = np.arange(1, n + 1).reshape(-1, *[1] * (x.ndim - 1 - s.dim)) * (1 if adds else 2)
    size = method(np.abs(x).astype(formats.WIDE), axis=s.dim) if adds else np.abs(wide)
    return wide, unit * steps * size


def _loaded(s: Specimen, array: np.ndarray) -> np.ndarray:
    """An operand in the dtype of the result, to which each element is converted first."""
    return array if s.to is None or s.to is s.dtype else formats.round_to(array, s.to)


def _first(x: np.ndarray, dim: int, greatest: bool) -> np.ndarray:
    """The first index of the extremum, or of the first NaN."""
    extreme = (np.maximum if greatest else np.minimum).reduce(x, axis=dim, keepdims=True)
    return np.argmax((x == extreme) | ((x != x) & (extreme != extreme)), axis=dim)


def _written(s: Specimen) -> tuple[np.ndarray, Any]:
    """What ``put`` and ``scatter`` leave: float additions in wide arithmetic."""
    out, i, src = s.arrays
    n, d = out.shape[s.dim], s.dtype
    if s.op == "put":
        i = np.broadcast_to(i.reshape(-1, *[1] * (out.ndim - 1 - s.dim)), src.shape)
    grid: list[Any] = list(np.indices(src.shape, sparse=True))
    grid[s.dim] = i % n
    at = tuple(grid)
    if s.how == "set":
        result = out.copy()
        result[at] = src
        return result, None
    function = {"add": np.add, "mul": np.multiply, "amax": np.maximum, "amin": np.minimum}[s.how]
    widens = d in formats.FLOATS and s.how in ("add", "mul")
    result = out.astype(formats.WIDE if widens else out.dtype)
    function.at(result, at, src.astype(result.dtype))
    if not widens:
        return result, None
    size, times = np.abs(out).astype(formats.WIDE), np.ones(out.shape)
    function.at(size, at, np.abs(src).astype(formats.WIDE))
    np.add.at(times, at, 1)
    return result, 2 * times * formats.unit_roundoff(d) * size


Values = Callable[[dtype, tuple[int, ...], object], np.ndarray]


def specimen(
    op: str,
    d: dtype,
    shape: tuple[int, ...],
    key: object = "",
    *,
    dim: int | None = None,
    of: Values | None = None,
    indices: int | None = None,
    **more: Any,
) -> Specimen:
    """A call whose first operand has *shape*, made from *key* alone.

    *dim* is the last dimension where none is given; *of* makes values of other than the usual
    kind; *indices* is how many indices ``take``, ``gather``, ``put`` and ``scatter`` get.
    """
    if op in POINTWISE:
        return Specimen(op, d, _pointwise_operands(op, d, shape, key, of), **more)
    dim = max(len(shape) - 1, 0) if dim is None else dim
    make = of or _usual(op)
    x = make(d, shape, (op, key))
    if op == CONTRACTION:
        second = (*shape[:-2], shape[-1], more.pop("columns", _COLUMNS))
        return Specimen(op, d, (x, make(d, second, (op, key, "second"))), **more)
    if op not in INDEXED:
        return Specimen(op, d, (x,), dim, **more)
    n = shape[dim]
    count = (n if op in WRITING else n + 2) if indices is None else indices
    picked = tuple(count if k == dim else m for k, m in enumerate(shape))
    random = values.rng("indices", shape, dim, key)
    i = random.integers(0, n, picked if op in ("gather", "scatter") else count)
    if more.get("how", "") == "set":
        lines = np.tile(np.arange(n), -(-count // n))[:count]
        i = lines if op == "put" else np.broadcast_to(
            lines.reshape(-1, *[1] * (len(shape) - 1 - dim)), picked)  # fmt: skip
    if op not in WRITING:
        return Specimen(op, d, (x, i), dim, **more)
    more.setdefault("how", "add" if d is not formats.BOOL else "amax")
    return Specimen(op, d, (x, np.array(i), make(d, picked, (op, key, "src"))), dim, **more)


def _usual(op: str) -> Values:
    if op in TO_INDICES:
        return lambda d, shape, key: values.ranks(d, shape, key)
    if op in ("prod", "cumprod"):
        return _near_one
    if op in (*TO_A_DTYPE, *WRITING):
        return lambda d, shape, key: values.summands(d, shape, key)
    return lambda d, shape, key: values.plain(d, shape, key)


def _near_one(d: dtype, shape: tuple[int, ...], key: object) -> np.ndarray:
    """Factors of either sign whose products stay in the range of a float."""
    if d not in formats.FLOATS:
        return values.plain(d, shape, key)
    random = values.rng("factors", d.name, shape, key)
    ones = np.where(random.random(shape) < 0.5, 1.0, -1.0)
    n = max(shape, default=1)
    few = random.random(shape) < 8 / n
    return formats.round_to(ones * np.where(few, random.choice([0.5, 1.5, 2.0], shape), 1.0), d)


def _pointwise_operands(
    op: str, d: dtype, shape: tuple[int, ...], key: object, of: Values | None
) -> tuple[np.ndarray, ...]:
    # Of plain values no two are equal.
    usual = values.ranks if op in ("eq", "ne") else values.plain
    make = of or (lambda d, shape, key: usual(d, shape, key))
    size = int(np.prod(shape, dtype=np.int64))
    # Large integers repeat, for their reference is computed one by one.
    made = (min(size, _PERIOD),) if d in formats.INTS and size > _SAMPLED else shape
    n = arity(op)
    found = [np.resize(make(d, made, (key, k)), shape) for k in range(min(n, 2))]
    if op in DIVIDING and d in formats.INTS:
        found[1] = np.where(found[1] == 0, found[1].dtype.type(1), found[1])
    if n == 3:
        condition = np.resize(values.rng("condition", key).random(made) < 0.5, shape)
        return (condition, *found)
    return tuple(found[:n])
