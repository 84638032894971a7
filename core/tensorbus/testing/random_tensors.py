"""``make_tensor``: random values for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorbus
from tensorbus._base.warning import warn_user

_BOUNDS = {tensorbus.bool: (0, 2), tensorbus.uint8: (0, 10)}
_OTHERS = (-9, 10)
_FLOATS = (-9, 9)


def make_tensor(
    *shape: int | Sequence[int],
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> tensorbus.Tensor:
    """A tensor of uniform values from *low* to *high*, which ints do not reach.

    The bounds are -9 and 9 by default (0 to 9 for uint8, both bools), and are cut to what the dtype
    holds. *exclude_zero* replaces zeros by the smallest positive number or by one. *noncontiguous*
    gives every second element of a larger tensor. ValueError for bounds that hold no value.

    >>> import tensorbus
    >>> x = tensorbus.testing.make_tensor(2, 3, dtype=tensorbus.int64, device="cpu", low=0, high=2)
    >>> x.shape, bool(((x == 0) | (x == 1)).all())
    (torch.Size([2, 3]), True)

    Source: https://pytorch.org/docs/stable/testing.html
    """
    sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if not isinstance(dtype, tensorbus.dtype):
        raise TypeError(f"make_tensor() takes a tensorbus.dtype for dtype, not {dtype!r}")
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if inexact and low is not None and low == high:
        warn_user(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    first, last = _bounds(dtype, low, high)
    apart = noncontiguous and math.prod(sizes) > 1
    if apart:
        sizes = [*sizes[:-1], 2 * sizes[-1]]
    if inexact:
        real = dtype.to_real() if dtype.itemsize > 1 else tensorbus.float32
        count = 2 if dtype.is_complex else 1
        values = [_uniform(sizes, real, device, first, last) for _ in range(count)]
        made = tensorbus.complex(*values) if dtype.is_complex else values[0].to(dtype)
    else:
        made = tensorbus.randint(first, last, tuple(sizes), dtype=dtype, device=device)
    if exclude_zero:
        made = made.masked_fill(made == 0, tensorbus.finfo(dtype).tiny if inexact else 1)
    if apart:
        made = made[..., ::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)


def _uniform(sizes: Any, dtype: Any, device: Any, low: float, high: float) -> tensorbus.Tensor:
    """Bounds far apart would overflow in their difference: halves are drawn, and doubled."""
    made = tensorbus.rand(tuple(sizes), dtype=dtype, device=device)
    whole: tensorbus.Tensor = (low / 2 + made * (high / 2 - low / 2)) * 2
    return whole.clamp(low, high)


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[Any, Any]:
    """The least value, and for ints the one that is not reached."""
    inexact = dtype.is_floating_point or dtype.is_complex
    usual = _FLOATS if inexact else _BOUNDS.get(dtype, _OTHERS)
    low = usual[0] if low is None else low
    high = usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low > high or (low == high and not inexact):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if inexact:
        info = tensorbus.finfo(dtype)
        least, end = info.min, info.max
    elif dtype == tensorbus.bool:
        least, end = 0, 2
    else:
        least, end = tensorbus.iinfo(dtype).min, tensorbus.iinfo(dtype).max + 1
    if high < least or low > end or (not inexact and (high == least or low == end)):
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {end})"
        )
    first, last = max(low, least), min(high, end)
    return (first, last) if inexact else (math.ceil(first), math.ceil(last))
