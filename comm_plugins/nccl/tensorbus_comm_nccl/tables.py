"""Which reductions NCCL does itself, and as what it sees the numbers."""

from __future__ import annotations

from cupy.cuda import nccl

from tensorbus import plugin
from tensorbus.plugin import dtype

DTYPES = frozenset(
    getattr(plugin, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
    ).split()
)

_TYPES = {
    "bool": nccl.NCCL_UINT8, "uint8": nccl.NCCL_UINT8, "int8": nccl.NCCL_INT8,
    "int32": nccl.NCCL_INT32, "int64": nccl.NCCL_INT64, "float16": nccl.NCCL_FLOAT16,
    "float32": nccl.NCCL_FLOAT32, "float64": nccl.NCCL_FLOAT64,
}  # fmt: skip
_OPS = {
    "sum": nccl.NCCL_SUM, "product": nccl.NCCL_PROD, "min": nccl.NCCL_MIN, "max": nccl.NCCL_MAX,
}  # fmt: skip
_BOOL_OPS = {"sum": "max", "bor": "max", "max": "max", "product": "min", "band": "min",
             "min": "min"}  # fmt: skip


def native(op: str, dtype: dtype) -> tuple[int, int, int] | None:
    """NCCL's number type, its operation, and how many such numbers an element has.

    None where NCCL has no such operation or number, or loses NaN in it.
    """
    name, parts = dtype.name, 1
    if name == "bool":
        op = _BOOL_OPS.get(op, op)
    elif dtype.is_complex and op == "sum":
        name, parts = {"complex64": "float32", "complex128": "float64"}[name], 2
    elif dtype.is_floating_point and op in ("min", "max"):
        return None
    if name not in _TYPES or op not in _OPS:
        return None
    return _TYPES[name], _OPS[op], parts
