"""C types of the dtypes; loads, stores and casts as C text."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, INTEGER, dtype

STORAGE = {
    dtypes.bool: "u8",
    dtypes.uint8: "u8",
    dtypes.int8: "i8",
    dtypes.int16: "i16",
    dtypes.int32: "i32",
    dtypes.int64: "i64",
    dtypes.float16: "f16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
}


def compute_type(d: dtype) -> str:
    """The C type that values of *d* have between a load and a store."""
    return "f32" if d is dtypes.float16 else STORAGE[d]


def raw(d: dtype) -> dtype:
    """The integer dtype as wide as *d*: what only moves values needs one kernel for each width."""
    return {1: dtypes.uint8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[d.itemsize]


def unsigned(ctype: str) -> str:
    """The unsigned type in which integers of *ctype* wrap."""
    return "u64" if ctype == "i64" else "u32"


def load(d: dtype, pointer: str, i: str) -> str:
    """The value at ``pointer[i]``."""
    return f"LOAD_HALF({pointer}, {i})" if d is dtypes.float16 else f"{pointer}[{i}]"


def store(d: dtype, pointer: str, i: str, value: str) -> str:
    """A statement that writes *value* to ``pointer[i]``."""
    if d is dtypes.float16:
        return f"STORE_HALF({pointer}, {i}, {value});"
    return f"{pointer}[{i}] = {value};"


def cast(value: str, source: dtype, target: dtype) -> str:
    """*value*, of *source*'s compute type, as one of *target*'s."""
    if source is target:
        return value
    if target.category == BOOL:
        return f"(u8)(({value}) != 0)"
    if source.category == FLOAT and target.category == INTEGER and target.itemsize < 4:
        return f"({compute_type(target)})(i64)({value})"
    if target is dtypes.float16:
        return f"(f32)({value})"
    return f"({compute_type(target)})({value})"


def cast_for_store(value: str, source: dtype, target: dtype) -> str:
    """As ``cast``, but a double goes to ``STORE_HALF`` as it is, to be rounded once."""
    if target is dtypes.float16 and source is dtypes.float64:
        return value
    return cast(value, source, target)
