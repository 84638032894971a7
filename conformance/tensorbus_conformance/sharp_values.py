"""Values at which kernels go wrong: all over a range, at the ends of a function, at ties."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tensorbus.plugin import dtype
from tensorbus_conformance import formats, values

_BITS = {formats.FLOAT16: np.uint16, formats.FLOAT32: np.uint32, formats.FLOAT64: np.uint64,
         formats.BFLOAT16: np.uint16}  # fmt: skip


@values.kept
def anywhere(d: dtype, shape: tuple[int, ...], key: object) -> np.ndarray:
    """Half of them usual values, half of any bits: every binade, infinities, NaN."""
    usual = values.plain(d, shape, key)
    if d not in formats.FLOATS:
        return usual
    random = values.rng("anywhere", d.name, shape, key)
    bits = random.integers(0, 2 ** (8 * d.itemsize), shape, dtype=_BITS[d], endpoint=False)
    host = bits if d is formats.BFLOAT16 else bits.view(formats.host_dtype(d))
    found = formats.decode(host, d)
    # Which NaN it is means nothing, but one that signals is no number for C's functions.
    found = np.where(np.isnan(found), np.nan, found)
    # Subnormal numbers have cases of their own, which know of devices that flush them.
    found = np.where(np.abs(found) < formats.smallest_normal(d), found.dtype.type(0), found)
    with np.errstate(all="ignore"):
        return np.where(random.random(shape) < 0.5, usual, found).astype(usual.dtype)


def neighbours(d: dtype, points: list[float], count: int = 3) -> np.ndarray:
    """Each of the points rounded to *d*, and the *count* numbers of *d* on either side of it."""
    found = []
    for point in points:
        here = formats.round_to(np.asarray(point), d)
        below = above = here
        found.append(here)
        for _ in range(count):
            below, above = _next(below, -np.inf, d), _next(above, np.inf, d)
            found += [below, above]
    return np.array(found, formats.value_dtype(d))


def _next(x: np.ndarray, to: float, d: dtype) -> np.ndarray:
    if d is not formats.BFLOAT16:
        return np.asarray(np.nextafter(x, x.dtype.type(to)))
    if x == 0 or not np.isfinite(x):
        return x
    away = (x > 0) == (to > 0)
    bits = np.asarray(x, np.float32).view(np.uint32) + np.uint32(
        0x10000 if away else -0x10000 % 2**32
    )
    return np.asarray(bits, np.uint32).view(np.float32)


def ends(op: str, d: dtype) -> np.ndarray:
    """Where the unary function *op* of *d* overflows, vanishes, changes its sign or its way."""
    top, tiny = formats.largest(d), formats.smallest_normal(d)
    most, least = math.log(top), math.log(tiny)
    whole = 1 / formats.unit_roundoff(d)
    points = {
        "exp": [most, least, -most, least / 2, 1e-3, math.log(2), -math.log(2) / 2, least * 1.2],
        "expm1": [most, 1e-3, -1e-3, math.log(1.25), -37.0, -17.0, -8.0, -0.5, 0.35, tiny * 4],
        "log": [1.0, math.sqrt(2), math.sqrt(0.5), 2.0, top, tiny, math.e, 0.5],
        "log1p": [-1.0, 0.41421356, -0.29289321, 1e-3, -1e-3, top, tiny * 4, 1.0],
        "sin": [k * math.pi / 4 for k in range(1, 18)] + [1e3, 2.0**20, 1e5 * math.pi],
        "cos": [k * math.pi / 4 for k in range(1, 18)] + [1e3, 2.0**20, 1e5 * math.pi],
        "tanh": [0.55, 0.625, 1.0, 4.9, 9.01, 19.06, 22.0, 44.0, 1e-3, -9.01, tiny * 4],
        "sqrt": [top, tiny, 1.0, 2.0, 4.0, whole, 0.25],
        "abs": [tiny, top, -top, -1.0],
        "floor": [0.5, 1.0, -1.0, -0.5, whole / 4, whole / 2, whole, 2 * whole, -whole / 4,
                  -whole / 2, -whole, 1e9, 3e9, 1e19, -1e19],
    }  # fmt: skip
    points["round"] = [*points["floor"], 1.5, 2.5, -1.5, -2.5, whole / 4 + 0.5, whole / 4 + 1.5]
    inside = [p for p in points[op] if abs(p) <= top]
    found = neighbours(d, inside)
    both = np.concatenate([found, -found, [np.inf, -np.inf, np.nan, 0.0, -0.0]])
    keep = ~(np.abs(both) < tiny) | (both == 0)
    return both[keep].astype(formats.value_dtype(d))


def nearest(value: float | int, d: dtype) -> float:
    """The number of the float dtype *d* nearest to *value*, by whole numbers alone."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    step = formats.unit_roundoff(d) * 2
    low = formats.smallest_normal(d)
    exponent = max(_exponent(abs(exact)), round(math.log2(low)))
    spacing = Fraction(step) * Fraction(2) ** exponent
    rounded = round(exact / spacing) * spacing  # Python rounds halves of a Fraction to even
    if abs(rounded) > Fraction(formats.largest(d)):
        return math.copysign(math.inf, rounded)
    return math.copysign(float(rounded), exact)


def _exponent(x: Fraction) -> int:
    """The e of 2**e <= x < 2**(e + 1)."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def ties(src: dtype, dst: dtype) -> list[int | float]:
    """Values of *src* just beside a tie of *dst*, which a rounding in between would make a tie."""
    if dst not in formats.FLOATS or src is formats.BOOL:
        return []
    digits = round(-math.log2(formats.unit_roundoff(dst)))
    found: list[int | float] = []
    if src in formats.INTS:
        low, high = formats.limits(src)
        for bits in (digits + 1, digits + 2, digits + 9, 31, 33, 54, 55, 61, 62, 63):
            for odd in (0, 1):
                tie = (1 << (bits - 1)) + (1 << max(bits - 1 - digits, 0)) * (1 + 2 * odd)
                found += [s * (tie + e) for e in (-1, 0, 1) for s in (1, -1)]
        found += [2**24 + 1, 2**53 + 1, 2**53 + 3, high, low, high - 1, 65519, 65520, 65536]
        return [v for v in found if low <= v <= high]
    if formats.unit_roundoff(src) >= formats.unit_roundoff(dst):
        return []
    step = 2 * formats.unit_roundoff(dst)
    fine = 4 * formats.unit_roundoff(src)
    top, tiny = formats.largest(dst), formats.smallest_normal(dst)
    for scale in (1.0, 2.0**9, 2.0**-7, tiny, tiny * 2.0**-3):
        unit = step * max(scale, tiny)
        for odd in (0, 1):
            middle = scale + unit * (0.5 + odd)
            found += [s * middle * (1 + e) for e in (-fine, 0.0, fine) for s in (1, -1)]
    over = top + step * 2.0 ** math.floor(math.log2(top)) / 2
    if over < formats.largest(src):
        found += [over, over * (1 - fine), over * (1 + fine), -over]
    held = formats.value_dtype(src).type
    return [float(held(v)) for v in found]
