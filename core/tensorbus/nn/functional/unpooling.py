"""Pooled values put back to where they came from."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import int_tuple, ints
from tensorbus.plugin.faults import Wording, told

Ints = tuple[int, ...]


def _output_size(
    name: str, x: Tensor, kernel_size: Any, stride: Any, padding: Any, given: Any, spatial: int
) -> Ints:
    """The size asked for, or the smallest that a pool makes *x* of."""
    kernel = ints(name, "kernel_size", kernel_size, spatial)
    step = kernel if stride is None else ints(name, "stride", stride, spatial)
    border = ints(name, "padding", padding, spatial)
    own = x._s[-spatial:] if len(x._s) >= spatial else (0,) * spatial
    along = zip(own, kernel, step, border, strict=True)
    usual = tuple((n - 1) * s + k - 2 * p for n, k, s, p in along)
    if spatial == 3 and min(step) < 1:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(step)}")
    size = usual if given is None else int_tuple(name, "output_size", given)
    if len(size) == spatial + 2:
        size = size[2:]
    if len(size) != spatial:
        raise ValueError(
            f"output_size should be a sequence containing {spatial} or {spatial + 2} elements, but "
            f"it has a length of '{len(size)}'"
        )
    for d, (n, default, s) in enumerate(zip(size, usual, step, strict=True)):
        if given is not None and not default - s < n < default + s:
            raise ValueError(
                f'invalid output_size "{size}" (dim {d} must be between {default - s} and '
                f"{default + s})"
            )
        if n < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={n}"
            )
    return size


def _check(x: Tensor, indices: Tensor, spatial: int) -> None:
    name = "max_unpooling2d" if spatial < 3 else "max_unpooling3d"
    if indices._k.dtype is not dtypes.int64:
        raise RuntimeError(
            "elements in indices should be type int64 but got: "
            f"{scalar_name(indices._k.dtype)}"
        )  # fmt: skip
    check_device(x, indices)
    if len(x._s) not in (spatial + 1, spatial + 2):
        ranks = f"{spatial + 1}d or {spatial + 2}d"
        raise RuntimeError(
            f"Input to {name} should be a {ranks} Tensor, but got a tensor with {len(x._s)} "
            "dimensions."
        )
    if tuple(x._s) != tuple(indices._s):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(x._s)}) but "
            f"got indices tensor with shape: {list(indices._s)}"
        )
    for d in range(1 if len(x._s) == spatial + 2 else 0, len(x._s)):
        if not x._s[d]:
            raise RuntimeError(
                f"{name}_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                f"dimensions, but got {list(x._s)} with dimension {d} being empty."
            )
    kernel = "max_unpool3d" if spatial == 3 else "max_unpool2d"
    refuse_integers(kernel, x)
    refuse_complex(kernel, x)


def _unpool(
    name: str, spatial: int, x: Tensor, indices: Tensor, kernel: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Tensor:  # fmt: skip
    size = _output_size(name, x, kernel, stride, padding, output_size, spatial)
    _check(x, indices, spatial)
    lead = tuple(x._s[:-spatial])
    lines, places = math.prod(lead), math.prod(size)
    if not lines or not places:
        return x.new_zeros((*lead, *size))
    flat = x.reshape(lines, -1)
    at = indices.reshape(lines, -1)
    text = "x".join(map(str, (*size, 1) if spatial == 1 else size))
    wording = Wording(
        f"Found an invalid max index: {{value}} (output volumes are of size {text})", RuntimeError
    )
    made = told(wording, x._k.backend.traits.host_sync, core("unpooled"), flat, at, places)
    return made.reshape(*lead, *size)


@composed(node="SqueezeBackward1", autocast="cpu float32")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Zeros with the values of ``max_pool1d`` at the indices that it returned.

    Shapes: (N, C, L) or (C, L), *indices* the same; *output_size* decides where several lengths
    have the same pool. Floating point dtypes.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_unpool1d.html

    Raises:
        ValueError: an *output_size* that no such pool has.
        RuntimeError: indices of another dtype or shape, or outside the result.

    Example:
        >>> x = tensorbus.tensor([[1.0, 3.0, 2.0, 0.0]])
        >>> y, i = nn.functional.max_pool1d(x, 2, return_indices=True)
        >>> nn.functional.max_unpool1d(y, i, 2).tolist()
        [[0.0, 3.0, 2.0, 0.0]]
    """
    return _unpool(
        "max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size
    )  # fmt: skip


@composed(node="MaxUnpool2DBackward0", layout="channels_last", autocast="cpu float32")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """``max_unpool1d`` for planes: (N, C, H, W) or (C, H, W)."""
    return _unpool(
        "max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size
    )  # fmt: skip


@composed(node="MaxUnpool3DBackward0", layout="row_major", autocast="cpu float32")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """``max_unpool1d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
    return _unpool(
        "max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size
    )  # fmt: skip
