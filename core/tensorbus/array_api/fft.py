"""The standard's extension ``fft``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus import Tensor
from tensorbus import fft as functions
from tensorbus._base.dtypes import dtype as Dtype


def _one(name: str, what: str) -> Callable[..., Tensor]:
    function = getattr(functions, name)

    def call(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return function(x, n, axis, norm)

    return _named(call, name, f"{what} along an axis.")


def _several(name: str, what: str) -> Callable[..., Tensor]:
    function = getattr(functions, name)

    def call(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor:
        return function(x, s, axes, norm)

    return _named(call, name, f"{what} along some axes.")


def _named(f: Any, name: str, doc: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


fft = _one("fft", "The discrete Fourier transform")
ifft = _one("ifft", "The inverse of the discrete Fourier transform")
rfft = _one("rfft", "The half of the transform of real values that is not redundant")
irfft = _one("irfft", "The real values whose transform's half is given")
hfft = _one("hfft", "The real transform of values of which one half is given")
ihfft = _one("ihfft", "The inverse of hfft")
fftn = _several("fftn", "The discrete Fourier transform")
ifftn = _several("ifftn", "The inverse of the discrete Fourier transform")
rfftn = _several("rfftn", "The half of the transform of real values that is not redundant")
irfftn = _several("irfftn", "The real values whose transform's half is given")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of the terms of fft."""
    return functions.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: Any = None
) -> Tensor:
    """The frequencies of the terms of rfft."""
    return functions.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """x with the term of frequency zero in the middle."""
    return functions.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The inverse of fftshift."""
    return functions.ifftshift(x, axes)


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
