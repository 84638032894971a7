"""The transforms as functions."""

from __future__ import annotations

from collections.abc import Sequence

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.ops.fft.arguments import (
    Dims,
    as_complex,
    as_real,
    check_length,
    dims_and_sizes,
    needs_one,
    one_dim,
    own_lengths,
    precise,
    resized,
    scale_of,
)

_LAST_TWO = (-2, -1)


# -- the three kinds of transforms -----------------------------------------------------------
def _whole(
    x: Tensor, dims: list[int], lengths: list[int], norm: str | None, forward: bool
) -> Tensor:
    """All elements of the transform of real or complex numbers."""
    scale = scale_of(norm, forward, lengths)
    if not dims:
        return core("clone")(to_kind(x, x._k.complex))
    transform = core("fft_c2c" if x._k.dtype.is_complex else "fft_real")
    made: Tensor = transform(resized(x, dims, lengths), tuple(dims), not forward, scale)
    return made


def _of_real(
    x: Tensor, dims: list[int], lengths: list[int], norm: str | None, forward: bool
) -> Tensor:
    """The first half along the last of the dimensions."""
    scale = scale_of(norm, forward, lengths)
    x = resized(x, dims, lengths)
    if forward and len(dims) == 1:
        made: Tensor = core("fft_r2c")(x, dims[0], scale)
        return made
    if forward:
        made = core("fft_real_half")(x, tuple(dims), False, scale)
        return made
    # In two steps, from which zero imaginary parts have the signs that PyTorch's have.
    made = core("fft_real_half")(x, (dims[-1],), True, scale)
    if dims[1:]:
        made = core("fft_c2c")(made, tuple(dims[:-1]), True, 1.0)
    elif made._e is not None:
        name_node(made, "ConjBackward0")
    return made


def _to_real(
    x: Tensor, dims: list[int], sizes: list[int], norm: str | None, forward: bool
) -> Tensor:
    """The other way round: the half is along the last of the dimensions."""
    last = dims[-1]
    n = check_length(2 * (x._s[last] - 1) if sizes[-1] == -1 else sizes[-1])
    lengths = own_lengths(x, dims[:-1], sizes[:-1])
    x = resized(x, dims, [*lengths, n // 2 + 1])
    if lengths:
        x = _whole(x, dims[:-1], lengths, norm, forward)
    transform = core("fft_c2r_forward" if forward else "fft_c2r")
    made: Tensor = transform(x, last, n, scale_of(norm, forward, [n]))
    return made


def _single(x: Tensor, n: int | None, dim: int) -> tuple[list[int], list[int]]:
    d = one_dim(x, dim)
    return [d], [check_length(x._s[d] if n is None else n)]


# -- along one dimension ---------------------------------------------------------------------
@autocasts("cpu float32")
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along *dim*: sums of ``x[j] exp(-2 pi i j k / n)``.

    The result is complex, (..., n, ...); *input* is cut off or continued with zeros to *n*. The
    *norm* ``backward`` does not scale, ``forward`` divides by n, ``ortho`` by its square root.
    RuntimeError for a length below 1 and for half precision.
    """
    check_tensors("fft_fft", input=input)
    x = precise(input)
    return _whole(x, *_single(x, n, dim), norm, True)


@autocasts("cpu float32")
def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``fft``: by default divided by n.

    The result is complex; *n*, *dim* and *norm* are those of ``fft``. RuntimeError for a length
    below 1 and for half precision.
    """
    check_tensors("fft_ifft", input=input)
    x = precise(input)
    made = _whole(x, *_single(x, n, dim), norm, False)
    if made._e is not None and not x._k.dtype.is_complex:
        name_node(made, "ConjBackward0")
    return made


@autocasts("cpu float32")
def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of ``fft`` of real numbers; the others mirror them.

    (..., n, ...) -> (..., n // 2 + 1, ...), complex. RuntimeError for complex numbers, for a length
    below 1 and for half precision.
    """
    check_tensors("fft_rfft", input=input)
    x = as_real("rfft", "real", input)
    return _of_real(x, *_single(x, n, dim), norm, True)


@autocasts("cpu float32")
def fft_irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
) -> Tensor:
    """The inverse of ``rfft``: *n* real numbers, ``2 * (size - 1)`` where it is not given.

    RuntimeError for a length below 1 and for half precision.
    """
    check_tensors("fft_irfft", input=input)
    x = as_complex(input)
    return _to_real(x, [one_dim(x, dim)], [_given(n)], norm, False)


@autocasts("cpu float32")
def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """``fft`` of a signal that equals its conjugated mirror image, of which *input* is one half.

    *n* real numbers, ``2 * (size - 1)`` where it is not given. RuntimeError for a length below 1
    and for half precision.
    """
    check_tensors("fft_hfft", input=input)
    x = as_complex(input)
    return _to_real(x, [one_dim(x, dim)], [_given(n)], norm, True)


@autocasts("cpu float32")
def fft_ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None
) -> Tensor:
    """The inverse of ``hfft``: the first n // 2 + 1 elements of ``ifft`` of real numbers.

    RuntimeError for complex numbers, for a length below 1 and for half precision.
    """
    check_tensors("fft_ihfft", input=input)
    x = as_real("ihfft", "real", input)
    return _of_real(x, *_single(x, n, dim), norm, False)


def _given(n: int | None) -> int:
    return -1 if n is None else check_length(n)


# -- along several ---------------------------------------------------------------------------
@autocasts("cpu float32")
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
    return _several(input, s, dim, norm, True)


@autocasts("cpu float32")
def fft_ifftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of ``fftn``, with the same arguments and errors."""
    check_tensors("fft_ifftn", input=input)
    return _several(input, s, dim, norm, False)


@autocasts("cpu float32")
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


@autocasts("cpu float32")
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


def _several(
    x: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    x = precise(x)
    dims, sizes = dims_and_sizes(x, s, dim)
    made = _whole(x, dims, own_lengths(x, dims, sizes), norm, forward)
    if dims and made._e is not None:
        name_node(made, "FftC2CBackward0")
    return made


def _several_of_real(
    name: str, x: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    x = as_real(name, "real-valued", x)
    dims, sizes = dims_and_sizes(x, s, dim)
    needs_one(name, dims)
    return _of_real(x, dims, own_lengths(x, dims, sizes), norm, forward)


def _several_to_real(
    name: str, x: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool
) -> Tensor:
    x = as_complex(x)
    dims, sizes = dims_and_sizes(x, s, dim)
    needs_one(name, dims)
    return _to_real(x, dims, sizes, norm, forward)


# -- along two -------------------------------------------------------------------------------
@autocasts("cpu float32")
def fft_fft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``fftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_fft2", input=input)
    return fft_fftn(input, s, dim, norm)


@autocasts("cpu float32")
def fft_ifft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``ifftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_ifft2", input=input)
    return fft_ifftn(input, s, dim, norm)


@autocasts("cpu float32")
def fft_rfft2(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Tensor:
    """``rfftn`` along the last two dimensions, or along *dim*."""
    check_tensors("fft_rfft2", input=input)
    return fft_rfftn(input, s, dim, norm)


@autocasts("cpu float32")
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
