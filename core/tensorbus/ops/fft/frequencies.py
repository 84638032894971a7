"""The frequencies that the elements of a transform stand for, and their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.errors import type_error
from tensorbus._base.formats import layout as Layout
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_float
from tensorbus.op_engine.arguments import check_tensors, whole_number
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.options import COMMON, Options
from tensorbus.ops.joining.rearranging import roll


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``fft`` of *n* samples a distance *d* apart.

    (n,): 0, 1, ... and then the negative ones, over ``n * d``. RuntimeError for a negative *n* and
    for a dtype without fractions.
    """
    n = whole_number("fft_fftfreq", "n", 1, n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    given = {"out": out, "dtype": dtype, "layout": layout, "device": device}
    given |= {"requires_grad": requires_grad, "pin_memory": pin_memory}
    return _spaced("fftfreq", n, d, (n + 1) // 2, n // 2, given)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``rfft`` of *n* samples a distance *d* apart.

    (n // 2 + 1,): 0, 1, ... over ``n * d``. RuntimeError for a dtype without fractions.
    """
    n = whole_number("fft_rfftfreq", "n", 1, n)
    given = {"out": out, "dtype": dtype, "layout": layout, "device": device}
    given |= {"requires_grad": requires_grad, "pin_memory": pin_memory}
    return _spaced("rfftfreq", n, d, max(n // 2 + 1, 0), 0, given)


def _spaced(name: str, n: int, d: Any, first: int, negative: int, given: dict[str, Any]) -> Tensor:
    """Places over ``n * d``: *first* ones from 0, and behind them so many *negative* ones."""
    distance = as_float(d)
    if distance is None:
        raise type_error(f"fft_{name}", "d", 2, "float", d)
    options = Options(f"fft_{name}", given, ("out", *COMMON))
    kind = options.kind()
    if kind.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} requires a floating point dtype, got {kind.dtype}")
    if kind.dtype.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(kind.dtype)}'")
    wide = kind.of(dtypes.float32) if kind.dtype.itemsize < 4 else kind
    places = wide.arange(first, 0.0, 1.0)
    if negative:
        places = wide.concatenate([places, wide.arange(negative, -float(negative), 1.0)], 0)
    whole = n * distance
    step = 1.0 / whole if whole else math.copysign(math.inf, whole)
    made = wide.mul(places, step)
    return options.deliver(made if wide is kind else kind.cast(made, wide))


def fft_fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved by half of each size, so that the frequency 0 comes into the middle.

    Same shape and dtype, along *dim* or all dimensions. IndexError for a dimension out of range.
    """
    check_tensors("fft_fftshift", input=input)
    dims = _dims(input, dim)
    return roll(input, [input._s[d] // 2 for d in dims], dims)


def fft_ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of ``fftshift``, with the same arguments.

    Same shape and dtype, along *dim* or all dimensions. IndexError for a dimension out of range.
    """
    check_tensors("fft_ifftshift", input=input)
    dims = _dims(input, dim)
    return roll(input, [(input._s[d] + 1) // 2 for d in dims], dims)


def _dims(x: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    rank = len(x._s)
    given = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return [wrap_dim(d, rank) for d in given]
