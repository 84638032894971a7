"""Numbers in a row: counted by a step, or spread between two ends."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.errors import type_error
from tensorbus._base.size import check_storage
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.kinds import Kind
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import whole_number
from tensorbus.op_engine.options import Options, factory
from tensorbus.op_engine.scalars import fitted
from tensorbus.rows.registry import row

# fmt: off
row("arange", "n, start, step",
    doc="A vector of the *n* numbers ``start + i * step``.",
    takes_dtype=True)
# fmt: on


def _number(name: str, argument: str, position: int, value: Any) -> Any:
    """A bound of a range as a Python number."""
    found = as_number(value)
    if found is None:
        raise type_error(name, argument, position, "Number", value)
    return found


def _real(name: str, argument: str, position: int, value: Any) -> Any:
    """A bound as a real number of 64 bits; RuntimeError where it has an imaginary part."""
    return fitted(_number(name, argument, position, value), dtypes.float64)


def _check_bounds(start: Any, end: Any, step: Any) -> None:
    """RuntimeError where no finite number of steps leads from one bound to the other."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _counting_kind(kind: Kind) -> Kind:
    """The kind in which values are computed: the widest for integers and half precision."""
    if kind.dtype.category <= dtypes.INTEGER:
        return kind.of(dtypes.float64 if dtypes.float64 in kind.known_dtypes else dtypes.float32)
    return kind.of(dtypes.float32) if kind.dtype.itemsize == 2 else kind


@factory("out")
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    options: Options,
) -> Any:
    """``start``, ``start + step``... before ``end``; int64 where all three are integers.

    >>> import tensorbus
    >>> tensorbus.arange(5), tensorbus.arange(1, 2, 0.5)
    (tensor([0, 1, 2, 3, 4]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        if start is None:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        start, end = 0, start
    start = _real("arange", "start", 1, 0 if start is None else start)
    end = _real("arange", "end", 1, end)
    step = _real("arange", "step", 3, step)
    _check_bounds(start, end, step)
    whole = all(isinstance(x, int) for x in (start, end, step))
    k = options.kind(dtypes.int64 if whole else None)
    if k.dtype is dtypes.bool or k.dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{scalar_name(k.dtype)}'")
    given = start, end, step
    if k.dtype.category == dtypes.INTEGER:
        start, end, step = (fitted(bound, dtypes.int64) for bound in given)
        if k.dtype is dtypes.int64:
            given = start, end, step  # narrower ones are as many as the numbers given say
            if step == 0:
                raise ValueError("step must be nonzero")
    first, last, by = given
    if isinstance(first, int) and isinstance(last, int) and isinstance(by, int):
        n = -((first - last) // by)
    else:
        n = math.ceil((last - first) / by)
    return _counted(k, n, start, step)


def _counted(k: Kind, n: int, start: Any, step: Any) -> Any:
    """``start + i * step`` for the first *n* integers i."""
    if n <= 0:
        return k.empty((0,))
    check_storage((n,))
    if step == 0:
        return k.full((n,), start)
    if k.dtype.itemsize == 2 and k.is_float:
        wide = k.of(dtypes.float32)
        return k.cast(wide.arange(n, start, step), wide)
    return k.arange(n, start, step)


@factory("out", without=("pin_memory",))
def range(
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    options: Options,
) -> Any:
    """Deprecated: ``start``, ``start + step``... up to and including ``end``; use ``arange``."""
    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end)."
    )
    start = _real("range", "start", 1, start)
    end = _real("range", "end", 2, end)
    step = _real("range", "step", 3, step)
    _check_bounds(start, end, step)
    k = options.kind()
    n = math.floor((end - start) / step) + 1
    return _counted(k, n, start, step)


def _ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    ranks = [len(x._s) if isinstance(x, Tensor) else 0 for x in (start, end)]
    if any(ranks):
        given = " and ".join(
            f"{which} with {rank} dimension(s)"
            for which, x, rank in zip(("start", "end"), (start, end), ranks, strict=True)
            if isinstance(x, Tensor)
        )
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {given}."
        )
    return _number(name, "start", 1, start), _number(name, "end", 2, end)


def _spread(k: Kind, start: Any, end: Any, n: int) -> Any:
    """*n* values from *start* to *end*; each half is counted from its own end, so both are met."""
    if n == 1:
        return k.full((1,), start)
    step = (end - start) / (n - 1)
    real = k.of(k.dtype.to_real())
    i, back = real.arange(n, 0, 1), real.arange(n, n - 1, -1)
    first = real.lt(i, n // 2)
    if real is not k:
        i, back = k.cast(i, real), k.cast(back, real)
    rising = k.add(k.mul(i, step), start)
    falling = k.add(k.mul(back, -step), end)
    return k.where(first, rising, falling)


def _checked_steps(name: str, steps: Any) -> int:
    n = whole_number(name, "steps", 3, steps)
    if n < 0:
        raise RuntimeError("number of steps must be non-negative")
    check_storage((n,))
    return n


@factory("out")
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    options: Options,
) -> Any:
    """*steps* numbers from *start* to *end*, both included, in equal distances.

    >>> import tensorbus
    >>> tensorbus.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    n = _checked_steps("linspace", steps)
    return _between(start, end, n, options)


def _between(start: Any, end: Any, n: int, options: Options, base: Any = None) -> Any:
    """An array of numbers between two ends, or of *base* to their power."""
    name = options.name
    start, end = _ends(name, start, end)
    found = None
    if isinstance(start, complex) or isinstance(end, complex):
        found = dtypes.get_default_dtype().to_complex()
    k = options.kind(found)
    if found is not None and not k.dtype.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {c_name(found)} can't be safely cast to passed "
            f"dtype {scalar_name(k.dtype)}"
        )
    if k.dtype is dtypes.bool:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if not n:
        return k.empty((0,))
    if n == 1 and base is not None and not k.dtype.is_complex:
        return k.full((1,), fitted(_power(float(base), float(start)), k.dtype))
    start, end = (_end(bound, k.dtype) for bound in ((start, end) if n > 1 else (start, start)))
    wide = _counting_kind(k)
    array = _spread(wide, start, end, n)
    if base is not None:
        array = wide.pow(wide.full((), base), array)
    return array if wide is k else k.cast(array, wide)


def _end(value: Any, d: Dtype) -> Any:
    """An end of a range in the range's dtype: whole negative numbers wrap in unsigned ones."""
    value = fitted(value, d)
    return wrap_number(value, d) if d.category == dtypes.INTEGER else value


def _power(base: float, exponent: float) -> float:
    """*base* to a power as floating point arithmetic has it: infinite, or NaN, where it must."""
    try:
        r = base**exponent
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    except ZeroDivisionError:
        return math.inf
    return math.nan if isinstance(r, complex) else r


@factory("out")
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    options: Options,
) -> Any:
    """*base* to the power of *steps* exponents from *start* to *end*, both included."""
    n = _checked_steps("logspace", steps)
    return _between(start, end, n, options, base)
