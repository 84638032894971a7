"""What error texts call a dtype: PyTorch's scalar type, or the type of C++ that holds it."""

from __future__ import annotations

from tensorbus._base.dtypes import dtype


def scalar_name(d: dtype) -> str:
    """A dtype as most error texts call it: ``Float``, ``Long``."""
    return d.legacy.removesuffix("Tensor")


def c_name(d: dtype) -> str:
    """A dtype as error texts of kernels call it: ``float``, ``long int``."""
    return _C_NAMES.get(d.name, d.name)


_C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "bool": "bool",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "complex32": "c10::complex<c10::Half>",
    "float8_e4m3fn": "c10::Float8_e4m3fn", "float8_e5m2": "c10::Float8_e5m2",
    "float8_e4m3fnuz": "c10::Float8_e4m3fnuz", "float8_e5m2fnuz": "c10::Float8_e5m2fnuz",
}  # fmt: skip
