"""An op as users call it: samples of its arguments, and its reference in float64.

The modules of ``samples/`` hold one ``Op`` for each public function; the cases of levels 2 to 4 are
derived from them: values in every dtype and layout, ``out=``, in-place, errors, gradients.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values

FLOATING = formats.FLOATS
COMPLEX = formats.COMPLEX
INTEGRAL = formats.INTS
BOOL = (formats.BOOL,)
REAL = (*INTEGRAL, *FLOATING)
"""Numbers with an order: no bool, no complex."""
NUMBERS = (*REAL, *COMPLEX)
ANY = formats.ALL

DTYPE = object()
"""Stands in a sample for the dtype of the case."""
DEVICE = object()
"""Stands in a sample for the device of the case."""

RANGES = {
    "positive": (0.3, 2.0), "unit": (-0.8, 0.8), "above one": (1.2, 3.0), "fraction": (0.1, 0.9),
}  # fmt: skip

_SPECIAL = {
    "holes": [(2, 5, np.nan)],
    "infinite": [(1, 5, np.inf), (3, 7, -np.inf)],
    "zeros": [(0, 5, -0.0), (3, 5, 0.0)],
}
"""Where among the elements which values stand: first index, step, value."""


class T:
    """A tensor operand in the case's dtype.

    *of* says where its values lie: ``spread`` (distinct, away from 0 and from one another, so that
    finite differences meet no kink), ``nonzero``, ``positive``, ``unit`` (-0.8 to 0.8),
    ``above one``, ``fraction`` (0.1 to 0.9), ``ties`` (few values, often equal), ``wide`` (all
    magnitudes, and the edges of the dtype), ``holes`` (as spread, NaN here and there),
    ``infinite`` (as spread, infinities here and there), ``zeros`` (as spread, zeros of both signs
    here and there), or a pair (low, high). *data* gives the
    values themselves. *dtype* fixes the dtype, such as int64 for indices. *grad* says whether the
    op is differentiated with respect to it. *marks* is ``holes``, ``infinite`` or ``zeros``: what
    stands here and there in place of the values, however these are made.
    """

    def __init__(
        self,
        *shape: int,
        of: str | tuple[float, float] = "spread",
        data: Any = None,
        dtype: Dtype | None = None,
        grad: bool = True,
        marks: str = "",
    ):
        self.data = None if data is None else np.asarray(data)
        self.shape = shape if self.data is None else self.data.shape
        self.of = of
        self.marks = marks or (of if of in _SPECIAL else "")
        self.dtype = dtype
        self.grad = grad and dtype is None

    def make(self, default: Dtype, *key: object) -> np.ndarray:
        """The values, each one a number of the dtype; the same for the same *key*."""
        dtype = self.dtype or default
        made = _as_dtype(self._unmarked(dtype, *key), dtype)
        if self.marks and (dtype in formats.FLOATS or dtype in formats.COMPLEX):
            flat = made.flatten()
            for first, step, value in _SPECIAL[self.marks]:
                flat[first::step] = value
            made = flat.reshape(self.shape)
        return made

    def _unmarked(self, dtype: Dtype, *key: object) -> np.ndarray:
        if self.data is not None:
            return self.data
        if self.of == "wide":
            return _wide(dtype, self.shape, *key)
        random = values.rng("operand", self.shape, *key)
        of = "spread" if self.of in _SPECIAL else self.of
        drawn = _draw(random, of, self.shape, dtype)
        if dtype in formats.COMPLEX:
            drawn = drawn + 1j * _draw(random, of, self.shape, dtype)
        return drawn


def I(data: Any) -> T:  # noqa: E743 - a short name, for it stands in many samples
    """An int64 operand: indices, counts, classes."""
    return T(data=data, dtype=formats.INT64)


def M(data: Any) -> T:
    """A bool operand: a mask."""
    return T(data=data, dtype=formats.BOOL)


def _draw(
    random: np.random.Generator, of: str | tuple[float, float], shape: tuple[int, ...], d: Dtype
) -> np.ndarray:
    n = int(np.prod(shape, dtype=np.int64))
    if of == "ties":
        return random.integers(0 if not d.is_signed else -2, 3, shape)
    if of in ("spread", "nonzero"):
        order = random.permutation(n).reshape(shape)
        if d is formats.BOOL:
            return order % 2 == 0
        if d in formats.INTS:
            centred = order - (n // 2 if d.is_signed else 0)
            return np.where(centred == 0, n + 1, centred) if of == "nonzero" else centred
        return (order - n / 2 + 0.37) / max(n, 4) * 3
    low, high = RANGES[of] if isinstance(of, str) else of
    if d is formats.BOOL:
        return random.integers(0, 2, shape) == 1
    if d in formats.INTS:
        return random.integers(*integer_range(low, high, d), shape, endpoint=True)
    return random.uniform(low, high, shape)


def integer_range(low: float, high: float, d: Dtype) -> tuple[int, int]:
    """The least and the largest integer of a dtype between two numbers, at least one."""
    smallest, largest = formats.limits(d)
    least = max(int(np.ceil(low)), smallest)
    return least, max(min(int(high), largest), least)


def _wide(dtype: Dtype, shape: tuple[int, ...], *key: object) -> np.ndarray:
    found = values.plain(dtype, shape, *key)
    if dtype not in formats.COMPLEX:
        edges = values.edges(dtype)
        flat = found.reshape(-1)
        n = min(flat.size // 2, edges.size)
        flat[:n] = edges[:n]
    return found


def _as_dtype(array: np.ndarray, dtype: Dtype) -> np.ndarray:
    array = np.asarray(array)
    if dtype in formats.FLOATS or dtype in formats.COMPLEX:
        return np.asarray(formats.round_to(array, dtype))
    return np.asarray(array.astype(formats.value_dtype(dtype)))


@dataclass(frozen=True, eq=False)
class Sample:
    """One way to call an op: a variant's name and the arguments, operands among them."""

    variant: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[Dtype, ...] = ()
    """The dtypes it is tried in; all of the op's where empty."""

    def only(self, *dtypes: Dtype) -> Sample:
        """The same sample, for some of the op's dtypes."""
        return replace(self, dtypes=dtypes)

    def takes(self, dtype: Dtype) -> bool:
        """Whether it is tried in a dtype."""
        return not self.dtypes or dtype in self.dtypes

    def operands(self) -> list[T]:
        """The tensor operands in the order of the call, those inside of lists too."""
        return list(self._operands)

    @functools.cached_property
    def _operands(self) -> tuple[T, ...]:
        found: list[T] = []
        self.replace(found.append)
        return tuple(found)

    def replace(
        self, make: Callable[[T], Any], **stand_ins: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with ``make(operand)`` for each operand."""

        def one(value: Any) -> Any:
            if isinstance(value, T):
                return make(value)
            if value is DTYPE:
                return stand_ins.get("dtype", value)
            if value is DEVICE:
                return stand_ins.get("device", value)
            if isinstance(value, (list, tuple)) and any(_holds(v) for v in value):
                return type(value)([one(v) for v in value])
            return value

        return [one(a) for a in self.args], {k: one(v) for k, v in self.kwargs.items()}


def _holds(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds(v) for v in value)
    return isinstance(value, T)


def S(variant: str, *args: Any, **kwargs: Any) -> Sample:
    """A sample: the variant's name in the id, then the arguments of the call."""
    return Sample(variant, args, kwargs)


@dataclass(frozen=True)
class ErrorSample:
    """A call that must raise, the same text on every device."""

    variant: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    error: type[Exception]
    text: str
    """A regular expression that the first line of the message matches as a whole."""
    dtype: Dtype = formats.FLOAT32
    trait: str = ""
    """The trait without which a backend need not raise, such as ``host_sync``."""


def E(
    variant: str,
    error: type[Exception],
    text: str,
    *args: Any,
    dtype: Dtype = formats.FLOAT32,
    trait: str = "",
    **kwargs: Any,
) -> ErrorSample:
    """An error sample: variant, exception, text (a regular expression), then the arguments."""
    return ErrorSample(variant, args, kwargs, error, text, dtype, trait)


Rule = str | Dtype | Callable[[Dtype], Dtype]


@dataclass(frozen=True, eq=False)
class Op:
    """A public function, its reference, and what is promised of its results."""

    name: str
    """As reached from the library: ``exp``, ``nn.functional.gelu``, ``Tensor.expand_as``."""
    reference: Callable[..., Any]
    """The op over NumPy: float operands come as float64, complex ones as complex128, others as
    they are; parameters as the op gets them. It may use NumPy and SciPy, nothing under test."""
    samples: Iterable[Sample]
    dtypes: tuple[Dtype, ...] = FLOATING
    result: Rule | tuple[Rule, ...] = "same"
    """The result's dtype, or one for each result: ``same``, ``float`` (float32 for integers),
    ``sum`` (int64 for integers), ``real`` (the part of a complex dtype), or a dtype. Samples that
    have fewer results (``max`` without *dim*) have the first of them."""
    computes: Callable[[Dtype], Dtype] | None = None
    """The dtype it computes in, where that is neither the operands' nor the results'."""
    ulp: float = 2.0
    """Allowed error in units in the last place; 0 for ops that do not round."""
    signed_zeros: bool = False
    """Whether the sign of a zero counts, where *ulp* is 0."""
    measure: str = "element"
    """``element``: the error of each element at its own magnitude; ``norm``: all at the largest
    magnitude of the result, for ops in whose sums terms cancel."""
    scale: Callable[..., Any] | None = None
    """The magnitude of each element's error, called as the reference is (such as the sum of
    absolute terms); it stands instead of *measure*."""
    gradient: bool = True
    """Whether it is differentiated (floating results only)."""
    second: bool = True
    """Whether it is differentiated twice."""
    grad_ulp: float = 32.0
    """Allowed error of a directional derivative, in units of its terms' magnitude."""
    layouts: tuple[str, ...] = ("transposed", "strided", "expanded")
    laid_out: tuple[Dtype, ...] = ()
    """Further dtypes in which the layouts are tried, where kernels differ by dtype."""
    keeps_order: bool = False
    """Whether the result's dimensions lie in memory as the first operand's do (pointwise ops);
    else it is row-major."""
    view: bool = False
    """Whether the results share the first operand's storage."""
    fresh: bool = True
    """Whether the result is never an operand itself nor shares memory with one."""
    errors: Iterable[ErrorSample] = ()
    call: Callable[..., Any] | None = None
    """What to call, where the name is no path (``getitem``)."""
    family: str = ""
    inplace: bool = True
    """Whether the method ``NAME_`` and ``out=`` are tried where they exist."""
    promotes: bool | str = False
    """Whether operands of different dtypes are brought to one by the rules of promotion; ``dims``
    where they must have dimensions, so that neither 0-dim operands nor numbers are tried."""

    def function(self) -> Callable[..., Any]:
        """What the frontend has under the name."""
        if self.call is not None:
            return self.call
        import tensorbus
        import tensorbus.nn.functional

        found: Callable[..., Any] = operator.attrgetter(self.name)(tensorbus)
        return found

    def result_dtypes(self, dtype: Dtype, n: int) -> list[Dtype]:
        """The dtypes of *n* results for operands of *dtype*."""
        rules = self.result if isinstance(self.result, tuple) else (self.result,) * n
        return [_apply(rule, dtype) for rule in rules[:n]]


def _apply(rule: Rule, dtype: Dtype) -> Dtype:
    whole = dtype is formats.BOOL or dtype in formats.INTS
    if rule == "same":
        return dtype
    if rule == "float":
        return formats.FLOAT32 if whole else dtype
    if rule == "sum":
        return formats.INT64 if whole else dtype
    if rule == "real":
        return dtype.to_real() if dtype in formats.COMPLEX else dtype
    if isinstance(rule, str):
        raise ValueError(f"unknown rule {rule!r} for the dtype of a result")
    return rule if isinstance(rule, Dtype) else rule(dtype)


def wide(array: np.ndarray, dtype: Dtype) -> np.ndarray:
    """An operand as the reference gets it."""
    if dtype in formats.FLOATS:
        return array.astype(np.float64)
    if dtype in formats.COMPLEX:
        return array.astype(np.complex128)
    return array
