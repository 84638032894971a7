"""Fourier transforms, against NumPy's in double precision and against their matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.formats import FLOAT16, FLOAT32, FLOAT64, INT64
from tensorbus_conformance.op import BOOL, COMPLEX, E, Op, S, T

REAL = (FLOAT32, FLOAT64)
WHOLE = (INT64, *BOOL)


def _of_complex(dtype: Any) -> Any:
    if dtype in COMPLEX:
        return dtype
    return (dtype if dtype in REAL else FLOAT32).to_complex()


def _to_real(dtype: Any) -> Any:
    return _of_complex(dtype).to_real()


# -- references ------------------------------------------------------------------------------
def _matrix(n: int, sign: float) -> np.ndarray:
    return np.exp(sign * 2j * np.pi * (np.outer(np.arange(n), np.arange(n)) % n) / n)


def _resized(x: np.ndarray, n: int, dim: int) -> np.ndarray:
    x = np.moveaxis(np.asarray(x), dim, -1)[..., :n]
    return np.concatenate([x, np.zeros((*x.shape[:-1], n - x.shape[-1]))], -1)


def _divided(norm: str | None, forward: bool, n: int) -> float:
    if norm == "ortho":
        return n**0.5
    return n if forward == (norm == "forward") else 1.0


def _by_matrix(forward: bool) -> Any:
    """The transform as the product with its matrix."""

    def transform(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        n = x.shape[dim] if n is None else n
        made = _resized(x, n, dim) @ _matrix(n, -1.0 if forward else 1.0)
        return np.moveaxis(made / _divided(norm, forward, n), -1, dim)

    return transform


def _half(whole: Any) -> Any:
    def transform(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        made = whole(x, n, dim, norm)
        return np.moveaxis(np.moveaxis(made, dim, -1)[..., : made.shape[dim] // 2 + 1], -1, dim)

    return transform


def _mirrored(whole: Any) -> Any:
    """The transform of a half and its conjugated mirror image."""

    def transform(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        n = 2 * (x.shape[dim] - 1) if n is None else n
        half = _resized(x, n // 2 + 1, dim)
        ends = [0] if n % 2 else [0, -1]
        half[..., ends] = half[..., ends].real
        signal = np.concatenate([half, half[..., 1 : n - n // 2][..., ::-1].conj()], -1)
        return np.moveaxis(whole(signal, n, -1, norm).real, -1, dim)

    return transform


def _several(name: str) -> Any:
    """NumPy's over several dimensions; hfftn and ihfftn by way of the others."""

    def transform(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        x = np.asarray(x)
        axes = range(x.ndim - (x.ndim if s is None else len(s)), x.ndim) if dim is None else dim
        axes = [d % x.ndim for d in axes]
        if s is not None:
            s = [n if n != -1 else x.shape[d] for n, d in zip(s, axes, strict=True)]
        other = {None: "forward", "backward": "forward", "forward": "backward"}
        if name == "hfftn":
            return np.fft.irfftn(x.conj(), s, axes, other.get(norm, norm))
        if name == "ihfftn":
            return np.fft.rfftn(x, s, axes, other.get(norm, norm)).conj()
        return getattr(np.fft, name)(x, s, axes, norm)

    return transform


def _last_two(name: str) -> Any:
    plain = _several(name)

    def transform(x: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        return plain(x, s, dim, norm)

    return transform


# -- samples ---------------------------------------------------------------------------------
_SIGNALS = [
    S("two", T(2)),
    S("odd", T(5)),
    S("rows", T(2, 6)),
    S("dim", T(4, 3), dim=0),
    S("cut", T(3, 6), 4),
    S("continued", T(5), n=8, dim=-1),
    S("divided", T(2, 5), norm="forward"),
    S("orthonormal", T(6, 2), None, 0, "ortho"),
    S("scaled", T(4), norm="backward"),
    S("prime", T(101, grad=False)),
    S("long", T(2, 360, grad=False)),
    S("none", T(0, 3)),
]
_ONE = S("one", T(1))
_GRIDS = [
    S("matrix", T(3, 4)),
    S("batch", T(2, 3, 4)),
    S("odd", T(4, 5)),
    S("sizes", T(3, 4), (4, 3)),
    S("one-size", T(2, 3, 4), s=(-1, 6)),
    S("dims", T(2, 3, 4), dim=(0, 2)),
    S("order", T(4, 3), None, (1, 0), "forward"),
    S("orthonormal", T(3, 4), norm="ortho"),
    S("long", T(30, 34, grad=False)),
]
_SPACES = [*_GRIDS, S("vector", T(6)), S("last-size", T(2, 5), (4,)), S("whole", T(2, 2, 4))]

_LENGTH = r"Invalid number of data points \({}\) specified"
_HALF = (
    "Unsupported dtype Half: Fourier transforms are of float32, float64, complex64 and complex128"
)
_RANGE = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"
_ERRORS = [
    E("no-elements", RuntimeError, _LENGTH.format(0), T(2, 3), 0),
    E("negative", RuntimeError, _LENGTH.format(-1), T(3), n=-1),
    E("scalar", IndexError, "Dimension specified as -1 but tensor has no dimensions", T()),
    E("range", IndexError, _RANGE, T(2, 3), dim=2),
    E("norm", RuntimeError, 'Invalid normalization mode: "none", use "backward", "forward" or '
      '"ortho"', T(3), norm="none"),
    E("half", RuntimeError, _HALF, T(4), dtype=FLOAT16),
]  # fmt: skip
_MANY_ERRORS = [
    E("no-elements", RuntimeError, _LENGTH.format(0), T(2, 3), (2, 0)),
    E("twice", RuntimeError, "FFT dims must be unique", T(2, 3), dim=(0, -2)),
    E("lengths", RuntimeError, "When given, dim and shape arguments must have the same length",
      T(2, 3), (2, 2), (0,)),
    E("half", RuntimeError, _HALF, T(4, 4), dtype=FLOAT16),
]  # fmt: skip
_TOO_MANY = E(
    "many",
    RuntimeError,
    r"Got shape with 3 values but input tensor only has 2 dimensions\.",
    T(2, 3),
    (2, 2, 2),
)


def _no_axis(name: str) -> Any:
    return E("no-axis", RuntimeError, f"{name} must transform at least one axis", T(2, 3), dim=())


def _op(name: str, reference: Any, samples: Any, kind: str, errors: Any) -> Op:
    """*kind* is what the transform takes and gives: ``complex``, ``of real`` or ``to real``."""
    dtypes = (*WHOLE, *REAL) if kind == "of real" else (*WHOLE, *REAL, *COMPLEX)
    return Op(
        f"fft.{name}", reference, samples, dtypes,
        result=_to_real if kind == "to real" else _of_complex, computes=_of_complex,
        ulp=16.0, measure="norm", layouts=("transposed", "strided"), family="fft", errors=errors,
    )  # fmt: skip


_REAL_ONLY = E(
    "complex",
    RuntimeError,
    r"i?[hr]fftn? expects a real(-valued)? input tensor, but got ComplexFloat",
    T(3, 3),
    dtype=COMPLEX[0],
)
_FORWARD, _INVERSE = _by_matrix(True), _by_matrix(False)

OPS = [
    _op("fft", _FORWARD, [_ONE, *_SIGNALS], "complex", _ERRORS),
    _op("ifft", _INVERSE, [_ONE, *_SIGNALS], "complex", _ERRORS),
    _op("rfft", _half(_FORWARD), [_ONE, *_SIGNALS], "of real", [*_ERRORS, _REAL_ONLY]),
    _op("ihfft", _half(_INVERSE), [_ONE, *_SIGNALS], "of real", [*_ERRORS, _REAL_ONLY]),
    _op("irfft", _mirrored(_INVERSE), _SIGNALS, "to real", _ERRORS),
    _op("hfft", _mirrored(_FORWARD), _SIGNALS, "to real", _ERRORS),
    *[_op(f"{name}2", _last_two(f"{name}n"), _GRIDS, "complex", _MANY_ERRORS)
      for name in ("fft", "ifft")],
    *[_op(f"{name}2", _last_two(f"{name}n"), _GRIDS, "of real", [*_MANY_ERRORS, _REAL_ONLY])
      for name in ("rfft", "ihfft")],
    *[_op(f"{name}2", _last_two(f"{name}n"), _GRIDS, "to real", _MANY_ERRORS)
      for name in ("irfft", "hfft")],
    *[_op(f"{name}n", _several(f"{name}n"), [*_SPACES, S("nothing", T(2, 3), dim=())], "complex",
          [*_MANY_ERRORS, _TOO_MANY]) for name in ("fft", "ifft")],
    *[_op(f"{name}n", _several(f"{name}n"), _SPACES, "of real",
          [*_MANY_ERRORS, _TOO_MANY, _REAL_ONLY, _no_axis(f"{name}n")])
      for name in ("rfft", "ihfft")],
    *[_op(f"{name}n", _several(f"{name}n"), _SPACES, "to real",
          [*_MANY_ERRORS, _TOO_MANY, _no_axis(f"{name}n")]) for name in ("irfft", "hfft")],
    *[Op(f"fft.{name}", getattr(np.fft, name),
         [S("vector", T(5)), S("even", T(6)), S("matrix", T(3, 4)), S("dim", T(3, 4), 0),
          S("dims", T(2, 3, 5), (0, -1)), S("none", T(0))],
         (*WHOLE, *REAL, *COMPLEX), ulp=0.0, family="fft",
         errors=[E("range", IndexError, _RANGE, T(2, 3), 2)])
      for name in ("fftshift", "ifftshift")],
]  # fmt: skip
