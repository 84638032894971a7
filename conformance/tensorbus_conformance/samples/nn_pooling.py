"""Pools: maxima and means over windows, given or chosen by the result's size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus_conformance.formats import COMPLEX64, INT64
from tensorbus_conformance.op import REAL, E, Op, S, T

_F = "nn.functional."


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    values = (value,) * n if isinstance(value, int) else tuple(value)
    return values * n if len(values) == 1 else values


def _starts(size: int, k: int, s: int, p: int, d: int, ceil: bool) -> list[int]:
    """Where windows start: within the padded size, and with *ceil* one that hangs over it."""
    last = size + 2 * p - d * (k - 1) - 1
    found = [at - p for at in range(0, last + 1, s)]
    if ceil and last % s and found[-1] + s < size:
        found.append(found[-1] + s)
    return found


def _windows(
    shape: tuple[int, ...],
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
    n: int,
) -> Iterator[tuple[tuple[int, ...], list[range]]]:
    """(index in the result, the positions of the window in each dimension)."""
    k, p, d = _tuple(kernel, n), _tuple(padding, n), _tuple(dilation, n)
    s = k if stride is None else _tuple(stride, n)
    starts = [_starts(*row, ceil) for row in zip(shape, k, s, p, d, strict=True)]
    for at in itertools.product(*(range(len(line)) for line in starts)):
        yield (
            at,
            [
                range(starts[j][i], starts[j][i] + d[j] * (k[j] - 1) + 1, d[j])
                for j, i in enumerate(at)
            ],
        )


def _max(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    n: int,
) -> Any:
    shape, lead = x.shape[-n:], x.shape[:-n]
    windows = list(_windows(shape, kernel_size, stride, padding, dilation, ceil_mode, n))
    size = tuple(max(at[j] for at, _ in windows) + 1 for j in range(n))
    values: Any = np.zeros((*lead, *size), x.dtype)
    indices: Any = np.zeros((*lead, *size), np.int64)
    for at, ranges in windows:
        inside = [[i for i in r if 0 <= i < e] for r, e in zip(ranges, shape, strict=True)]
        flat = np.array(
            [np.ravel_multi_index(i, shape) for i in itertools.product(*inside)], np.int64
        )
        seen = x.reshape(*lead, math.prod(shape))[..., flat]
        first = np.argmax(seen, -1) if seen.size else np.zeros(lead, np.int64)
        values[(..., *at)] = np.take_along_axis(seen, first[..., None], -1)[..., 0]
        indices[(..., *at)] = flat[first]
    return (values, indices) if return_indices else values


def _average(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    n: int,
) -> np.ndarray:
    shape, pads = x.shape[-n:], _tuple(padding, n)
    windows = list(_windows(shape, kernel_size, stride, padding, 1, ceil_mode, n))
    size = tuple(max(at[j] for at, _ in windows) + 1 for j in range(n))
    out: Any = np.zeros((*x.shape[:-n], *size))
    for at, ranges in windows:
        inside = tuple(
            slice(max(r.start, 0), min(r.stop, e)) for r, e in zip(ranges, shape, strict=True)
        )
        # Rows beyond the padding behind, which a last window may reach, never count.
        padded = [min(r.stop, e + p) - r.start for r, e, p in zip(ranges, shape, pads, strict=True)]
        counted = padded if count_include_pad else [i.stop - i.start for i in inside]
        divisor = divisor_override or int(np.prod(counted))
        out[(..., *at)] = x[(..., *inside)].sum(tuple(range(-n, 0))) / divisor
    return out


def _bins(x: Any, output_size: Any, n: int) -> Iterator[tuple[Any, tuple[slice, ...]]]:
    wanted = (output_size,) * n if not isinstance(output_size, (tuple, list)) else output_size
    sizes = [e if w is None else w for e, w in zip(x.shape[-n:], wanted, strict=True)]
    for at in itertools.product(*map(range, sizes)):
        yield (
            at,
            tuple(
                slice(i * e // s, -((i + 1) * e // -s))
                for i, e, s in zip(at, x.shape[-n:], sizes, strict=True)
            ),
        )


def _adaptive_average(x: Any, output_size: Any, *, n: int) -> np.ndarray:
    bins = list(_bins(x, output_size, n))
    size = tuple(max(at[j] for at, _ in bins) + 1 for j in range(n))
    out: Any = np.zeros((*x.shape[:-n], *size))
    for at, window in bins:
        out[(..., *at)] = x[(..., *window)].mean(tuple(range(-n, 0)))
    return out


def _adaptive_max(x: Any, output_size: Any, return_indices: bool = False, *, n: int) -> Any:
    bins = list(_bins(x, output_size, n))
    size = tuple(max(at[j] for at, _ in bins) + 1 for j in range(n))
    values: Any = np.zeros((*x.shape[:-n], *size), x.dtype)
    indices: Any = np.zeros(values.shape, np.int64)
    numbers = np.arange(np.prod(x.shape[-n:])).reshape(x.shape[-n:])
    for at, window in bins:
        seen = x[(..., *window)].reshape(*x.shape[:-n], -1)
        first = seen.argmax(-1)
        values[(..., *at)] = np.take_along_axis(seen, first[..., None], -1)[..., 0]
        indices[(..., *at)] = numbers[window].reshape(-1)[first]
    return (values, indices) if return_indices else values


def _of(function: Any, n: int) -> Any:
    def reference(*args: Any, **kwargs: Any) -> Any:
        return function(*args, n=n, **kwargs)

    return reference


def of_dims(name: str, n: int) -> Any:
    """The reference of ``max``, ``average`` and their adaptive siblings for *n* dimensions."""
    found = {
        "max": _max,
        "average": _average,
        "adaptive_max": _adaptive_max,
        "adaptive_average": _adaptive_average,
    }
    return _of(found[name], n)


def _magnitudes(function: Any, n: int) -> Any:
    def scale(x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        return function(np.abs(x), *args, n=n, **kwargs)

    return scale


def _max_pool2d(*args: Any) -> Any:
    import tensorbus.nn.functional

    return tensorbus.nn.functional.max_pool2d(*args)


def _avg_pool2d(*args: Any, **kwargs: Any) -> Any:
    import tensorbus.nn.functional

    return tensorbus.nn.functional.avg_pool2d(*args, **kwargs)


_SMALL = E(
    "small",
    RuntimeError,
    r"Given input size: \(2x2x3\)\. Calculated output size: \(2x0x1\)\. Output size is too small",
    T(1, 2, 2, 3),
    3,
)
_PAD = E(
    "padding",
    RuntimeError,
    r"pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and "
    r"dilation=1",
    T(1, 2, 4, 4),
    2,
    padding=2,
)
_MAX = ("same", INT64)

MAXIMA = [
    Op(
        _F + "max_pool2d",
        _of(_max, 2),
        [
            S("plain", T(2, 3, 4, 6), 2),
            S("stride", T(1, 2, 5, 6), (3, 2), 1),
            S("strides", T(1, 2, 5, 7), 2, (2, 3)),
            S("long-stride", T(1, 2, 5, 7), 2, 2**31 - 1, ceil_mode=True),
            S("padding", T(1, 1, 5, 4), 3, 2, (1, 0)),
            S("dilation", T(1, 1, 6, 7), 2, 1, 0, (2, 3)),
            S("ceil", T(1, 2, 6, 7), 3, 2, 1, ceil_mode=True),
            S("ceil-wide", T(1, 1, 4, 5), 2, 3, 1, ceil_mode=True),
            S("indices", T(2, 2, 4, 4), 2, return_indices=True),
            S("indices-all", T(1, 2, 6, 5), 2, 2, 1, 2, True, True),
            S("unbatched", T(2, 4, 5), 2),
            S("unbatched-indices", T(2, 4, 5), 2, return_indices=True),
            S("no-batch", T(0, 2, 4, 4), 2),
            S("ties", T(2, 2, 4, 4, of="ties", grad=False), 2, 1, return_indices=True),
        ],
        result=_MAX,
        dtypes=REAL,
        ulp=0,
        errors=[_SMALL, _PAD],
        family="nn",
    ),
    Op(
        _F + "max_pool1d",
        _of(_max, 1),
        [
            S("plain", T(2, 3, 6), 2),
            S("stride", T(1, 2, 7), 3, 2),
            S("padding", T(1, 2, 7), (3,), (2,), (1,)),
            S("dilation", T(1, 2, 7), 2, 1, 0, 3),
            S("ceil", T(1, 2, 8), 3, 2, ceil_mode=True),
            S("indices", T(2, 2, 6), 2, return_indices=True),
            S("unbatched", T(2, 6), 2),
        ],
        result=_MAX,
        ulp=0,
        family="nn",
    ),
    Op(
        _F + "adaptive_max_pool2d",
        _of(_adaptive_max, 2),
        [
            S("plain", T(2, 3, 4, 6), (2, 3)),
            S("uneven", T(1, 2, 5, 7), (3, 4)),
            S("one", T(2, 2, 3, 4), 1),
            S("none", T(1, 2, 5, 4), (None, 3)),
            S("more", T(1, 1, 3, 2), (4, 3)),
            S("indices", T(1, 2, 5, 7), (3, 4), return_indices=True),
            S("indices-even", T(1, 2, 4, 4), 2, True),
            S("unbatched", T(2, 5, 4), (2, 3)),
        ],
        result=_MAX,
        ulp=0,
        family="nn",
    ),
    Op(
        _F + "adaptive_max_pool1d",
        _of(_adaptive_max, 1),
        [
            S("plain", T(2, 3, 6), 3),
            S("uneven", T(1, 2, 7), 3),
            S("indices", T(1, 2, 7), 4, return_indices=True),
            S("unbatched", T(2, 5), (2,)),
        ],
        result=_MAX,
        ulp=0,
        family="nn",
    ),
]

MEANS = [
    Op(
        _F + "avg_pool2d",
        _of(_average, 2),
        [
            S("plain", T(2, 3, 4, 6), 2),
            S("stride", T(1, 2, 5, 6), (3, 2), 1),
            S("strides", T(1, 2, 5, 7), 2, (2, 3)),
            S("long-stride", T(1, 2, 5, 7), 2, 2**31 - 1, ceil_mode=True),
            S("padding", T(1, 2, 5, 4), 3, 2, (1, 0)),
            S("without-pad", T(1, 2, 5, 4), 3, 2, 1, count_include_pad=False),
            S("ceil", T(1, 2, 6, 7), 3, 2, 1, True),
            S("ceil-without-pad", T(1, 2, 6, 7), 3, 2, 1, True, False),
            S("ceil-wide", T(1, 1, 4, 5), 2, 3, 1, ceil_mode=True),
            S("divisor", T(1, 2, 4, 4), 2, 1, 1, divisor_override=3),
            S("unbatched", T(2, 4, 5), 2),
            S("no-batch", T(0, 2, 4, 4), 2),
        ],
        scale=_magnitudes(_average, 2),
        ulp=4,
        grad_ulp=8,
        errors=[
            _SMALL,
            _PAD,
            E(
                "complex",
                NotImplementedError,
                "\"avg_pool2d\" not implemented for 'ComplexFloat'",
                T(1, 2, 2),
                2,
                dtype=COMPLEX64,
            ),
            E(
                "divisor",
                RuntimeError,
                "divisor must be not zero",
                T(1, 1, 2, 2),
                2,
                divisor_override=0,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "avg_pool1d",
        _of(_average, 1),
        [
            S("plain", T(2, 3, 6), 2),
            S("stride", T(1, 2, 7), 3, 2),
            S("padding", T(1, 2, 7), (3,), (2,), (1,)),
            S("ceil", T(1, 2, 8), 3, 2, 1, True),
            S("without-pad", T(1, 2, 8), 3, 2, 1, False, False),
            S("unbatched", T(2, 6), 2),
        ],
        scale=_magnitudes(_average, 1),
        ulp=4,
        grad_ulp=8,
        family="nn",
    ),
    Op(
        _F + "adaptive_avg_pool2d",
        _of(_adaptive_average, 2),
        [
            S("plain", T(2, 3, 4, 6), (2, 3)),
            S("uneven", T(1, 2, 5, 7), (3, 4)),
            S("one", T(2, 2, 3, 4), 1),
            S("no-channels", T(2, 0, 3, 4), (2, 3)),
            S("none", T(1, 2, 5, 4), (None, 3)),
            S("none-wide", T(1, 2, 5, 4), (3, None)),
            S("more", T(1, 1, 3, 2), (4, 3)),
            S("unbatched", T(2, 5, 4), (2, 3)),
        ],
        scale=_magnitudes(_adaptive_average, 2),
        ulp=4,
        grad_ulp=8,
        family="nn",
    ),
    Op(
        _F + "adaptive_avg_pool1d",
        _of(_adaptive_average, 1),
        [
            S("plain", T(2, 3, 6), 3),
            S("uneven", T(1, 2, 7), 3),
            S("unbatched", T(2, 5), (2,)),
        ],
        scale=_magnitudes(_adaptive_average, 1),
        ulp=4,
        grad_ulp=8,
        family="nn",
    ),
]

WHOLE = Op(
    f"{_F}avg_pool2d-whole",
    lambda *args, **kwargs: np.trunc(_average(*args, n=2, **kwargs)).astype(np.int64),
    [
        S("plain", T(2, 2, 4, 4), 2),
        S("without-pad", T(1, 2, 5, 4), 3, 2, 1, count_include_pad=False),
        S("divisor", T(1, 2, 4, 4), 2, 1, 1, divisor_override=3),
        S("negative-divisor", T(1, 2, 4, 4), 2, divisor_override=-2),
    ],
    dtypes=(INT64,),
    ulp=0,
    call=_avg_pool2d,
    family="nn",
)

NAN = Op(
    f"{_F}max_pool2d-nan",
    _of(_max, 2),
    [S("plain", T(data=[[[1.0, np.nan, 2.0, -np.inf]] * 4]), 2, 1)],
    ulp=0,
    gradient=False,
    call=_max_pool2d,
    family="nn",
)

OPS = [*MAXIMA, NAN, *MEANS, WHOLE]
