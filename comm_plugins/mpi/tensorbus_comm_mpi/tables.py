"""Which reductions MPI does itself, and for which dtypes the comm is a way."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from tensorbus import plugin
from tensorbus.plugin import dtype

DTYPES = frozenset(
    getattr(plugin, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
)

_TYPES = {
    "uint8": MPI.UINT8_T, "uint16": MPI.UINT16_T, "uint32": MPI.UINT32_T, "uint64": MPI.UINT64_T,
    "int8": MPI.INT8_T, "int16": MPI.INT16_T, "int32": MPI.INT32_T, "int64": MPI.INT64_T,
    "float32": MPI.FLOAT, "float64": MPI.DOUBLE,
}  # fmt: skip
_OPS = {
    "sum": MPI.SUM, "product": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX,
    "band": MPI.BAND, "bor": MPI.BOR, "bxor": MPI.BXOR,
}  # fmt: skip
_BOOL_OPS = {"sum": "bor", "max": "bor", "product": "band", "min": "band"}

Native = tuple[np.dtype, MPI.Datatype, MPI.Op]


def native(op: str, dtype: dtype) -> Native | None:
    """As what MPI's own operation sees the numbers; None where its result would be another.

    MPI's minima and maxima may lose NaN, its complex products may differ in the last bit between
    ranks, and it knows neither bfloat16 nor, by a name that all libraries share, float16. Sums of
    small integers stop at the largest one in Open MPI 5 (its op/avx), instead of wrapping.
    """
    name = dtype.name
    if op == "sum" and name in ("uint8", "int8", "int16"):
        return None
    if name == "bool":
        name, op = "uint8", _BOOL_OPS.get(op, op)
    elif dtype.is_complex and op == "sum":
        name = "float32" if name == "complex64" else "float64"
    elif dtype.is_complex or name in ("float16", "bfloat16"):
        return None
    elif dtype.is_floating_point:
        if op in ("min", "max"):
            return None
    elif op not in ("min", "max") and name.startswith("int"):
        # The same bits, and where they wrap C says so for unsigned numbers only.
        name = "u" + name
    return np.dtype(name), _TYPES[name], _OPS[op]
