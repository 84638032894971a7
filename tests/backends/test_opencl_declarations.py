"""Generated kernels are built on PoCL without its header of all functions."""

from __future__ import annotations

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.plugin.kernel_language import scalars
from tensorbus.plugin.kernel_language.scalars import expression
from tensorbus.plugin.kernel_language.vector_maths import POLYNOMIALS, vector_maths

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

# The prelude's macros and the polynomials' stand-ins call these on vectors as well.
ON_VECTORS = "expm1 log log1p erf exp tanh fabs floor copysign rint sqrt"

USES_CBRT = "KERNEL void k(GLOBAL f32 *x) { x[ITEM] = cbrt(x[ITEM]); }"


@pytest.fixture
def runtime(opencl):
    """A runtime of its own that builds without the header; skips where the driver is another."""
    from tensorbus_opencl.runtime import Runtime

    backend = opencl.backend
    made = Runtime(backend._found[0], 0, backend.lock, lambda queue: None)
    if not made._declares:
        pytest.skip("this driver reads no header that could be left out")
    return made


def test_all_that_kernels_call_is_declared(runtime, opencl):
    """One program of all pointwise expressions, and of what macros of the prelude stand for."""
    prelude = opencl.backend.dialect(0).prelude
    helpers: dict[str, None] = {}
    lines = []
    for d, t in ((dtypes.float32, "f32"), (dtypes.float64, "f64")):
        for op in scalars._FLOAT:
            text, helper = expression(op, d)
            helpers[helper] = None
            lines.append(f"FUNCTION {t} {op}_of_{t}({t} x, {t} y) {{ return {text}; }}\n")
    for op in ON_VECTORS.split():
        arguments = "x, x" if op == "copysign" else "x"
        lines.append(f"FUNCTION VECTOR {op}_of_v(VECTOR x) {{ return {op}({arguments}); }}\n")
    lines.append(
        "KERNEL void k(GLOBAL f32 *p, GLOBAL f16 *h, GLOBAL u32 *w, GLOBAL u64 *q) {\n"
        "STORE_HALF(h, ITEM, LOAD_HALF(h, ROW));\n"
        "VSTORE(p, MULADD(VLOAD(p), SPLAT(2.0f), VLOAD(p)));\n"
        "p[0] = SELECT32(p[1] > 0, FLOAT32(BITS32(p[2])), (f32)NAN);\n"
        "q[0] = MULHI(q[1], BITS64(FLOAT64(q[2]))); CAS32(w, w[1], 2u); CAS64(q, q[1], 3ul);\n"
        "p[3] = MULADD(p[1], p[2], -INFINITY); }\n"
    )
    text = "".join([*helpers, *lines])
    for polynomials in (frozenset(), POLYNOMIALS):
        runtime.build(prelude + vector_maths(text, polynomials) + text)
        assert runtime._declares


def test_doubles_are_rounded_to_halves_once(runtime, opencl):
    text = "KERNEL void k(GLOBAL f16 *h, GLOBAL f64 *x) { STORE_HALF(h, ITEM, x[ITEM]); }"
    program = runtime.build(opencl.backend.dialect(0).prelude + text)
    assert runtime._declares
    # Close to the middle of two halves, where a rounding to float32 before would decide.
    x = np.array([1 + 2.0**-11 + 2.0**-40, 65520 - 2.0**-20] * 32)
    flags, halves = cl.mem_flags, np.empty(64, np.float16)
    there, here = (cl.Buffer(runtime.context, flags.COPY_HOST_PTR, hostbuf=a) for a in (x, halves))
    queue = runtime.current.queue
    cl.Kernel(program, "k")(queue, (64,), (64,), here, there)
    cl.enqueue_copy(queue, halves, here, is_blocking=True)
    assert halves.tolist() == x.astype(np.float16).tolist() == [1 + 2.0**-10, 65504.0] * 32


def test_a_function_that_is_not_declared_is_found_in_the_header(runtime, opencl):
    program = runtime.build(opencl.backend.dialect(0).prelude + USES_CBRT)
    assert not runtime._declares
    x = np.array([8.0, -27.0] * 32, np.float32)
    memory = cl.Buffer(runtime.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    queue = runtime.current.queue
    cl.Kernel(program, "k")(queue, (64,), (64,), memory)
    cl.enqueue_copy(queue, x, memory, is_blocking=True)
    np.testing.assert_allclose(x, [2.0, -3.0] * 32, rtol=2e-7)


def test_a_kernel_that_is_wrong_is_refused_with_its_text(runtime):
    with pytest.raises(cl.RuntimeError, match="no_such_function"):
        runtime.build("__kernel void k(__global float *x) { *x = no_such_function(1); }")
