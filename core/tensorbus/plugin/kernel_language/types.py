"""C types of the dtypes; loads, stores and casts as C text."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, INTEGER, dtype

FLOAT8 = {
    dtypes.float8_e4m3fn: (3, 7, False, False),
    dtypes.float8_e5m2: (2, 15, True, False),
    dtypes.float8_e4m3fnuz: (3, 8, False, True),
    dtypes.float8_e5m2fnuz: (2, 16, False, True),
}
"""Bits of fraction, the exponent's bias, whether infinities exist, whether -0 stands for NaN."""

STORAGE = {
    dtypes.bool: "u8",
    dtypes.uint8: "u8",
    dtypes.int8: "i8",
    dtypes.int16: "i16",
    dtypes.int32: "i32",
    dtypes.int64: "i64",
    dtypes.float16: "f16",
    dtypes.bfloat16: "i16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
    dtypes.uint16: "w16",
    dtypes.uint32: "u32",
    dtypes.uint64: "u64",
    **dict.fromkeys(FLOAT8, "u8"),
}
# Rounding again gives what rounding once does, where the last bit of a float that a bit was lost of
# is one. Magnitudes of floats are ordered as their bits are.
BFLOAT16 = """
#define LOAD_BFLOAT(p, i) FLOAT32((u32)(p)[i] << 16)
FUNCTION i16 bfloat(f32 x) {
    u32 bits = BITS32(x);
    if (x != x) return (i16)((bits >> 16 & 0x8000u) | 0x7FC0u);
    return (i16)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
FUNCTION f32 odd_of_ulong(u64 size) {
    f32 near = (f32)size;
    u32 bits = BITS32(near);
    if (near >= 18446744073709551616.0f) return FLOAT32(bits - 1u);
    if ((u64)near != size && !(bits & 1u)) bits += (u64)near > size ? -1 : 1;
    return FLOAT32(bits);
}
FUNCTION f32 odd_of_long(i64 x) {
    return x < 0 ? -odd_of_ulong((u64)0 - (u64)x) : odd_of_ulong((u64)x);
}
"""
BFLOAT16_OF_DOUBLE = """
FUNCTION f32 odd_of_double(f64 x) {
    f32 near = (f32)x;
    u32 bits = BITS32(near);
    if (x == x && (f64)near != x && !(bits & 1u)) bits += fabs((f64)near) > fabs(x) ? -1 : 1;
    return FLOAT32(bits);
}
"""

# Numbers of eight bits: M bits of fraction, the exponent's bias B, whether infinities exist, and
# whether the pattern of -0 is the one NaN (Z). Those below the least normal number are rounded by
# an addition whose last bit is theirs.
FLOAT8_TEXT = """
FUNCTION f32 load_{N}(u32 b) {
    u32 size = b & 0x7Fu, e = size >> {M};
    f32 x = e ? FLOAT32(((e + {127-B}) << 23) | ((size << {23-M}) & 0x7FFFFFu))
        : (f32)size * FLOAT32({128-B-M}u << 23);
    if ({INF} && e == 31u) x = FLOAT32(size == 0x7Cu ? 0x7F800000u : 0x7FC00000u);
    if (!{INF} && !{Z} && size == 0x7Fu) x = FLOAT32(0x7FC00000u);
    if ({Z} && b == 0x80u) return FLOAT32(0x7FC00000u);
    return b & 0x80u ? -x : x;
}
FUNCTION u8 store_{N}(f32 x) {
    u32 bits = BITS32(x), sign = (bits >> 24) & 0x80u, size = bits & 0x7FFFFFFFu, r;
    if (x != x) return (u8)({Z} ? 0x80u : sign | {NAN});
    if (size >= {128-B}u << 23) {
        r = size - ({127-B}u << 23);
        r = (r + {HALF} - 1u + ((r >> {23-M}) & 1u)) >> {23-M};
    } else r = BITS32(FLOAT32(size) + FLOAT32({151-B-M}u << 23)) - ({151-B-M}u << 23);
    if (r > {MOST}) return (u8)({Z} ? 0x80u : sign | {OVER});
    return (u8)({Z} && !r ? 0u : sign | r);
}
"""


def _float8(d: dtype) -> str:
    fraction, bias, infinite, zero = FLOAT8[d]
    over = 0x7C if infinite else 0x7E
    most = 0x7B if infinite else 0x7F if zero else 0x7E
    found = FLOAT8_TEXT
    for name, value in {
        "{N}": d.name, "{M}": fraction, "{127-B}": 127 - bias, "{128-B}": 128 - bias,
        "{23-M}": 23 - fraction, "{128-B-M}": 128 - bias - fraction,
        "{151-B-M}": 151 - bias - fraction, "{INF}": int(infinite), "{Z}": int(zero),
        "{NAN}": "0x7Fu" if not infinite else "0x7Eu", "{HALF}": f"{1 << (22 - fraction)}u",
        "{MOST}": f"{most}u", "{OVER}": f"{over}u",
    }.items():  # fmt: skip
        found = found.replace(name, str(value))
    return found


# C says nothing of floats that the integers have no number for: they become the least.
TRUNCATION = """
FUNCTION i64 i64_of_{T}({T} x) {
    return x >= -9223372036854775808.0{F} && x < 9223372036854775808.0{F} ? (i64)x
        : (i64)((u64)1 << 63);
}
FUNCTION i32 i32_of_{T}({T} x) {
    return x > {LOW} && x < 2147483648.0{F} ? (i32)x : (i32)((u32)1 << 31);
}
"""


def _truncation(t: str) -> str:
    # Of float32 numbers the next below -2**31, and that itself, give the least as well.
    f, low = ("f", "-2147483648.0f") if t == "f32" else ("", "-2147483649.0")
    return TRUNCATION.replace("{T}", t).replace("{F}", f).replace("{LOW}", low)


def definitions(source: str, float64: bool) -> str:
    """The functions of this module that a kernel's text calls."""
    found = "typedef unsigned short w16;\n" if "w16" in source else ""  # no type of dialects
    narrow = [d for d in FLOAT8 if f"_{d.name}(" in source]
    if "bfloat(" in source or "LOAD_BFLOAT" in source or narrow:
        found += BFLOAT16 + BFLOAT16_OF_DOUBLE * float64
    found += "".join(map(_float8, narrow))
    for t in ("f32", "f64"):
        if f"_of_{t}(" in source:
            found += _truncation(t)
    return found


def compute_type(d: dtype) -> str:
    """The C type that values of *d* have between a load and a store."""
    return "f32" if d in HALVES or d in FLOAT8 else STORAGE[d]


def raw(d: dtype) -> dtype:
    """The integer dtype as wide as *d*: what only moves values needs one kernel for each width."""
    return {1: dtypes.uint8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[d.itemsize]


def unsigned(ctype: str) -> str:
    """The unsigned type in which integers of *ctype* wrap."""
    return "u64" if ctype in ("i64", "u64") else "u32"


def load(d: dtype, pointer: str, i: str) -> str:
    """The value at ``pointer[i]``."""
    if d in HALVES:
        return f"LOAD_{'HALF' if d is dtypes.float16 else 'BFLOAT'}({pointer}, {i})"
    if d in FLOAT8:
        return f"load_{d.name}({pointer}[{i}])"
    return f"{pointer}[{i}]"


def store(d: dtype, pointer: str, i: str, value: str) -> str:
    """A statement that writes *value* to ``pointer[i]``."""
    if d is dtypes.float16:
        return f"STORE_HALF({pointer}, {i}, {value});"
    if d is dtypes.bfloat16:
        value = f"bfloat({value})"
    if d in FLOAT8:
        value = f"store_{d.name}({value})"
    return f"{pointer}[{i}] = {value};"


def cast(value: str, source: dtype, target: dtype) -> str:
    """*value*, of *source*'s compute type, as one of *target*'s."""
    if source is target:
        return value
    if target.category == BOOL:
        return f"(u8)(({value}) != 0)"
    if source.category == FLOAT and target.category == INTEGER:
        whole = "i32" if target is dtypes.int32 else "i64"
        return f"({compute_type(target)}){whole}_of_{compute_type(source)}({value})"
    return f"({compute_type(target)})({value})"


def cast_for_store(value: str, source: dtype, target: dtype) -> str:
    """As ``cast``, for a value that is rounded once, by ``store``."""
    if target is dtypes.float16 and source is dtypes.float64:
        return value
    narrow = target is dtypes.bfloat16 or target in FLOAT8
    if narrow and source is dtypes.float64:
        return f"odd_of_double({value})"
    if narrow and source.category == INTEGER and source.itemsize >= 4:
        return f"odd_of_{'' if source.is_signed else 'u'}long({value})"
    return cast(value, source, target)
