"""Pools whose windows lie at random places, so that sizes may shrink by any fraction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.int_arguments import ints
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.ops.creation.ranges import arange

_SIDES = ("time", "height", "width")


def _size(name: str, x: Tensor, size: Any, ratio: Any, spatial: int) -> tuple[int, ...]:
    if size is None and ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if size is not None:
        return ints(name, "output_size", size, spatial)
    ratios = ratio if isinstance(ratio, (tuple, list)) else (ratio,) * spatial
    if len(ratios) != spatial:
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints."
        )  # fmt: skip
    return tuple(int(n * r) for n, r in zip(x._s[-spatial:], ratios, strict=True))


def _check(
    name: str, x: Tensor, kernel: tuple[int, ...], size: tuple[int, ...], spatial: int
) -> None:
    rank = len(x._s)
    if rank not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got: {list(x._s)}"
        )
    for d in range(rank - spatial - 1, rank):
        if not x._s[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
                f"{list(x._s)} with dimension {d} being empty."
            )
    refuse_integers(f"{name}_out_frame", x)
    refuse_complex(f"{name}_out_frame", x)
    for side, n, k, m in zip(_SIDES[-spatial:], x._s[-spatial:], kernel, size, strict=True):
        if m < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {m}: "
                f"{[*x._s[: rank - spatial], *size]}"
            )
        if k < 1:
            raise RuntimeError(f"{name}(): kernel_size must be greater than zero, but got {k}")
        # Of volumes PyTorch wants one element to spare.
        if m + k - 1 + (spatial - 2) > n:
            raise RuntimeError(
                f"{name}{'_out' * (spatial - 2)}(): pool {side} {k} too large relative to input "
                f"{side} {n}"
            )


def _samples(x: Tensor, given: Tensor | None, spatial: int) -> Tensor:
    """Numbers below 1, for each channel of each member of the batch, and each dimension."""
    n = x._s[0] if len(x._s) == spatial + 2 else 1
    c = x._s[-spatial - 1]
    if given is None:
        return FUNCTIONS["rand"](n, c, spatial, dtype=x.dtype, device=x._k.device)
    check_device(x, given)
    if given.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(given._s) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(given._s)}")
    if given._s[0] < n:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if given._s[1] != c:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if given._s[2] != spatial:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {spatial}; got {given._s[2]}."
        )  # fmt: skip
    return given.detach()[:n]


def _starts(samples: Tensor, n: int, k: int, size: int) -> Tensor:
    """(N, C, size): where the windows along a dimension begin; the last is at its end."""
    at = arange(size, dtype=samples.dtype, device=samples._k.device)
    real = np.float64 if samples.dtype.itemsize == 8 else np.float32
    step = float(real(n - k) / real(max(size - 1, 1)))
    first = samples.unsqueeze(-1)
    found = ((at + first) * step).trunc() - (first * step).trunc()
    return found.long().masked_fill(at == size - 1, n - k)


def _pooled(
    name: str, spatial: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    return_indices: bool, samples: Tensor | None,
) -> Any:  # fmt: skip
    kernel = ints(name, "kernel_size", kernel_size, spatial)
    size = _size(name, input, output_size, output_ratio, spatial)
    _check(name, input, kernel, size, spatial)
    drawn = _samples(input, samples, spatial)
    own = tuple(input._s[-spatial:])
    n, c = drawn._s[:2]
    shape = (*input._s[:-spatial], *size)
    if not math.prod(shape):
        made = input.new_zeros(shape)
        return (made, made.long()) if return_indices else made
    # PyTorch's numbers for planes stand for the width first, for volumes for the depth.
    order = drawn.flip(-1) if spatial == 2 else drawn
    places: Any = 0
    for d in range(spatial):
        starts = _starts(order[..., d], own[d], kernel[d], size[d])
        offsets = arange(kernel[d], device=input._k.device)
        behind = math.prod(own[d + 1 :])
        line = (starts.unsqueeze(-1) + offsets) * behind  # (N, C, size, kernel)
        one = (1,) * spatial
        laid = (*one[:d], size[d], *one[d + 1 :], *one[:d], kernel[d], *one[d + 1 :])
        places = places + line.reshape(n, c, *laid)
    places = places.reshape(n, c, math.prod(size), math.prod(kernel))
    flat = input.reshape(n, c, math.prod(own))
    seen = flat.detach().gather(2, places.flatten(2)).reshape(places._s)
    index = places.gather(3, seen.argmax(3, keepdim=True)).squeeze(3)
    made = flat.gather(2, index).reshape(shape)
    return (made, index.reshape(shape)) if return_indices else made


@composed(node="FractionalMaxPool2DBackward0", layout="row_major", autocast="cpu float32")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum over windows at random places of the planes (arXiv:1412.6071).

    Shapes: (N, C, H, W) or (C, H, W) to planes of *output_size*, or of *output_ratio* times the
    size; *_random_samples*, if given, (N, C, 2) of numbers below 1. Floating point dtypes.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.fractional_max_pool2d.html

    Raises:
        ValueError: neither a size nor a ratio.
        RuntimeError: windows that do not fit beside one another, or samples of another shape.

    Example:
        >>> x = tensorbus.ones(1, 3, 9, 9)
        >>> nn.functional.fractional_max_pool2d(x, 2, output_ratio=0.7).shape
        torch.Size([1, 3, 6, 6])
    """
    return _pooled(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices,
        _random_samples,
    )  # fmt: skip


@composed(node="FractionalMaxPool3DBackward0", layout="row_major", autocast="cpu float32")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """``fractional_max_pool2d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
    return _pooled(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices,
        _random_samples,
    )  # fmt: skip
