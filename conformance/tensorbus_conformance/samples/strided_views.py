"""Views of parts of a tensor, and of its bytes as another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, COMPLEX, E, Op, S, T
from tensorbus_conformance.samples.views import out_of_range


def _narrowed(x: np.ndarray, dim: int, start: Any, length: int) -> np.ndarray:
    start = int(start) + (x.shape[dim] if int(start) < 0 else 0)
    return np.moveaxis(np.moveaxis(x, dim, 0)[start : start + length], 0, dim)


def _select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    return np.asarray(np.moveaxis(x, dim, 0)[index])


def _windows(x: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    if not x.ndim:
        return x.reshape(1)[:size]
    found = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return np.moveaxis(np.moveaxis(found, dim, 0)[::step], 0, dim)


def _strided(x: np.ndarray, size: Any, stride: Any, offset: int = 0) -> np.ndarray:
    """Element by element, from the operand's memory when it is row-major."""
    flat = x.reshape(-1)
    found = np.empty(size, x.dtype)
    for at in np.ndindex(*size):
        found[at] = flat[offset + sum(i * s for i, s in zip(at, stride, strict=True))]
    return found


def _as_bytes(d: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.astype(np.float32).view(formats.value_dtype(d))


def _view(
    name: str, reference: Callable[..., Any], samples: list[Any], errors: Any = (), **more: Any
) -> Op:
    more = {"dtypes": ANY, **more}
    return Op(name, reference, samples, ulp=0, view=True, errors=errors, family="views", **more)


def _setting_part(name: str) -> Callable[[Any, Any], Any]:
    def written(x: Any, value: Any) -> Any:
        made = x.clone()
        setattr(made, name, value)
        return made

    return written


OPS = [
    _view(
        "select",
        _select,
        [
            S("row", T(2, 3, 4), 0, 1),
            S("negative", T(2, 3, 4), -1, -2),
            S("vector", T(4), 0, 3),
            S("beside-empty", T(2, 0), 0, 1),
        ],
        [
            E("index", IndexError,
              r"select\(\): index 3 out of range for tensor of size \[2, 3\] at dimension 1",
              T(2, 3), 1, 3),
            E("negative", IndexError,
              r"select\(\): index -3 out of range for tensor of size \[2, 3\] at dimension 0",
              T(2, 3), 0, -3),
            E("scalar", IndexError, r"select\(\) cannot be applied to a 0-dim tensor\.", T(), 0, 0),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), 2, 0),
        ],
    ),
    _view(
        "narrow",
        _narrowed,
        [
            S("rows", T(4, 3), 0, 1, 2),
            S("columns", T(4, 3), 1, 0, 2),
            S("negative", T(2, 5), -1, -3, 2),
            S("nothing", T(4, 3), 0, 4, 0),
            S("whole", T(3), 0, 0, 3),
        ],
        [
            E("length", RuntimeError, r"start \(2\) \+ length \(3\) exceeds dimension size \(4\)\.",
              T(4, 3), 0, 2, 3),
            E("start", IndexError, r"start out of range \(expected to be in range of \[-4, 4\], "
              r"but got 5\)", T(4, 3), 0, 5, 0),
            E("negative-length", RuntimeError, r"narrow\(\): length must be non-negative\.",
              T(4, 3), 0, 0, -1),
            E("scalar", RuntimeError, r"narrow\(\) cannot be applied to a 0-dim tensor\.",
              T(), 0, 0, 1),
        ],
    ),
    Op(
        "narrow_copy",
        _narrowed,
        [S("columns", T(4, 3), 1, 0, 2), S("negative", T(2, 5), -1, -3, 2)],
        ulp=0,
        errors=[
            E("length", RuntimeError, r"start \(2\) \+ length \(3\) exceeds dimension size \(4\)\.",
              T(4, 3), 0, 2, 3),
        ],
        family="movement",
    ),
    _view(
        "diagonal",
        np.diagonal,
        [
            S("main", T(3, 4)),
            S("above", T(3, 4), 1),
            S("below", T(3, 4), -2),
            S("dims", T(2, 3, 4), 1, 2, 0),
            S("negative", T(2, 3, 3), 0, -2, -1),
            S("beyond", T(3, 4), 4),
            S("empty", T(0, 3)),
        ],
        [
            E("same", RuntimeError, "diagonal dimensions cannot be identical 1, -1",
              T(2, 3), 0, 1, -1),
            E("vector", IndexError, out_of_range(1, 1), T(3)),
        ],
    ),
    _view(
        "Tensor.unfold",
        _windows,
        [
            S("overlap", T(7), 0, 3, 2),
            S("apart", T(2, 6), 1, 2, 3),
            S("rows", T(4, 3), 0, 2, 1),
            S("negative", T(2, 5), -1, 5, 1),
            S("scalar", T(), 0, 1, 1),
        ],
        [
            E("size", RuntimeError,
              "maximum size for tensor at dimension 0 is 3 but size is 4", T(3), 0, 4, 1),
            E("step", RuntimeError, "step is 0 but must be > 0", T(3), 0, 2, 0),
            E("dim", IndexError, out_of_range(1, 1), T(3), 1, 1, 1),
        ],
    ),
    _view(
        "as_strided",
        _strided,
        [
            S("plain", T(3, 4), (2, 3), (4, 1), 1),
            S("repeated", T(6), (3, 2), (0, 2)),
            S("overlap", T(8), (3, 3), (2, 1), 1),
            S("column-major", T(2, 6), (4, 3), (1, 4)),
            S("scalar", T(5), (), (), 3),
            S("nothing", T(5), (0, 2), (2, 1)),
            S("nothing-beyond", T(2), (0, 2), (2, 1), 7),
        ],
        [
            E("beyond", RuntimeError,
              r"setStorage: sizes \[2, 3\], strides \[4, 1\], storage offset 6, and itemsize 4 "
              r"requiring a storage size of 52 are out of bounds for storage of size 48",
              T(3, 4), (2, 3), (4, 1), 6),
            E("count", RuntimeError, "mismatch in length of strides and shape",
              T(4), (2, 2), (1,)),
            E("negative-stride", RuntimeError,
              r"as_strided: Negative strides are not supported at the moment, got strides: \[-1\]",
              T(4), (2,), (-1,), 3),
        ],
        layouts=(),
        inplace=False,
    ),
    _view("Tensor.real", lambda x: x.real, [S("plain", T(2, 3))], result="real",
          call=lambda x: x.real),
    _view("Tensor.imag", lambda x: x.imag, [S("plain", T(2, 3))], call=lambda x: x.imag,
          dtypes=COMPLEX, result="real"),
    Op("Tensor.real-assigned", lambda x, y: y.real + 1j * x.imag,
       [S("plain", T(2, 3), T(2, 3)), S("broadcast", T(2, 3), T(3))],
       dtypes=COMPLEX, ulp=0, call=_setting_part("real"), family="views"),
    Op("Tensor.imag-assigned", lambda x, y: x.real + 1j * y.real,
       [S("plain", T(2, 3), T(2, 3)), S("number", T(2, 3), 1.5)],
       dtypes=COMPLEX, ulp=0, call=_setting_part("imag"), family="views"),
    # Bytes as another dtype: no derivative passes.
    _view("view-dtype-same-size", _as_bytes(formats.INT32),
          [S("plain", T(2, 3)), S("scalar", T())],
          dtypes=(formats.FLOAT32,), result=formats.INT32, gradient=False,
          call=lambda x: x.view(_named(x, "int32"))),
    _view("view-dtype-smaller", _as_bytes(formats.UINT8), [S("plain", T(2, 3))],
          dtypes=(formats.FLOAT32,), result=formats.UINT8, gradient=False, layouts=(),
          call=lambda x: x.view(_named(x, "uint8"))),
    _view("view-dtype-larger", _as_bytes(formats.INT64), [S("plain", T(2, 4))],
          dtypes=(formats.FLOAT32,), result=formats.INT64, gradient=False, layouts=(),
          call=lambda x: x.view(_named(x, "int64"))),
]  # fmt: skip


def _named(x: Any, name: str) -> Any:
    """A dtype of the library that *x* is a tensor of."""
    import sys

    return getattr(sys.modules[type(x).__module__.split(".")[0]], name)
