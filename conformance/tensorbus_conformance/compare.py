"""Got against expected: the three measures of the suite, and what they say when they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats

T = TypeVar("T")

QUALITY = 4.0
"""Up to this many times the bound, a result is poor rather than wrong."""


class Mismatch(Exception):
    """What the backend did is not what the contract says."""


def expect(condition: Any, what: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise Mismatch(what)


def present(what: str, got: T | None) -> T:
    """The value itself; raise where it is None."""
    if got is None:
        raise Mismatch(f"{what}: got None")
    return got


def same(what: str, got: Any, want: Any) -> None:
    """Raise unless two Python values are equal."""
    expect(got == want, f"{what}: got {got}, expected {want}")


def equal(
    got: np.ndarray,
    want: Any,
    dtype: dtype,
    operands: Sequence[Any] = (),
    *,
    zeros: bool = True,
    flushes: bool = False,
) -> None:
    """Raise unless the values are equal; NaN equals NaN whatever its bits."""
    want = np.broadcast_to(np.asarray(want, formats.value_dtype(dtype)), got.shape)
    good = got == want
    if dtype in formats.FLOATS or dtype in formats.COMPLEX:
        both = [(got.real, want.real), (got.imag, want.imag)]
        for g, w in both if dtype in formats.COMPLEX else both[:1]:
            part = (g == w) | (np.isnan(g) & np.isnan(w))
            if zeros:
                part &= (np.signbit(g) == np.signbit(w)) | (w != 0)
            if flushes:
                part |= _tiny(w, dtype) & (np.abs(g) <= formats.smallest_normal(dtype))
            good = part if g is both[0][0] else good & part
    if flushes:
        good |= _subnormal_inputs(operands, got.shape)
    if not good.all():
        raise Mismatch(_describe(got, want, ~good, dtype, operands))


def by_element(dtype: dtype, measure: str, scale: Any) -> bool:
    """Whether errors are counted in ULP of each element, not at a magnitude."""
    return dtype in formats.FLOATS and measure == "element" and scale is None


def element_bound(ulp: float, dtype: dtype) -> float:
    """The ULP allowed of each element against a reference that was computed in float64."""
    return ulp + (2.0 if dtype is formats.FLOAT64 else 0.0)


def scale_bound(ulp: float, dtype: dtype) -> float:
    """The units allowed at a magnitude against a reference that was computed in float64."""
    return ulp * (2.0 if dtype in (formats.FLOAT64, formats.COMPLEX128) else 1.0)


def magnitude(exact: np.ndarray) -> float:
    """The largest of the finite values."""
    return np.abs(exact[np.isfinite(exact)]).max(initial=0.0)


def within_ulp(
    got: np.ndarray,
    exact: np.ndarray,
    dtype: dtype,
    bound: float,
    operands: Sequence[Any],
    flushes: bool,
) -> tuple[float, str]:
    """(worst error in ULP, a note if it is poor); raise where it is wrong."""
    if not formats.WIDE_IS_WIDER and dtype is formats.FLOAT64:
        bound += 1.0
    error = formats.ulp_error(got, exact, dtype)
    if flushes:
        tiny = _tiny(exact, dtype) & (np.abs(got) <= formats.smallest_normal(dtype))
        error = np.where(tiny | _subnormal_inputs(operands, got.shape), 0, error)
    worst = float(error.max(initial=0.0))
    if worst <= bound:
        return worst, ""
    rounded = formats.round_to(exact, dtype)
    text = _describe(got, rounded, error > bound, dtype, operands)
    text += f"; {error[error > bound].max():.3g} ULP, allowed {bound:g}"
    if worst > QUALITY * bound:
        raise Mismatch(text)
    return worst, text


def within_scale(
    got: np.ndarray, exact: np.ndarray, dtype: dtype, bound: float, scale: Any, flushes: bool
) -> tuple[float, str]:
    """(worst error, a note if it is poor) in units in the last place at a magnitude.

    The magnitude is *scale*, an array for the elements, or the largest of *exact*'s values.
    """
    real = dtype.to_real()
    wide = np.clongdouble if dtype in formats.COMPLEX else formats.WIDE
    rounded = formats.round_to(exact, dtype)
    with np.errstate(all="ignore"):
        if scale is None:
            scale = magnitude(exact)
        unit = np.maximum(2 * formats.unit_roundoff(real) * np.abs(scale), 0)
        unit = np.maximum(unit, formats.smallest_subnormal(real))
        if flushes:
            unit = np.maximum(unit, formats.smallest_normal(real))
        error = np.abs(got.astype(wide) - exact.astype(wide)) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)
    bound = scale_bound(bound, dtype)
    worst = float(error.max(initial=0.0))
    if worst <= bound:
        return worst, ""
    text = _describe(got, rounded, error > bound, dtype, ())
    text += f"; {worst:.3g} ULP of the magnitude {np.max(scale):.3g}, allowed {bound:g}"
    if worst > QUALITY * bound:
        raise Mismatch(text)
    return worst, text


def within(got: np.ndarray, exact: np.ndarray, tolerance: np.ndarray, dtype: dtype) -> None:
    """Raise unless the absolute error is within *tolerance* plus one rounding."""
    exact = np.asarray(exact)
    wide = np.clongdouble if dtype in formats.COMPLEX else formats.WIDE
    rounded = formats.round_to(exact, dtype)
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(wide) - exact.astype(wide))
        rounding = 2 * formats.unit_roundoff(dtype) * np.abs(exact)
        good = error <= tolerance + rounding + formats.smallest_subnormal(dtype.to_real())
    good |= (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        allowed = np.broadcast_to(tolerance, got.shape)[at]
        text = _describe(got, rounded, ~good, dtype, ())
        raise Mismatch(f"{text}; error {error[at]:.3g}, allowed {allowed:.3g}")


def truths(host: np.ndarray) -> None:
    """Raise unless every byte of truth values is 0 or 1."""
    found = np.ascontiguousarray(host).view(np.uint8)
    if found.size and found.max() > 1:
        raise Mismatch(f"a bool is the byte {found.max()} in memory: it must be 0 or 1")


def same_bytes(now: np.ndarray, before: np.ndarray, message: str) -> None:
    """Raise with *message* unless two host buffers hold the same bytes."""
    now, before = np.ascontiguousarray(now), np.ascontiguousarray(before)
    if now.tobytes() != before.tobytes():
        same = now.view(np.uint8).reshape(now.size, -1) == before.view(np.uint8).reshape(
            before.size, -1
        )
        wrong = np.flatnonzero(~same.all(axis=1))
        raise Mismatch(
            f"{message}: {wrong.size} of {now.size} elements of its storage, first at {wrong[0]}"
        )


def _tiny(values: np.ndarray, dtype: dtype) -> np.ndarray:
    return np.abs(values) < formats.smallest_normal(dtype)


def _subnormal_inputs(operands: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Where an input is subnormal: a device that flushes may have seen a zero there."""
    found = np.zeros(shape, bool)
    for values in _matching(operands, shape):
        if values.dtype.kind in "fc":
            parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
            for part in parts:
                found |= (part != 0) & (np.abs(part) < np.finfo(values.dtype).smallest_normal)
    return found


def _matching(operands: Sequence[Any], shape: tuple[int, ...]) -> list[np.ndarray]:
    """Those operands whose elements stand beside the result's."""
    arrays = [np.asarray(values) for values in operands]
    return [np.broadcast_to(a, shape) for a in arrays if a.shape in ((), shape)]


def _describe(
    got: np.ndarray, want: np.ndarray, bad: np.ndarray, dtype: dtype, operands: Sequence[Any]
) -> str:
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    text = f"{int(bad.sum())} of {bad.size} elements differ; at {at}: got {got[at]!r}, "
    text += f"expected {np.asarray(want)[at]!r} ({dtype.name})"
    shown = [repr(values[at]) for values in _matching(operands, got.shape)]
    return f"{text} from ({', '.join(shown)})" if shown else text
