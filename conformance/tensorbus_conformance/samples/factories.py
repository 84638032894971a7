"""New tensors: filled, uninitialised, like others, of numbers in a row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.formats import FLOAT32, INT32, INT64, UINT8
from tensorbus_conformance.op import (
    ANY,
    COMPLEX,
    DEVICE,
    DTYPE,
    FLOATING,
    INTEGRAL,
    REAL,
    E,
    Op,
    S,
    T,
)

HERE = {"dtype": DTYPE, "device": DEVICE}


def factory(name: str, reference: Callable[..., Any], samples: list[Any], **settings: Any) -> Op:
    fields: dict[str, Any] = {"dtypes": ANY, "ulp": 0.0}
    return Op(name, reference, samples, family="create", gradient=False, **(fields | settings))


def _shape(size: tuple[Any, ...], keyword: Any = None) -> tuple[int, ...]:
    if keyword is not None:
        return tuple(keyword)
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _constant(value: int) -> Callable[..., Any]:
    def made(*size: Any, **given: Any) -> Any:
        return np.full(_shape(size, given.get("size")), value)

    return made


_SIZES = [
    S("numbers", 2, 3, **HERE),
    S("tuple", (2, 3), **HERE),
    S("list", [3], **HERE),
    S("keyword", size=(2, 2), **HERE),
    S("scalar", (), **HERE),
    S("empty", 2, 0, **HERE),
]


def _refusals(name: str, negative: str) -> list[Any]:
    return [
        E("negative", RuntimeError, negative, 2, -1, device=DEVICE),
        E("fraction", TypeError, rf"{name}\(\): argument 'size' \(position 1\) must be tuple of "
          "ints, not float", 2.5, device=DEVICE),
        E("nothing", TypeError, rf'{name}\(\) missing 1 required positional arguments: "size"'),
        E("keyword", TypeError, rf"{name}\(\) got an unexpected keyword argument 'shape'",
          shape=(2,)),
        E("gradient", RuntimeError, "Only Tensors of floating point and complex dtype can require "
          "gradients", 2, dtype=INT64),
    ]  # fmt: skip


def _without_gradient(errors: list[Any]) -> list[Any]:
    return [e for e in errors if e.variant != "gradient"]


_NEGATIVE = r"Trying to create tensor with negative dimension -1: \[2, -1\]"


def _with_dtype(make: Callable[..., Any]) -> Callable[..., Any]:
    """The factory with its dtype as first argument."""
    return lambda d, *args, **kwargs: make(*args, dtype=d, **kwargs)


_NO_NUMBER = r"{}\(\): argument 'fill_value' \(position 2\) must be Number, not {}"
_OVERFLOW = "value cannot be converted to type {} without overflow"


# -- uninitialised: all but the values --------------------------------------------------------
def _seen(make: Callable[..., Any]) -> Callable[..., Any]:
    """What is to be seen of an uninitialised tensor: its sizes, strides, dtype and device."""

    def call(*args: Any, **kwargs: Any) -> list[Any]:
        x = make(*args, **kwargs)
        kind = kwargs.get("dtype", x.dtype)
        there = tensorbus.device(kwargs["device"]) if "device" in kwargs else x.device
        own = x.new_zeros(1).device
        same_device = x.device == there or own.type == there.type
        return [*x.shape, "strides", *x.stride(), x.dtype is kind, same_device, x.requires_grad]

    return call


def _plain(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> list[Any]:
    steps = strides
    if steps is None:
        steps = tuple(int(np.prod([max(n, 1) for n in shape[d + 1 :]])) for d in range(len(shape)))
    return [*shape, "strides", *steps, True, True, False]


def _permuted(size: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in *order*, outermost first."""
    return tuple(
        int(np.prod([max(size[d], 1) for d in order[order.index(dim) + 1 :]]))
        for dim in range(len(size))
    )


# -- numbers in a row -------------------------------------------------------------------------
def _cut_arange(start: float, end: float, step: float = 1, **_: Any) -> Any:
    """As many as the numbers say, counted in the integers that they are cut to."""
    n = math.ceil((end - start) / step)
    return int(start) + int(step) * np.arange(n)


def _arange(start: Any = 0, end: Any = None, step: Any = 1, **_: Any) -> Any:
    if end is None:
        start, end = 0, start
    n = max(int(np.ceil((end - start) / step)), 0)
    return np.array([start + i * step for i in range(n)], None if n else np.float64)


def _range(start: Any = 0, end: Any = None, step: Any = 1, **_: Any) -> Any:
    n = int(np.floor((end - start) / step)) + 1
    return np.array([start + i * step for i in range(n)])


def _magnitude(start: Any = 0, end: Any = None, step: Any = 1, **_: Any) -> Any:
    """The magnitude at which an element of a range is rounded."""
    if end is None:
        start, end = 0, start
    return np.abs(start) + np.abs(_arange(start, end, step) - start)


def _deprecated(*args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return tensorbus.range(*args, **kwargs)


def _linspace(start: Any, end: Any, steps: int, **_: Any) -> Any:
    return np.linspace(_number(start), _number(end), steps)


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) else x


def _ends(start: Any, end: Any, steps: int, **_: Any) -> Any:
    return np.full(steps, max(abs(_number(start)), abs(_number(end))))


def _logspace(start: Any, end: Any, steps: int, base: float = 10.0, **_: Any) -> Any:
    return np.power(float(base), np.linspace(start, end, steps))


def _triangle(lower: bool) -> Callable[..., Any]:
    def indices(row: int, col: int, offset: int = 0, **_: Any) -> Any:
        inside = [
            (i, j)
            for i in range(row)
            for j in range(col)
            if (j - i <= offset if lower else j - i >= offset)
        ]
        return np.array(inside, np.int64).reshape(-1, 2).T

    return indices


_TRIANGLES = [
    S("square", 3, 3, **HERE),
    S("wide", 2, 4, **HERE),
    S("tall", 4, 2, 1, **HERE),
    S("below", 3, 3, -1, **HERE),
    S("far", 2, 2, 5, **HERE),
    S("far-below", 2, 2, -5, **HERE),
    S("empty", 0, 3, **HERE),
]
_TRIANGLE_ERRORS = [
    E("rows", RuntimeError, "row must be non-negative, got-1", -1, 2),
    E("columns", RuntimeError, "col must be non-negative, got-1", 2, -1),
]
_INDICES = (INT32, INT64)

_STEP = "step must be nonzero"
_SIGN = "upper bound and lower bound inconsistent with step sign"
_STEPS = "number of steps must be non-negative"

OPS = [
    factory("zeros", _constant(0), _SIZES,
        errors=_without_gradient(_refusals("zeros", r"zeros: Dimension size must be "
                                           r"non-negative\."))),
    factory("ones", _constant(1), _SIZES, errors=_without_gradient(_refusals("ones", _NEGATIVE))),
    factory("empty", lambda *size, **given: _plain(_shape(size, given.get("size"))), _SIZES,
        call=_seen(tensorbus.empty), errors=_without_gradient(_refusals("empty", _NEGATIVE))),
    factory("empty_strided", lambda size, stride, **_: _plain(size, stride),
        [S("columns", (2, 3), (1, 2), **HERE), S("gaps", (2, 2), (6, 2), **HERE),
         S("repeats", (3, 2), (0, 1), **HERE), S("empty", (0, 2), (2, 1), **HERE)],
        call=_seen(tensorbus.empty_strided),
        errors=[E("ranks", RuntimeError, r"dimensionality of sizes \(1\) must match "
                  r"dimensionality of strides \(2\)", (2,), (1, 1))]),
    factory("empty_permuted", lambda size, order, **_: _plain(size, _permuted(size, order)),
        [S("last-first", (2, 3, 4), (2, 0, 1), **HERE), S("inner", (2, 3, 4), (0, 2, 1), **HERE),
         S("scalar", (), (), **HERE), S("empty", (0, 2), (0, 1), **HERE)],
        call=_seen(tensorbus.empty_permuted),
        errors=[E("twice", RuntimeError, r"empty_permuted: physical_layout=\[0, 0\] must name "
                  r"each of the 2 dimensions of size=\[2, 3\] once", (2, 3), (0, 0))]),
    factory("full", lambda size, value, **_: np.full(size, _number(value)),
        [S("plain", (2, 3), 3, **HERE), S("tensor", [2], T(data=2), **HERE),
         S("scalar", (), 1, **HERE), S("empty", (0, 2), 1, **HERE)],
        errors=[
            E("negative", RuntimeError, _NEGATIVE, (2, -1), 1, device=DEVICE),
            E("size", TypeError, r"full\(\): argument 'size' \(position 1\) must be tuple of ints, "
              "not int", 2, 1),
            E("vector", TypeError, _NO_NUMBER.format("full", "Tensor"), (2,), T(2)),
            E("text", TypeError, _NO_NUMBER.format("full", "str"), (2,), "a"),
        ]),
    factory("full-fraction", lambda size, value, **_: np.full(size, value),
        [S("third", (2,), 1 / 3, **HERE), S("infinite", (2,), -np.inf, **HERE),
         S("nan", (2,), np.nan, **HERE), S("zero", (2,), -0.0, **HERE)],
        dtypes=(*FLOATING, *COMPLEX), call=tensorbus.full),
    factory("full-truncated", lambda size, value, **_: np.full(size, int(value)),
        [S("up", (2,), 2.7, **HERE), S("down", (2,), 0.9, **HERE)],
        dtypes=INTEGRAL, call=tensorbus.full),
    factory("full-overflow", np.full, [], call=_with_dtype(tensorbus.full), errors=[
        E(f"{d.name}-{n}", RuntimeError, _OVERFLOW.format(c), DTYPE, (2,), value, dtype=d,
          device=DEVICE)
        for d, c, values in ((UINT8, "uint8_t", (256, -256, -0.5)),
                             (formats.INT8, "int8_t", (-129, 1e9, 127.5)),
                             (INT32, "int", (2**31,)), (INT64, "int64_t", (np.inf, 2**63)),
                             (FLOAT32, "float", (1e300, 1j)))
        for n, value in enumerate(values)
    ]),
    factory("eye", lambda n, m=None, **_: np.eye(n, m),
        [S("square", 3, **HERE), S("wide", 2, 4, **HERE), S("tall", 4, 2, **HERE),
         S("one", 1, **HERE), S("empty", 0, **HERE), S("no-columns", 2, 0, **HERE)],
        errors=[
            E("negative", RuntimeError, "n must be greater or equal to 0, got -1", -1),
            E("columns", RuntimeError, "m must be greater or equal to 0, got -1", 2, -1),
            E("fraction", TypeError, r"eye\(\): argument 'n' \(position 1\) must be int, not float",
              2.5),
        ]),
    *(
        factory(f"{name}_like", lambda x, _value=value, **_: np.full(x.shape, _value),
            [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0, 2))], keeps_order=True,
            errors=[E("list", TypeError, rf"{name}_like\(\): argument 'input' \(position 1\) must "
                      "be Tensor, not list", [1])])
        for name, value in (("zeros", 0), ("ones", 1))
    ),
    factory("full_like", lambda x, value, **_: np.full(x.shape, _number(value)),
        [S("plain", T(2, 3), 1), S("tensor", T(2), T(data=1)), S("empty", T(0, 2), 1)],
        layouts=("transposed", "strided"),
        errors=[E("vector", TypeError, _NO_NUMBER.format("full_like", "Tensor"), T(2), T(2)),
                E("overflow", RuntimeError, _OVERFLOW.format("float"), T(2), 1e300)]),
    factory("like-other-dtype", lambda x, **_: np.ones(x.shape),
        [S("plain", T(2, 3, dtype=INT64), **HERE)], call=tensorbus.ones_like),
    factory("empty_like", lambda x, *_, **__: _plain(x.shape),
        [S("plain", T(2, 3), **HERE), S("scalar", T(), **HERE), S("empty", T(0, 2), **HERE)],
        call=_seen(tensorbus.empty_like), layouts=()),
    factory("arange-refused", _arange, [], call=_with_dtype(tensorbus.arange), errors=[
        E(name, NotImplementedError, f"\"arange_cpu\" not implemented for '{c}'", DTYPE, 3, dtype=d)
        for name, c, d in (("bool", "Bool", formats.BOOL), ("complex", "ComplexFloat",
                                                            formats.COMPLEX64))
    ]),
    factory("arange", _arange,
        [S("end", 5, **HERE), S("start", 2, 7, **HERE), S("step", 1, 12, 3, **HERE),
         S("down", 9, 0, -2, **HERE), S("one", 4, 5, **HERE), S("none", 3, 3, **HERE),
         S("fraction-of-step", 0, 5, 2, **HERE), S("keywords", start=1, end=4, **HERE)],
        dtypes=REAL,
        errors=[
            E("step", RuntimeError, _STEP, 0, 2, 0),
            E("sign", RuntimeError, _SIGN, 0, -2),
            E("nan", RuntimeError, "unsupported range: 0 -> nan", np.nan),
            E("infinite", RuntimeError, "unsupported range: 0 -> inf", np.inf),
            E("text", TypeError, r"arange\(\): argument 'end' \(position 1\) must be Number, not "
              "str", "a"),
            E("beyond", RuntimeError, _OVERFLOW.format("int64_t"), 0, 2**63),
        ]),
    factory("arange-fractions", _arange,
        [S("tenths", 0.0, 1.0, 0.1, **HERE), S("down", 1.0, -1.0, -0.3, **HERE),
         S("many", 1.0, 41.0, 0.1, **HERE),
         S("halves", -2.5, 2.5, **HERE), S("uneven", 0, 2, 0.75, **HERE)],
        dtypes=FLOATING, ulp=2.0, scale=_magnitude, call=tensorbus.arange),
    factory("arange-cut", _cut_arange,
        [S("half-steps", 0, 3, 0.5, **HERE), S("half-end", 2, 7.5, **HERE),
         S("half-start", 0.5, 3.5, **HERE), S("down", 5, 0, -2.5, **HERE)],
        dtypes=tuple(d for d in INTEGRAL if d is not formats.INT64), call=tensorbus.arange),
    factory("range", _range,
        [S("plain", 0, 4, **HERE), S("step", 1, 10, 3, **HERE), S("down", 5, 1, -2, **HERE)],
        dtypes=REAL, call=_deprecated,
        errors=[E("step", RuntimeError, _STEP, 0, 2, 0), E("sign", RuntimeError, _SIGN, 0, -2)]),
    factory("linspace", _linspace,
        [S("plain", 0, 10, 5, **HERE), S("down", 9, 0, 4, **HERE), S("one", 2, 5, 1, **HERE),
         S("none", 2, 5, 0, **HERE), S("two", 1, 8, 2, **HERE), S("level", 3, 3, 4, **HERE),
         S("tensors", T(data=0), T(data=6), 4, **HERE)],
        dtypes=(*REAL, *COMPLEX), ulp=2.0, scale=_ends,
        errors=[
            E("negative", RuntimeError, _STEPS, 0, 1, -1),
            E("fraction", TypeError, r"linspace\(\): argument 'steps' \(position 3\) must be int, "
              "not float", 0, 1, 2.5),
            E("vector", RuntimeError, "linspace only supports 0-dimensional start and end tensors, "
              r"but got start with 1 dimension\(s\)\.", T(2), 1, 3),
        ]),
    factory("linspace-refused", np.linspace, [], call=_with_dtype(tensorbus.linspace), errors=[
        E("complex", RuntimeError, r"torch\.linspace\(\): inferred dtype c10::complex<float> can't "
          "be safely cast to passed dtype Float", DTYPE, 0, 1j, 3),
        E("bool", NotImplementedError, "\"linspace_cpu\" not implemented for 'Bool'",
          DTYPE, 0, 1, 3, dtype=formats.BOOL),
        E("overflow", RuntimeError, _OVERFLOW.format("uint8_t"), DTYPE, 0, 300, 3, dtype=UINT8),
    ]),
    factory("linspace-fractions", _linspace,
        [S("unit", 0.0, 1.0, 7, **HERE), S("around", -1.5, 2.5, 12, **HERE),
         S("many", 0.0, 3.0, 50, **HERE)],
        dtypes=(*FLOATING, *COMPLEX), ulp=2.0, scale=_ends, call=tensorbus.linspace),
    factory("logspace", _logspace,
        [S("base-two", 0, 4, 5, 2, **HERE), S("one", 2, 5, 1, 2, **HERE),
         S("none", 2, 5, 0, **HERE),
         S("ends", 1, 4, 4, **HERE).only(formats.INT16, formats.INT32, formats.INT64),
         S("large", 0, 18, 4, **HERE).only(formats.INT64)],
        dtypes=REAL, ulp=4.0,
        errors=[
            E("negative", RuntimeError, _STEPS, 0, 1, -1),
            E("vector", RuntimeError, "logspace only supports 0-dimensional start and end tensors, "
              r"but got end with 1 dimension\(s\)\.", 0, T(2), 3),
        ]),
    factory("logspace-fractions", _logspace,
        [S("tens", -1.0, 2.0, 7, **HERE), S("half", 0.0, 3.0, 5, 0.5, **HERE)],
        dtypes=FLOATING, ulp=16.0, call=tensorbus.logspace),
    factory("tril_indices", _triangle(True), _TRIANGLES, dtypes=_INDICES, errors=_TRIANGLE_ERRORS),
    factory("triu_indices", _triangle(False), _TRIANGLES, dtypes=_INDICES, errors=_TRIANGLE_ERRORS),
]  # fmt: skip
