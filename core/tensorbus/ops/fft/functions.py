"""The transforms as functions: what they make of lengths, dimensions and norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_tensors, floating
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim

Dims = int | Sequence[int]
_LAST_TWO = (-2, -1)


# -- arguments -------------------------------------------------------------------------------
def precise(x: Tensor) -> Tensor:
    """The tensor, integers as floating point; RuntimeError for half precision."""
    x = floating(x)
    if x._k.dtype.to_real().itemsize < 4:
        raise RuntimeError(
            f"Unsupported dtype {scalar_name(x._k.dtype)}: Fourier transforms are of float32, "
            "float64, complex64 and complex128"
        )
    return x


def _complex(x: Tensor) -> Tensor:
    x = precise(x)
    return x if x._k.dtype.is_complex else to_kind(x, x._k.complex)


def _real(name: str, kind: str, x: Tensor) -> Tensor:
    if x._k.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a {kind} input tensor, but got {scalar_name(x._k.dtype)}"
        )
    return precise(x)


def _one_dim(x: Tensor, dim: int) -> int:
    if not len(x._s):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, len(x._s))


def _check_length(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _dims_and_sizes(x: Tensor, s: Dims | None, dim: Dims | None) -> tuple[list[int], list[int]]:
    """The dimensions to transform, and how long each is then: -1 leaves it as it is."""
    rank = len(x._s)
    sizes = [s] if isinstance(s, int) else None if s is None else list(s)
    given = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if given is None:
        if sizes is not None and len(sizes) > rank:
            raise RuntimeError(
                f"Got shape with {len(sizes)} values but input tensor only has {rank} dimensions."
            )
        dims = list(range(0 if sizes is None else rank - len(sizes), rank))
    else:
        dims = [_one_dim(x, d) for d in given]
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    lengths = [-1] * len(dims) if sizes is None else [int(n) for n in sizes]
    return dims, lengths


def _own_lengths(x: Tensor, dims: list[int], sizes: list[int]) -> list[int]:
    return [_check_length(x._s[d] if n == -1 else n) for d, n in zip(dims, sizes, strict=True)]


def _needs_one(name: str, dims: list[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _resized(x: Tensor, dims: list[int], lengths: list[int]) -> Tensor:
    """The tensor cut off or continued with zeros to these lengths."""
    widths = [(0, 0)] * len(x._s)
    for d, n in zip(dims, lengths, strict=True):
        if n < x._s[d]:
            x = core("slice")(x, d, 0, n, 1)
        elif n > x._s[d]:
            widths[d] = (0, n - x._s[d])
    return core("pad")(x, tuple(widths), 0) if any(map(any, widths)) else x


def _scale(norm: str | None, forward: bool, lengths: list[int]) -> float:
    """What the transform is multiplied with."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}", use "backward", "forward" or "ortho"'
        )
    n = math.prod(lengths)
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if forward == (norm == "forward") else 1.0


# -- the three kinds of transforms -----------------------------------------------------------
def _of_complex(
    x: Tensor, dims: list[int], lengths: list[int], norm: str | None, forward: bool
) -> Tensor:
    scale = _scale(norm, forward, lengths)
    if not dims:
        return core("clone")(x)
    return core("fft_c2c")(_resized(x, dims, lengths), tuple(dims), not forward, scale)


def _of_real(
    x: Tensor, dims: list[int], lengths: list[int], norm: str | None, forward: bool
) -> Tensor:
    """Along the last of the dimensions to its half, then along the others."""
    scale = _scale(norm, forward, lengths[-1:])
    half = core("fft_r2c")(_resized(x, dims, lengths), dims[-1], scale)
    if not forward:
        half = core("conj")(half)
    return _of_complex(half, dims[:-1], lengths[:-1], norm, forward) if dims[:-1] else half


def _to_real(
    x: Tensor, dims: list[int], sizes: list[int], norm: str | None, forward: bool
) -> Tensor:
    """The other way round: the half is along the last of the dimensions."""
    last = dims[-1]
    n = _check_length(2 * (x._s[last] - 1) if sizes[-1] == -1 else sizes[-1])
    lengths = _own_lengths(x, dims[:-1], sizes[:-1])
    x = _resized(x, dims, [*lengths, n // 2 + 1])
    if lengths:
        x = _of_complex(x, dims[:-1], lengths, norm, forward)
    if forward:
        x = core("conj")(x)
    return core("fft_c2r")(x, last, n, _scale(norm, forward, [n]))


def _single(x: Tensor, n: int | None, dim: int) -> tuple[list[int], list[int]]:
    d = _one_dim(x, dim)
    return [d], [_check_length(x._s[d] if n is None else n)]


# -- along one dimension ---------------------------------------------------------------------
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along *dim*: sums of ``x[j] exp(-2 pi i j k / n)``.

    The result is complex, (..., n, ...); *input* is cut off or continued with zeros to *n*. The
    *norm* ``backward`` does not scale, ``forward`` divides by n, ``ortho`` by its square root.
    RuntimeError for a length below 1 and for half precision.
    """
    check_tensors("fft_fft", input=input)
    x = _complex(input)
    return _of_complex(x, *_single(x, n, dim), norm, True)


def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``fft``: by default divided by n.

    The result is complex; *n*, *dim* and *norm* are those of ``fft``. RuntimeError for a length
    below 1 and for half precision.
    """
    check_tensors("fft_ifft", input=input)
    x = _complex(input)
    return _of_complex(x, *_single(x, n, dim), norm, False)


def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of ``fft`` of real numbers; the others mirror them.

    (..., n, ...) -> (..., n // 2 + 1, ...), complex. RuntimeError for complex numbers, for a length
    below 1 and for half precision.
    """
    check_tensors("fft_rfft", input=input)
    x = _real("rfft", "real", input)
    return _of_real(x, *_single(x, n, dim), norm, True)


def fft_irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
) -> Tensor:
    """The inverse of ``rfft``: *n* real numbers, ``2 * (size - 1)`` where it is not given.

    RuntimeError for a length below 1 and for half precision.
    """
    check_tensors("fft_irfft", input=input)
    x = _complex(input)
    return _to_real(x, [_one_dim(x, dim)], [_given(n)], norm, False)


def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """``fft`` of a signal that equals its conjugated mirror image, of which *input* is one half.

    *n* real numbers, ``2 * (size - 1)`` where it is not given. RuntimeError for a length below 1
    and for half precision.
    """
    check_tensors("fft_hfft", input=input)
    x = _complex(input)
    return _to_real(x, [_one_dim(x, dim)], [_given(n)], norm, True)


def fft_ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
) -> Tensor:
    """The inverse of ``hfft``: the first n // 2 + 1 elements of ``ifft`` of real numbers.

    RuntimeError for complex numbers, for a length below 1 and for half precision.
    """
    check_tensors("fft_ihfft", input=input)
    x = _real("ihfft", "real", input)
    return _of_real(x, *_single(x, n, dim), norm, False)


def _given(n: int | None) -> int:
    return -1 if n is None else _check_length(n)


# -- along several ---------------------------------------------------------------------------
def fft_fftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """``fft`` along each of the dimensions *dim*, all or the last ``len(s)`` where None is given.

    *s* is how long each is cut off or continued with zeros to; -1 leaves it. RuntimeError for a
    repeated dimension, for a length below 1 and for half precision.
    """
    check_tensors("fft_fftn", input=input)
    x = _complex(input)
    dims, sizes = _dims_and_sizes(x, s, dim)
    return _of_complex(x, dims, _own_lengths(x, dims, sizes), norm, True)


def fft_ifftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of ``fftn``, with the same arguments and errors."""
    check_tensors("fft_ifftn", input=input)
    x = _complex(input)
    dims, sizes = _dims_and_sizes(x, s, dim)
    return _of_complex(x, dims, _own_lengths(x, dims, sizes), norm, False)


def fft_rfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """``fftn`` of real numbers, of which the last of the dimensions has the first half alone.

    RuntimeError for complex numbers, for no dimensions, and as ``fftn`` has it.
    """
    check_tensors("fft_rfftn", input=input)
    return _several_of_real("rfftn", input, s, dim, norm, True)


def fft_irfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of ``rfftn``: real, ``2 * (size - 1)`` long in the last dimension without *s*.

    RuntimeError for no dimensions, and as ``fftn`` has it.
    """
    check_tensors("fft_irfftn", input=input)
    return _several_to_real("irfftn", input, s, dim, norm, False)


def fft_hfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """``fftn`` of a signal that equals its conjugated mirror image, of which *input* is one half.

    Real, ``2 * (size - 1)`` long in the last dimension without *s*. RuntimeError for no dimensions,
    and as ``fftn`` has it.
    """
    check_tensors("fft_hfftn", input=input)
    return _several_to_real("hfftn", input, s, dim, norm, True)


def fft_ihfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of ``hfftn``: of the last dimension the first half.

    RuntimeError for complex numbers, for no dimensions, and as ``fftn`` has it.
    """
    check_tensors("fft_ihfftn", input=input)
    return _several_of_real("ihfftn", input, s, dim, norm, False)


def _several_of_real(
    name: str, x: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    x = _real(name, "real-valued", x)
    dims, sizes = _dims_and_sizes(x, s, dim)
    _needs_one(name, dims)
    return _of_real(x, dims, _own_lengths(x, dims, sizes), norm, forward)


def _several_to_real(
    name: str, x: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    x = _complex(x)
    dims, sizes = _dims_and_sizes(x, s, dim)
    _needs_one(name, dims)
    return _to_real(x, dims, sizes, norm, forward)


# -- along two -------------------------------------------------------------------------------
def fft_fft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``fftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_fft2", input=input)
    return fft_fftn(input, s, dim, norm)


def fft_ifft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``ifftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_ifft2", input=input)
    return fft_ifftn(input, s, dim, norm)


def fft_rfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``rfftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_rfft2", input=input)
    return fft_rfftn(input, s, dim, norm)


def fft_irfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``irfftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_irfft2", input=input)
    return fft_irfftn(input, s, dim, norm)


def fft_hfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``hfftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_hfft2", input=input)
    return fft_hfftn(input, s, dim, norm)


def fft_ihfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``ihfftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_ihfft2", input=input)
    return fft_ihfftn(input, s, dim, norm)
