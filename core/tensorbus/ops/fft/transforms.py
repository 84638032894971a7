"""Fourier transforms composed of matrix products, for devices without kernels of their own.

A transform of n = p q elements is p transforms of q elements, after a product with a p by p matrix
and a pointwise one with roots of unity. Prime lengths without a small matrix are convolutions of a
longer, smooth length (Bluestein). The roots are computed on the host in float64, so that each is
rounded once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LARGEST = 64
"""The most rows of a matrix of roots: longer transforms are taken apart."""


def of_complex(F: Any, x: Any, dims: tuple[int, ...], inverse: bool, scale: float) -> Any:
    """The transform along each of the dimensions, times a number."""
    if 0 in x.shape or not F.has_values:
        return F.empty(tuple(x.shape))
    for dim in dims:
        x = _along(F, x, dim, inverse)
    if scale != 1.0:
        parts = F.view_as_real(x)
        F.real.mul(parts, scale, out=parts)
    return x


def of_real(F: Any, x: Any, dim: int, scale: float) -> Any:
    """The first half of the transform of real numbers as complex ones."""
    C, n = F.complex, x.shape[dim]
    whole = of_complex(C, C.cast(x, F), (dim,), False, scale)
    return C.contiguous(C.slice(whole, dim, 0, n // 2 + 1, 1))


def to_real(F: Any, x: Any, dim: int, n: int, scale: float) -> Any:
    """The transform with the other sign of the half's mirrored whole, which is real."""
    rank, half = len(x.shape), n // 2 + 1
    if 0 in x.shape or not F.has_values:
        return F.real.empty((*x.shape[:dim], n, *x.shape[dim + 1 :]))
    R, both = F.real, F.view_as_real(F.contiguous(x))
    ends = R.slice(both, rank, 0, 1, 1)  # their imaginary parts are not read
    only_real = R.pad(ends, (*((0, 0),) * rank, (0, 1)), 0)
    stop = half - 1 if n % 2 == 0 else half
    pieces = [R.slice(only_real, dim, 0, 1, 1)]
    if stop > 1:
        pieces.append(R.slice(both, dim, 1, stop, 1))
    if n % 2 == 0:
        pieces.append(R.slice(only_real, dim, stop, half, 1))
    if stop > 1:
        mirrored = F.flip(R.view_as_complex(R.contiguous(pieces[1])), (dim,))
        pieces.append(F.view_as_real(F.contiguous(F.conj(mirrored))))
    whole = R.view_as_complex(R.contiguous(R.concatenate(pieces, dim)))
    made = F.view_as_real(of_complex(F, whole, (dim,), True, scale))
    return R.contiguous(R.select(made, rank, 0))


def _along(F: Any, x: Any, dim: int, inverse: bool) -> Any:
    """The transform along one dimension, which is last meanwhile."""
    rank = len(x.shape)
    order = (*range(dim), *range(dim + 1, rank), dim)
    back = (*range(dim), rank - 1, *range(dim, rank - 1))
    sign = 1.0 if inverse else -1.0
    last = F.contiguous(F.permute(x, order))
    rows = F.view(last, (math.prod(last.shape[:-1]), last.shape[-1]))
    made = F.contiguous(_transformed(F, rows, sign))
    return F.contiguous(F.permute(F.view(made, tuple(last.shape)), back))


def _transformed(F: Any, x: Any, sign: float) -> Any:
    """The transforms of the rows of a matrix."""
    batch, n = x.shape
    p = _factor(n)
    if p == n:
        return F.matmul(x, _roots(F, n, n, n, sign)) if n <= _LARGEST else _by_chirps(F, x, sign)
    q = n // p
    folded = F.view(F.contiguous(x), (batch, p, q))
    outer = F.mul(F.matmul(_roots(F, p, p, p, sign), folded), _roots(F, n, p, q, sign))
    inner = _transformed(F, F.view(F.contiguous(outer), (batch * p, q)), sign)
    turned = F.permute(F.view(F.contiguous(inner), (batch, p, q)), (0, 2, 1))
    return F.view(F.contiguous(turned), (batch, n))


def _factor(n: int) -> int:
    """The largest divisor up to ``_LARGEST``; else, where that is 1, *n* itself."""
    if n <= _LARGEST:
        return n
    found = max(p for p in range(1, _LARGEST + 1) if n % p == 0)
    return found if found > 1 else n


def _by_chirps(F: Any, x: Any, sign: float) -> Any:
    """Bluestein's: j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution."""
    n = x.shape[1]
    length = 1 << (2 * n - 2).bit_length()
    squares = np.arange(n, dtype=np.int64) ** 2 % (2 * n)
    chirp = np.exp(1j * sign * np.pi * squares / n)
    ring = np.zeros(length, np.complex128)
    ring[:n] = chirp.conj()
    ring[length - n + 1 :] = chirp[1:][::-1].conj()
    spectrum = _constant(F, np.fft.fft(ring) / length)
    weights = _constant(F, chirp)
    padded = F.pad(F.mul(x, weights), ((0, 0), (0, length - n)), 0)
    product = F.mul(_transformed(F, padded, -1.0), spectrum)
    convolved = _transformed(F, product, 1.0)
    return F.mul(F.slice(convolved, 1, 0, n, 1), weights)


def _roots(F: Any, n: int, rows: int, columns: int, sign: float) -> Any:
    """The matrix of exp(sign 2 pi i j k / n)."""
    powers = np.outer(np.arange(rows), np.arange(columns)) % n
    return _constant(F, np.exp(2j * sign * np.pi * powers / n))


def _constant(F: Any, values: np.ndarray) -> Any:
    return F.from_host(values.astype(F.dtype.name))
