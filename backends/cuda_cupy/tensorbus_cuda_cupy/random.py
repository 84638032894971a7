"""Random numbers: Philox4x64-10 and what the frontend makes of its words, one launch each."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus_cuda_cupy.texts import elementwise

_MASK = (1 << 64) - 1

PHILOX = """
struct Stream { u64 key0, key1, c0, c1, c2, c3; };

// Word i of the stream: word i % 4 of the block with the counter c + i / 4.
FUNCTION u64 word_of(Stream s, i64 i) {
    u64 a = s.c0 + (u64)(i >> 2), b = s.c1, c = s.c2, d = s.c3;
    if (a < s.c0 && ++b == 0 && ++c == 0) ++d;
    u64 k0 = s.key0, k1 = s.key1;
    for (int round = 0; round < 10; round++) {
        u64 high0 = __umul64hi(a, 0xD2E7470EE14C6C93ull), low0 = a * 0xD2E7470EE14C6C93ull;
        u64 high1 = __umul64hi(c, 0xCA5A826395121157ull), low1 = c * 0xCA5A826395121157ull;
        a = high1 ^ b ^ k0; b = low1; c = high0 ^ d ^ k1; d = low0;
        k0 += 0x9E3779B97F4A7C15ull; k1 += 0xBB67AE8584CAA73Bull;
    }
    int at = (int)(i & 3);
    return at == 0 ? a : at == 1 ? b : at == 2 ? c : d;
}
"""

# 53 bits of a word for float64; otherwise 24 bits of each half, of which the 16-bit dtypes keep as
# many as they have: cut, so that rounding never gives 1.
UNIFORM = {
    "float64": """
FUNCTION f64 uniform_of(Stream s, i64 i) { return (f64)(word_of(s, i) >> 11) * 0x1p-53; }
""",
    "float32": """
FUNCTION f32 uniform_of(Stream s, i64 i) {
    u64 word = word_of(s, i >> 1);
    return (f32)((i & 1 ? word >> 32 : word) & 0xFFFFFF) * 0x1p-24f;
}
""",
}

_STREAM = "uint64 key0, uint64 key1, uint64 c0, uint64 c1, uint64 c2, uint64 c3"
_MADE = "Stream s = {key0, key1, c0, c1, c2, c3};"


def _numbers(key: tuple[int, int], offset: int) -> list[Any]:
    return [np.uint64(v & _MASK) for v in (*key, *(offset >> (64 * i) for i in range(4)))]


def _random_bits(dtype: dtype) -> Kernel | None:
    kernel = elementwise(
        _STREAM, "int64 z", f"{_MADE} z = (i64)word_of(s, i)", "tensorbus_random_bits", PHILOX
    )

    def random_bits(key: tuple[int, int], offset: int, n: int) -> Array:
        return kernel(*_numbers(key, offset), cupy.empty(n, np.int64))

    return random_bits


def _uniform(dtype: dtype) -> Kernel | None:
    if not dtype.is_floating_point:
        return None
    body = f"{_MADE} z = uniform_of(s, i)"
    if dtype.name == "float16":
        body = f"{_MADE} z = floor(uniform_of(s, i) * 2048.0f) * 0x1p-11f"
    helpers = PHILOX + UNIFORM["float64" if dtype.name == "float64" else "float32"]
    kernel = elementwise(_STREAM, f"{dtype.name} z", body, "tensorbus_uniform", helpers)

    def uniform(key: tuple[int, int], offset: int, n: int) -> Array:
        return kernel(*_numbers(key, offset), cupy.empty(n, dtype.name))

    return uniform


def _normal(dtype: dtype) -> Kernel | None:
    if not dtype.is_floating_point:
        return None
    t = "f64" if dtype.name == "float64" else "f32"
    # Box and Muller: the radius from one uniform, the angle from that half of the stream further.
    body = f"""{_MADE}
    i64 pair = i < half ? i : i - half;
    {t} radius = sqrt(log1p(-uniform_of(s, pair)) * ({t})-2);
    {t} angle = uniform_of(s, half + pair) * ({t})6.283185307179586;
    z = radius * (i < half ? cos(angle) : sin(angle))"""
    helpers = PHILOX + UNIFORM["float64" if dtype.name == "float64" else "float32"]
    kernel = elementwise(
        f"{_STREAM}, int64 half", f"{dtype.name} z", body, "tensorbus_normal", helpers
    )

    def normal(key: tuple[int, int], offset: int, n: int) -> Array:
        return kernel(*_numbers(key, offset), -(-n // 2), cupy.empty(n, dtype.name))

    return normal


def _integers(dtype: dtype) -> Kernel | None:
    if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
        return None
    body = f"""{_MADE}
    u64 word = word_of(s, i);
    if (span == 0) {{ }}
    else if (span <= 1ull << 63) word = (word & ((1ull << 63) - 1)) % span;
    else if (word >= span) word -= span;
    z = (i64)(word + low)"""
    kernel = elementwise(
        f"{_STREAM}, uint64 low, uint64 span", f"{dtype.name} z", body, "tensorbus_integers",
        PHILOX,
    )  # fmt: skip

    def integers(key: tuple[int, int], offset: int, n: int, low: int, span: int) -> Array:
        out = cupy.empty(n, dtype.name)
        # A span of 2**64 is all words as they are, and 0 in the kernel.
        return kernel(*_numbers(key, offset), np.uint64(low & _MASK), np.uint64(span & _MASK), out)

    return integers


MAKERS = {
    "random_bits": _random_bits,
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
}
