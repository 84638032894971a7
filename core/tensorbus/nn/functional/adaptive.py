"""Pools that are given the size of their result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.nn.functional.windows import Ints, avg_pool2d, max_pool2d
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import int_tuple, ints
from tensorbus.ops.creation.from_data import tensor


def _bins(n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the bins begin and end."""
    at = np.arange(size, dtype=np.int64)
    return at * n // size, -(-(at + 1) * n // size)


def adaptive_size(name: str, spatial: int, x: Tensor, output_size: Any) -> Ints:
    """The size asked for; None stands for the input's own."""
    own = x._s[-spatial:]
    if len(x._s) not in (spatial + 1, spatial + 2) or not own.numel():
        raise RuntimeError(
            f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor with non-zero size for "
            f"non-batch dimensions, but got {list(x._s)}"
        )
    if isinstance(output_size, (tuple, list)):
        int_tuple(name, "output_size", [0 if n is None else n for n in output_size])
        if len(output_size) != spatial:
            raise RuntimeError(f"{name}(): output_size must be {spatial}, but got {output_size}")
        output_size = [n if m is None else m for n, m in zip(own, output_size, strict=True)]
    size = ints(name, "output_size", output_size, spatial)
    if min(size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{list(size)}"
        )
    if x._s[:-spatial].numel() * math.prod(size) >= 1 << 63:
        raise RuntimeError(f"{name}: a result of {list(size)} has more elements than 64 bits count")
    return size


def nothing(x: Tensor, *size: int) -> Tensor:
    """A result without elements, which records as any other does."""
    return x.new_zeros((*x._s[: -len(size)], *size)) + x.sum()


def _adaptive_node(input: Tensor, output_size: Any) -> str:
    to_one = output_size in (1, (1, 1), [1, 1])
    return "MeanBackward1" if to_one else "AdaptiveAvgPool2DBackward0"


@composed(node=_adaptive_node, layout="channels_last")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows chosen so that the result has a given size."""
    refuse_complex("adaptive_avg_pool2d", input)
    oh, ow = adaptive_size("adaptive_avg_pool2d", 2, input, output_size)
    h, w = input.shape[-2:]
    if not oh or not ow or not input._s.numel():
        return nothing(input, oh, ow)
    if oh == ow == 1:
        return input.mean((-2, -1), keepdim=True)
    refuse_integers("adaptive_avg_pool2d", input)
    if h % oh == 0 and w % ow == 0:
        return avg_pool2d(input, (h // oh, w // ow))
    return _averaged(_averaged(input, h, oh, -2), w, ow, -1)


def _averaged(x: Tensor, n: int, size: int, dim: int) -> Tensor:
    """A dimension averaged over bins; what is in other bins, such as a NaN, has no say."""
    if n == size:
        return x
    starts, ends = bins = _bins(n, size)
    lengths = ends - starts
    most = int(lengths.max())
    counts = tensor(lengths, dtype=x.dtype, device=x._k.device)
    beyond = tensor(lengths[:, None] <= np.arange(most), device=x._k.device)
    shape = (size, most) if dim == -1 else (size, most, 1)
    windows = _windows(x, bins, dim).masked_fill(beyond.view(shape), 0)
    return windows.sum(-1 if dim == -1 else -2) / (counts if dim == -1 else counts.view(size, 1))


def _windows(x: Tensor, bins: tuple[np.ndarray, np.ndarray], dim: int) -> Tensor:
    """A dimension, the last or the one before, as (bin, element); short bins repeat their last."""
    starts, ends = bins
    most = int((ends - starts).max())
    indices = np.minimum(starts[:, None] + np.arange(most), ends[:, None] - 1)
    index = tensor(indices.reshape(-1), device=x._k.device)
    return core("picked_along")(x, x.dim() + dim, index).unflatten(dim, (len(starts), most))


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows of (N, C, L) chosen so that the result has a given length."""
    size = adaptive_size("adaptive_avg_pool1d", 1, input, output_size)
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *size)).squeeze(-2)


@composed(node="AdaptiveMaxPool2DBackward0", layout="channels_last")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows chosen so that the result has a given size."""
    oh, ow = adaptive_size("adaptive_max_pool2d", 2, input, output_size)
    h, w = input.shape[-2:]
    if not input._s[-3:].numel():
        raise RuntimeError(
            "adaptive_max_pool2d(): Expected input to have non-zero size for non-batch dimensions, "
            f"but input has sizes {list(input._s)}"
        )
    refuse_integers("adaptive_max_pool2d", input)
    if not oh or not ow or not input._s.numel():
        y = nothing(input, oh, ow)
        return (y, y.long()) if return_indices else y
    if h % oh == 0 and w % ow == 0:
        return max_pool2d(input, (h // oh, w // ow), return_indices=return_indices)
    rows, columns = _bins(h, oh), _bins(w, ow)
    windows = _windows(_windows(input, columns, -1).flatten(-2), rows, -2)
    across = int((columns[1] - columns[0]).max())
    windows = windows.unflatten(-1, (ow, across)).transpose(-3, -2).flatten(-2)
    y, index = windows.max(-1)
    if not return_indices:
        return y
    top, left = (tensor(starts, device=y._k.device) for starts, _ in (rows, columns))
    return y, (index // across + top.view(oh, 1)) * w + index % across + left


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows of (N, C, L) chosen so that the result has a given length."""
    size = adaptive_size("adaptive_max_pool1d", 1, input, output_size)
    found = adaptive_max_pool2d(input.unsqueeze(-2), (1, *size), return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)
