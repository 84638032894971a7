"""CUDA C++ that the kernels of this package share, and how they become CuPy kernels.

The texts keep to what a C++ compiler for the host takes too, so that the tests can run them there.
"""

from __future__ import annotations

import functools
from typing import Any

import cupy

PRELUDE = """
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef int i32;
typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
typedef float f32; typedef double f64;
#ifndef FUNCTION
#define FUNCTION static __device__ inline
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
"""

# CuPy lets NVRTC contract products and sums to fused multiply-adds, which round once less.
OPTIONS = ("--fmad=false",)


@functools.cache
def elementwise(inputs: str, outputs: str, body: str, name: str, helpers: str = "") -> Any:
    """The kernel that runs *body* for each element, with CuPy's parameter texts."""
    return cupy.ElementwiseKernel(
        inputs, outputs, body, name, preamble=PRELUDE + helpers, options=OPTIONS
    )
