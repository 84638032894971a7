"""The rows of the discrete Fourier transforms, which are linear, and their derivatives."""

from __future__ import annotations

from typing import Any

from tensorbus.ops.fft import transforms
from tensorbus.rows.registry import row

# fmt: off
row("fft_c2c", "x:T, dims, inverse, scale",
    doc="The Fourier transform of complex *x* along *dims*, times the number *scale*; with "
        "*inverse* that with the other sign of the exponents.",
    domain="complex", node_name="FftC2CBackward0",
    composite=lambda F, x, dims, inverse, scale:
        transforms.of_complex(F, x, dims, inverse, scale),
    x=lambda F, g, dims, inverse, scale: F.fft_c2c(g, dims, not inverse, scale))
row("fft_real", "x:T, dims, inverse, scale",
    doc="The transform of real *x* along *dims* as ``fft_c2c`` has it of complex numbers.",
    domain="ordered float", result="complex", node_name="FftR2CBackward0",
    composite=lambda F, x, dims, inverse, scale:
        F.complex.fft_c2c(F.complex.cast(x, F), dims, inverse, scale),
    x=lambda F, g, dims, inverse, scale:
        F.real.cast(F.fft_c2c(g, dims, not inverse, scale), F))
row("fft_r2c", "x:T, dim, scale",
    doc="The first n // 2 + 1 elements of the transform of the n real elements along *dim*, times "
        "the number *scale*.",
    domain="ordered float", result="complex", node_name="FftR2CBackward0",
    composite=lambda F, x, dim, scale: transforms.of_real(F, x, dim, scale),
    x=lambda F, g, x_shape, dim, scale:
        F.fft_c2r(_inner_times(F, g, dim, x_shape[dim], 0.5), dim, x_shape[dim], scale))
row("fft_real_half", "x:T, dims, inverse, scale",
    doc="The first n // 2 + 1 elements of ``fft_real`` along the last of *dims*, n being its size.",
    domain="ordered float", result="complex", node_name="FftR2CBackward0",
    composite=lambda F, x, dims, inverse, scale: _real_half(F, x, dims, inverse, scale),
    x=lambda F, g, x_shape, dims, inverse, scale:
        _real_half_backward(F, g, x_shape[dims[-1]], dims, inverse, scale))
row("fft_c2r", "x:T, dim, size, scale",
    doc="The inverse of an unscaled ``fft_r2c``, *size* real elements along *dim*, times *size* "
        "and the number *scale*.",
    domain="complex", result="real", node_name="FftC2RBackward0",
    composite=lambda F, x, dim, size, scale: transforms.to_real(F, x, dim, size, scale),
    x=lambda F, g, dim, size, scale:
        _inner_times(F.complex, F.fft_r2c(g, dim, scale), dim, size, 2.0))
row("fft_c2r_forward", "x:T, dim, size, scale",
    doc="``fft_c2r`` with the other sign of the exponents: that of the conjugate.",
    domain="complex", result="real", node_name="FftC2RBackward0",
    composite=lambda F, x, dim, size, scale: F.fft_c2r(F.conj(x), dim, size, scale),
    x=lambda F, g, dim, size, scale:
        _inner_times(F.complex, F.fft_real_half(g, (dim,), True, scale), dim, size, 2.0))
# fmt: on


def _real_half(F: Any, x: Any, dims: tuple[int, ...], inverse: bool, scale: float) -> Any:
    *others, last = dims
    half, C = F.fft_r2c(x, last, scale), F.complex
    if inverse:
        half = C.conj(half)
    return C.fft_c2c(half, tuple(others), inverse, 1.0) if others else half


def _real_half_backward(
    F: Any, g: Any, n: int, dims: tuple[int, ...], inverse: bool, scale: float
) -> Any:
    *others, last = dims
    if others:
        g = F.fft_c2c(g, tuple(others), not inverse, 1.0)
    transform = F.fft_c2r_forward if inverse else F.fft_c2r
    return transform(_inner_times(F, g, last, n, 0.5), last, n, scale)


def _inner_times(F: Any, x: Any, dim: int, n: int, factor: float) -> Any:
    """The half of a transform of *n* real numbers, times *factor* where it stands for two elements.

    The first element, and the last one of even *n*, are their own mirror images.
    """
    half = n // 2 + 1
    stop = half - 1 if n % 2 == 0 else half
    if stop <= 1:
        return x
    parts = [F.slice(x, dim, 0, 1, 1), F.mul(F.slice(x, dim, 1, stop, 1), factor)]
    if stop < half:
        parts.append(F.slice(x, dim, stop, half, 1))
    return F.concatenate(parts, dim)
