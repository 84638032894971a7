"""C types of the dtypes; loads, stores and casts as C text."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, HALVES, INTEGER, dtype

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
FUNCTION f32 odd_of_long(i64 x) {
    u64 size = x < 0 ? (u64)0 - (u64)x : (u64)x;
    f32 near = (f32)size;
    u32 bits = BITS32(near);
    if ((u64)near != size && !(bits & 1u)) bits += (u64)near > size ? -1 : 1;
    return x < 0 ? -FLOAT32(bits) : FLOAT32(bits);
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
    found = ""
    if "bfloat(" in source or "LOAD_BFLOAT" in source:
        found += BFLOAT16 + BFLOAT16_OF_DOUBLE * float64
    for t in ("f32", "f64"):
        if f"_of_{t}(" in source:
            found += _truncation(t)
    return found


def compute_type(d: dtype) -> str:
    """The C type that values of *d* have between a load and a store."""
    return "f32" if d in HALVES else STORAGE[d]


def raw(d: dtype) -> dtype:
    """The integer dtype as wide as *d*: what only moves values needs one kernel for each width."""
    return {1: dtypes.uint8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[d.itemsize]


def unsigned(ctype: str) -> str:
    """The unsigned type in which integers of *ctype* wrap."""
    return "u64" if ctype == "i64" else "u32"


def load(d: dtype, pointer: str, i: str) -> str:
    """The value at ``pointer[i]``."""
    if d in HALVES:
        return f"LOAD_{'HALF' if d is dtypes.float16 else 'BFLOAT'}({pointer}, {i})"
    return f"{pointer}[{i}]"


def store(d: dtype, pointer: str, i: str, value: str) -> str:
    """A statement that writes *value* to ``pointer[i]``."""
    if d is dtypes.float16:
        return f"STORE_HALF({pointer}, {i}, {value});"
    if d is dtypes.bfloat16:
        value = f"bfloat({value})"
    return f"{pointer}[{i}] = {value};"


def cast(value: str, source: dtype, target: dtype) -> str:
    """*value*, of *source*'s compute type, as one of *target*'s."""
    if source is target:
        return value
    if target.category == BOOL:
        return f"(u8)(({value}) != 0)"
    if source.category == FLOAT and target.category == INTEGER:
        whole = "i32" if target.itemsize == 4 else "i64"
        return f"({compute_type(target)}){whole}_of_{compute_type(source)}({value})"
    return f"({compute_type(target)})({value})"


def cast_for_store(value: str, source: dtype, target: dtype) -> str:
    """As ``cast``, for a value that is rounded once, by ``store``."""
    if target is dtypes.float16 and source is dtypes.float64:
        return value
    if target is dtypes.bfloat16 and source is dtypes.float64:
        return f"odd_of_double({value})"
    if target is dtypes.bfloat16 and source in (dtypes.int32, dtypes.int64):
        return f"odd_of_long({value})"
    return cast(value, source, target)
