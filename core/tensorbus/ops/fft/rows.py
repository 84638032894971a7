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
row("fft_r2c", "x:T, dim, scale",
    doc="The first n // 2 + 1 elements of the transform of the n real elements along *dim*, times "
        "the number *scale*.",
    domain="ordered float", result="complex", node_name="FftR2CBackward0",
    composite=lambda F, x, dim, scale: transforms.of_real(F, x, dim, scale),
    x=lambda F, g, x_shape, dim, scale:
        F.fft_c2r(_inner_times(F, g, dim, x_shape[dim], 0.5), dim, x_shape[dim], scale))
row("fft_c2r", "x:T, dim, size, scale",
    doc="The inverse of an unscaled ``fft_r2c``, *size* real elements along *dim*, times *size* "
        "and the number *scale*.",
    domain="complex", result="real", node_name="FftC2RBackward0",
    composite=lambda F, x, dim, size, scale: transforms.to_real(F, x, dim, size, scale),
    x=lambda F, g, dim, size, scale:
        _inner_times(F.complex, F.fft_r2c(g, dim, scale), dim, size, 2.0))
# fmt: on


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
