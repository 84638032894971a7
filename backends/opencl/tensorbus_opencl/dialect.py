"""OpenCL C as a dialect of the kernel generator."""

from __future__ import annotations

from typing import Any

from pyopencl import device_fp_config, device_type

from tensorbus.plugin.kernel_language import Dialect

PRELUDE = """
#pragma OPENCL FP_CONTRACT OFF
typedef char i8; typedef uchar u8; typedef short i16; typedef ushort u16;
typedef int i32; typedef uint u32; typedef long i64; typedef ulong u64;
typedef half f16; typedef float f32;
#define KERNEL __kernel
#define GLOBAL __global
#define FUNCTION static inline
#define ITEM get_global_id(0)
#define ROW get_global_id(1)
#define LOAD_HALF(p, i) vload_half(i, p)
#define STORE_HALF(p, i, v) vstore_half_rte(v, i, p)
#define BITS32(x) as_uint(x)
#define FLOAT32(x) as_float(x)
#define BITS64(x) as_ulong(x)
#define FLOAT64(x) as_double(x)
#define MULHI(a, b) mul_hi(a, b)
#define CAS32(p, old, new) atomic_cmpxchg((volatile __global uint *)(p), old, new)
#define CAS64(p, old, new) atom_cmpxchg((volatile __global ulong *)(p), old, new)
typedef float16 VECTOR;
#define VLOAD(p) vload16(0, p)
#define VSTORE(p, v) vstore16(v, 0, p)
#define SPLAT(x) ((float16)(x))
#define SELECT32(c, x, y) select((f32)(y), (f32)(x), (i32)(c))
"""

DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double f64;\n"
MULADD = "#define MULADD(a, b, c) ((a) * (b) + (c))\n"
FUSED_MULADD = "#define MULADD(a, b, c) fma(a, b, c)\n"
ATOMICS64 = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
# PoCL has exp and tanh for vectors.
SCALAR_ON_CPU = frozenset(["expm1", "log", "log1p", "erf"])


def dialect_of(device: Any) -> Dialect:
    """The dialect of one OpenCL device."""
    extensions = device.extensions.split()
    double = "cl_khr_fp64" in extensions or bool(device.double_fp_config)
    atomics64 = "cl_khr_int64_base_atomics" in extensions
    # The macro FP_FAST_FMAF says less: PoCL leaves it out on processors that have the instruction.
    fused = bool(device.single_fp_config & device_fp_config.FMA)
    is_cpu = bool(device.type & device_type.CPU)
    return Dialect(
        prelude=(DOUBLE if double else "")
        + (ATOMICS64 if atomics64 else "")
        + PRELUDE
        + (FUSED_MULADD if fused else MULADD),
        group=min(64, device.max_work_group_size),
        float64=double,
        atomics64=atomics64,
        vector=16,
        units=8 * device.max_compute_units,
        polynomials=SCALAR_ON_CPU if is_cpu else frozenset(),
        tiles=is_cpu,
    )
