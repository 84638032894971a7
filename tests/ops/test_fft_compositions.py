"""Fourier transforms composed of primitives: as exact as a library's within a small factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._dispatch.kinds import kind_of
from tensorbus.ops.fft import transforms

SIZES = [1, 2, 3, 7, 31, 64, 65, 67, 100, 127, 134, 1000, 1009, 4096, 67 * 71]
DTYPES = [np.complex64, np.complex128]


def kind(dtype: Any) -> Any:
    return kind_of(
        torch.device("cpu"), torch.complex64 if dtype is np.complex64 else torch.complex128
    )


def worst(found: Any, expected: Any) -> float:
    """The largest error in units of the precision, at the largest magnitude."""
    eps = np.finfo(found.dtype).eps
    return float(np.abs(found - expected).max() / np.abs(expected).max() / eps)


def allowed(n: int) -> float:
    return 2.0 + math.log2(n)


def signal(n: int, dtype: Any) -> Any:
    rng = np.random.default_rng(n)
    return (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype(dtype)


def exact(x: Any, sign: float) -> Any:
    """By the matrix of the transform, in the widest format."""
    n = x.shape[-1]
    powers = np.outer(np.arange(n), np.arange(n)) % n
    if n > 140:  # where the matrix is large NumPy's own is the reference
        x = x.astype(np.complex128)
        return np.fft.fft(x) if sign < 0 else np.fft.ifft(x, norm="forward")
    angles = powers.astype(np.longdouble) * 2 * np.arccos(np.longdouble(-1)) / n
    return x.astype(np.clongdouble) @ (np.cos(angles) + 1j * sign * np.sin(angles))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_complex(n: int, dtype: Any) -> None:
    F, x = kind(dtype), signal(n, dtype)
    for inverse in (False, True):
        expected = exact(x, 1.0 if inverse else -1.0)
        found = transforms.of_complex(F, x, (1,), inverse, 1.0)
        assert found.dtype == dtype and worst(found, expected) < allowed(n)
        turned = np.ascontiguousarray(x.T)
        assert worst(transforms.of_complex(F, turned, (0,), inverse, 0.5).T * 2, expected) < (
            allowed(n)
        )
        assert np.array_equal(turned.T, x)  # the operand is left as it was


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_real(n: int, dtype: Any) -> None:
    F, x = kind(dtype), signal(n, dtype)
    real = np.ascontiguousarray(x.real)
    found = transforms.of_real(F.real, real, 1, 0.25)
    assert found.dtype == dtype
    assert worst(found * 4, exact(real, -1.0)[:, : n // 2 + 1]) < allowed(n)
    half = np.ascontiguousarray(x[:, : n // 2 + 1])
    ends = [0, -1] if n % 2 == 0 else [0]
    half.imag[:, ends] = np.nan  # these parts are not read
    back = transforms.to_real(F, half, 1, n, 0.25)
    clean = half.copy()
    clean.imag[:, ends] = 0
    whole = np.concatenate([clean, clean[:, 1 : n - n // 2][:, ::-1].conj()], 1)
    assert back.dtype == real.dtype and back.shape == (2, n)
    assert worst(back * 4, exact(whole, 1.0).real) < allowed(n)


def test_several_dimensions_and_none() -> None:
    F, x = kind(np.complex128), signal(60, np.complex128).reshape(2, 5, 4, 3)
    found = transforms.of_complex(F, x, (1, 3), False, 1.0)
    assert worst(found, np.fft.fftn(x, axes=(1, 3))) < 4 and found.flags.c_contiguous
    empty = np.zeros((0, 3), np.complex128)
    assert transforms.of_complex(F, empty, (1,), False, 1.0).shape == (0, 3)
    assert transforms.of_real(F.real, empty.real, 1, 1.0).shape == (0, 2)
    assert transforms.to_real(F, empty, 1, 4, 1.0).shape == (0, 4)


def test_shapes_on_meta() -> None:
    found = torch.fft.rfftn(torch.ones(4, 6, device="meta"))
    assert found.shape == (4, 4) and found.dtype is torch.complex64
    assert torch.fft.irfft(found).shape == (4, 6)
