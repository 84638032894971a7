"""``erf`` and ``gelu`` for the device ``cpu``, in one pass over memory.

The frontend composes both of about a hundred calls, each of which reads and writes the whole array.
Here blocks of it go through all steps while they lie in the processor's cache.
"""

import numpy as np

from tensorbus.plugin import OverlaySpec, float32, hookimpl

BLOCK = 16 * 1024
"""Elements: three arrays of so many float32 numbers fit into a core's cache."""

EDGE = np.float32(4.4)
"""At and beyond this erf is 1 in float32."""

# atanh(erf(x)) / x as a polynomial in x**2, fitted up to EDGE, lowest power first. The hyperbolic
# tangent flattens towards 1, and so does the error: erf is within 4 units in the last place.
SERIES = [
    np.float32(c)
    for c in (
        1.12837919, 1.02771798e-1, -2.04692538e-4, -5.98987673e-4, 7.24969711e-5,
        -9.53438251e-8, -9.42105644e-7, 1.10243456e-7, -5.40950248e-9, 9.93049235e-11,
    )
]  # fmt: skip
ROOT_HALF, HALF, ONE = np.float32(np.sqrt(0.5)), np.float32(0.5), np.float32(1)


def erf_block(x, out, square):
    """Write erf of *x* into *out*; *square* is scratch. *out* may be *x*."""
    np.clip(x, -EDGE, EDGE, out=out)
    np.multiply(out, out, out=square)
    series = square * SERIES[-1]
    for c in SERIES[-2:0:-1]:
        series += c
        series *= square
    series += SERIES[0]
    out *= series
    np.tanh(out, out=out)


def gelu_block(x, out, square):
    """Write x / 2 * (1 + erf(x / sqrt(2))) into *out*."""
    half = x * HALF
    np.multiply(x, ROOT_HALF, out=out)
    erf_block(out, out, square)
    out += ONE
    out *= half


def blocked(compute):
    """A kernel that takes an array of any layout through *compute*, block by block."""

    def run(x, out=None):
        x = np.asarray(x)
        source = x.reshape(-1)  # a copy where the array is not row-major
        direct = out is not None and out.flags.c_contiguous
        result = out.reshape(-1) if direct else np.empty(source.shape, np.float32)
        scratch = np.empty(min(BLOCK, source.size), np.float32)
        with np.errstate(all="ignore"):  # infinities and NaN are no reason for a warning here
            for start in range(0, source.size, BLOCK):
                part = source[start : start + BLOCK]
                compute(part, result[start : start + BLOCK], scratch[: part.size])
        if direct:
            return out
        result = result.reshape(x.shape)
        if out is None:
            return result
        out[...] = result
        return out

    return run


KERNELS = {"erf": blocked(erf_block), "gelu": blocked(gelu_block)}


@hookimpl
def tensorbus_overlay() -> OverlaySpec:
    """Two ops of ``cpu``, for float32: the series has that many digits."""
    return OverlaySpec(
        name="fused_gelu",
        backend="cpu",
        ops=tuple(KERNELS),
        kernel=lambda op, dtype, index: KERNELS[op],
        priority=10,
        supports=lambda op, dtype, index: dtype is float32,
        api=2,
    )
