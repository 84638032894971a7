"""What transforms ask of their arguments, and make of lengths, dimensions and norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import floating
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim

Dims = int | Sequence[int]


def precise(x: Tensor) -> Tensor:
    """The tensor, integers as floating point; RuntimeError for half precision."""
    x = floating(x)
    if x._k.dtype.to_real().itemsize < 4:
        raise RuntimeError(
            f"Unsupported dtype {scalar_name(x._k.dtype)}: Fourier transforms are of float32, "
            "float64, complex64 and complex128"
        )
    return x


def as_complex(x: Tensor) -> Tensor:
    """The tensor as complex numbers; RuntimeError for half precision."""
    x = precise(x)
    return x if x._k.dtype.is_complex else to_kind(x, x._k.complex)


def as_real(name: str, kind: str, x: Tensor) -> Tensor:
    """The tensor; RuntimeError for complex numbers and half precision."""
    if x._k.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a {kind} input tensor, but got {scalar_name(x._k.dtype)}"
        )
    return precise(x)


def one_dim(x: Tensor, dim: int) -> int:
    """A dimension, not negative; IndexError where the tensor has none such."""
    if not len(x._s):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, len(x._s))


def check_length(n: int) -> int:
    """The length; RuntimeError where it is below 1."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def dims_and_sizes(x: Tensor, s: Dims | None, dim: Dims | None) -> tuple[list[int], list[int]]:
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
        dims = [one_dim(x, d) for d in given]
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    lengths = [-1] * len(dims) if sizes is None else [int(n) for n in sizes]
    return dims, lengths


def own_lengths(x: Tensor, dims: list[int], sizes: list[int]) -> list[int]:
    """The lengths of the dimensions, their own for -1."""
    return [check_length(x._s[d] if n == -1 else n) for d, n in zip(dims, sizes, strict=True)]


def needs_one(name: str, dims: list[int]) -> None:
    """RuntimeError where no dimension is to be transformed."""
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def resized(x: Tensor, dims: list[int], lengths: list[int]) -> Tensor:
    """The tensor cut off or continued with zeros to these lengths."""
    if lengths == [x._s[d] for d in dims]:
        return x
    widths = [(0, 0)] * len(x._s)
    for d, n in zip(dims, lengths, strict=True):
        if n < x._s[d]:
            x = core("slice")(x, d, 0, n, 1)
        elif n > x._s[d]:
            widths[d] = (0, n - x._s[d])
    return core("pad")(x, tuple(widths), 0) if any(map(any, widths)) else x


def scale_of(norm: str | None, forward: bool, lengths: list[int]) -> float:
    """What the transform is multiplied with."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}", use "backward", "forward" or "ortho"'
        )
    n = math.prod(lengths)
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if forward == (norm == "forward") else 1.0
