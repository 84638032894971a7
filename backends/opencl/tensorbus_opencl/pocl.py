"""What generated kernels use of OpenCL C, declared for PoCL.

PoCL puts Clang's header of all functions, 18,000 lines, in front of every program, and reads it
even where the program's code is in its cache: ten times the work of one of our kernels.
``WITHOUT_HEADER`` says that it was read already; ``DECLARATIONS`` stand in its place. Types and
constants are in another header, which stays.
"""

from __future__ import annotations

from typing import Any

from pyopencl import device_type

WITHOUT_HEADER = "-D_OPENCL_H_"

# Where it was tried: what others put around that header is not known.
_RELEASES = ("3.1",)

_UNARY = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 expm1 fabs floor log log10 log1p "
    "log2 rint sin sinh sqrt tan tanh trunc"
)
_BINARY = "atan2 copysign fmod pow"


def _functions(t: str) -> str:
    unary = [f"PURE({t}) {name}({t});\n" for name in _UNARY.split()]
    binary = [f"PURE({t}) {name}({t}, {t});\n" for name in _BINARY.split()]
    return "".join([*unary, *binary, f"PURE({t}) fma({t}, {t}, {t});\n"])


# The types are the header's, as overloaded functions are found by them; so are the attributes. Each
# type that C would convert to a declared one, without a word, is declared too.
DECLARATIONS = f"""
#define OVERLOADED(t) t __attribute__((overloadable))
#define LOADING(t) OVERLOADED(t) __attribute__((pure))
#define PURE(t) OVERLOADED(t) __attribute__((const))
PURE(size_t) get_global_id(uint);
PURE(ulong) mul_hi(ulong, ulong);
PURE(uint) mul_hi(uint, uint);
PURE(long) mul_hi(long, long);
PURE(int) mul_hi(int, int);
PURE(float) select(float, float, int);
OVERLOADED(uint) atomic_cmpxchg(volatile __global uint *, uint, uint);
LOADING(float) vload_half(size_t, const __global half *);
OVERLOADED(void) vstore_half_rte(float, size_t, __global half *);
LOADING(float16) vload16(size_t, const __global float *);
OVERLOADED(void) vstore16(float16, size_t, __global float *);
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
OVERLOADED(ulong) atom_cmpxchg(volatile __global ulong *, ulong, ulong);
#endif
{_functions("float")}{_functions("float16")}
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
{_functions("double")}
PURE(double) select(double, double, long);
OVERLOADED(void) vstore_half_rte(double, size_t, __global half *);
#endif
"""


def takes_declarations(device: Any) -> bool:
    """Whether a device's compiler is known to do without its header."""
    is_cpu = bool(device.type & device_type.CPU)
    is_pocl = device.platform.name == "Portable Computing Language"
    return is_cpu and is_pocl and device.driver_version.startswith(_RELEASES)
