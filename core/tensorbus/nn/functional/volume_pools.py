"""Pools of volumes: those of the planes, then those of what lies behind one another."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.adaptive import (
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    adaptive_size,
    nothing,
)
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.nn.functional.windows import avg_pool2d, max_pool2d, pool_settings
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.ops.creation.ranges import arange


def _batch(x: Tensor) -> int:
    return x._s[0] if len(x._s) == 5 else 1


def _as_planes(x: Tensor) -> Tensor:
    """(N, C, D, H, W), or without N, as (N, C * D, H, W)."""
    return x.reshape(_batch(x), math.prod(x._s[-4:-2]), *x._s[-2:])


def _behind(y: Tensor, x: Tensor) -> Tensor:
    """Pooled planes (N, C * D, h, w) of the volumes *x* as planes (N, C, D, h * w)."""
    return y.reshape(_batch(x), *x._s[-4:-2], math.prod(y._s[-2:]))


def _as_volumes(y: Tensor, x: Tensor, plane: tuple[int, ...]) -> Tensor:
    """(N, C, d, h * w) as volumes, with the leading dimensions of *x*."""
    return y.reshape(*x._s[:-3], y._s[-2], *plane)


def _in_stages(x: Tensor, of_planes: Any, of_depths: Any) -> Tensor:
    """A pool that is one of planes and then one along the depth."""
    planes = of_planes(_as_planes(x))
    return _as_volumes(of_depths(_behind(planes, x)), x, tuple(planes._s[-2:]))


def _largest(x: Tensor, of_planes: Any, of_depths: Any) -> tuple[Tensor, Tensor]:
    """Maxima of volumes and their indices, from functions that give both for planes."""
    planes, at = of_planes(_as_planes(x))
    size = tuple(planes._s[-2:])
    y, places = of_depths(_behind(planes, x))
    inside = core("picked")(_behind(at, x), places)
    depth = places.div(math.prod(size), rounding_mode="floor")
    index = depth * math.prod(x._s[-2:]) + inside
    return _as_volumes(y, x, size), _as_volumes(index, x, size)


def _settings(name: str, x: Tensor, kernel: Any, stride: Any, *setting: Any) -> Any:
    """Those of the planes and those along the depth."""
    if len(x._s) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    found = pool_settings(name, 3, x, kernel, stride, *setting)
    return [value[1:] for value in found], [(value[0], one) for value, one in
                                            zip(found, (1, 1, 0, 1), strict=True)]  # fmt: skip


@composed(node="MaxPool3DWithIndicesBackward0", layout="channels_last", autocast="cpu float32")
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the volumes, and its index where asked for."""
    if input._k.dtype.category == dtypes.BOOL:
        raise not_implemented("max_pool3d", input)
    refuse_complex("max_pool3d", input)
    planes, depths = _settings(
        "max_pool3d", input, kernel_size, stride, padding, dilation, ceil_mode
    )
    stages = [
        lambda x, setting=setting: max_pool2d(x, *setting, ceil_mode, return_indices)
        for setting in (planes, depths)
    ]
    return (_largest if return_indices else _in_stages)(input, *stages)


@composed(node="AvgPool3DBackward0", layout="row_major", autocast="cpu float32")
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean over windows of the volumes."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    planes, depths = _settings("avg_pool3d", input, kernel_size, stride, padding, 1, ceil_mode)
    refuse_complex("avg_pool3d_out_frame", input)
    if input._k.dtype is not dtypes.int64:
        refuse_integers("avg_pool3d_out_frame", input)
    whole = input._k.dtype is dtypes.int64
    first = None if divisor_override is None and not whole else 1
    made = _wide(
        input,
        lambda x: avg_pool2d(x, *planes[:3], ceil_mode, count_include_pad, first),
        lambda x: avg_pool2d(
            x, *depths[:3], ceil_mode, count_include_pad, first if whole else divisor_override
        ),
    )
    if not whole:
        return made
    if divisor_override is not None:
        return made.div(divisor_override, rounding_mode="trunc")
    counts: Any = 1
    setting = zip(*((depths[i][0], *planes[i]) for i in range(3)), strict=True)
    for n, m, (k, s, p) in zip(input._s[-3:], made._s[-3:], setting, strict=True):
        counts = counts * _counts(n, m, k, s, p, count_include_pad).view(-1, 1, 1)
        counts = counts.transpose(0, 1).transpose(1, 2)
    return made.div(counts.to(made.device), rounding_mode="trunc")


def _counts(n: int, size: int, kernel: int, stride: int, padding: int, include: bool) -> Tensor:
    """How many elements the windows along a dimension have."""
    starts = arange(size) * stride - padding
    ends = (starts + kernel).clamp_max(n + padding)
    return ends - starts if include else ends.clamp_max(n) - starts.clamp_min(0)


def _wide(x: Tensor, of_planes: Any, of_depths: Any) -> Tensor:
    """Stages of a mean, which is rounded once where the dtype has 16 bits."""
    if x.dtype not in dtypes.HALVES:
        return _in_stages(x, of_planes, of_depths)
    return _in_stages(x.float(), of_planes, of_depths).to(x.dtype)


def _adaptive_node(input: Tensor, output_size: Any) -> str:
    to_one = output_size in (1, (1, 1, 1), [1, 1, 1])
    return "MeanBackward1" if to_one else "AdaptiveAvgPool3DBackward0"


@composed(node=_adaptive_node, layout="row_major", autocast="cpu float32")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over windows chosen so that the volumes of the result have a given size."""
    refuse_complex("adaptive_avg_pool3d_cpu", input)
    size = adaptive_size("adaptive_avg_pool3d", 3, input, output_size)
    if not all(size) or not input._s.numel():
        return nothing(input, *size)
    if size == (1, 1, 1):
        return input.mean((-3, -2, -1), keepdim=True)
    refuse_integers("adaptive_avg_pool3d_cpu", input)
    return _wide(
        input,
        lambda x: adaptive_avg_pool2d(x, size[1:]),
        lambda x: adaptive_avg_pool2d(x, (size[0], None)),
    )


@composed(node="AdaptiveMaxPool3DBackward0", layout="row_major", autocast="cpu float32")
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over windows chosen so that the volumes of the result have a given size."""
    size = adaptive_size("adaptive_max_pool3d", 3, input, output_size)
    refuse_integers("adaptive_max_pool3d_cpu", input)
    if not all(size) or not input._s.numel():
        y = nothing(input, *size)
        return (y, y.long()) if return_indices else y
    stages = (
        lambda x: adaptive_max_pool2d(x, size[1:], return_indices),
        lambda x: adaptive_max_pool2d(x, (size[0], None), return_indices),
    )
    return (_largest if return_indices else _in_stages)(input, *stages)
