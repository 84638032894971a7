"""Planes and volumes sampled at any places, and the places that affine maps lead to."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.nn.functional.resampling_tables import cubic_weights
from tensorbus.op_engine.arguments import check_device
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.ops.creation.ranges import linspace
from tensorbus.ops.joining.joining import stack

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

Taps = list[tuple[Tensor, Tensor | None]]
"""Which elements of a dimension, as whole floats, with which weights; None for 1."""


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warn_user(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
            "documentation of grid_sample for details."
        )
    return bool(align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of planes or volumes at the places of *grid*.

    -1 and 1 in *grid* are the centres of the outermost pixels with *align_corners*, else their
    outer borders; what lies outside is as *padding_mode* says: zeros, border or reflection. Modes:
    bilinear, nearest, and for planes bicubic.

    Shapes: (N, C, H, W) and grid (N, h, w, 2), of (x, y), to (N, C, h, w); (N, C, D, H, W) and grid
    (N, d, h, w, 3), of (x, y, z), to (N, C, d, h, w). Floating point dtypes, the same for both.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html

    Raises:
        ValueError: another mode.
        RuntimeError: shapes or dtypes that do not go together.

    Example:
        >>> x = tensorbus.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> nn.functional.grid_sample(x, tensorbus.zeros(1, 1, 1, 2), align_corners=False).item()
        2.5
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    return _sampled(input, grid, mode, padding_mode, _aligned(align_corners))


def _check(x: Tensor, grid: Tensor, mode: str) -> None:
    def shapes() -> str:
        return f"input with sizes {list(x._s)} and grid with sizes {list(grid._s)}"

    rank = len(x._s)
    check_device(x, grid)
    if not rank or not len(grid._s) or x._s[0] != grid._s[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {shapes()}"
        )
    if grid._s[-1] != rank - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank - 2} in last dimension, but got "
            f"grid with sizes {list(grid._s)}"
        )
    if rank not in (4, 5) or len(grid._s) != rank:
        raise RuntimeError(
            f"grid_sampler(): expected {'5D' if rank == 5 else '4D'} input and grid with same "
            f"number of dimensions, but got {shapes()}"
        )
    for d in range(2, rank):
        if not x._s[d]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(x._s)} with dimension {d} being empty"
            )
    if mode == "bicubic" and rank == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid._k is not x._k:
        expected, found = (scalar_name(t._k.dtype) for t in (x, grid))
        raise RuntimeError(f"expected scalar type {expected} but found {found}")
    refuse_integers(f"grid_sampler_{rank - 2}d_cpu_kernel_impl", x)
    refuse_complex(f"grid_sampler_{rank - 2}d_cpu_kernel_impl", x)


def _node(x: Tensor, *rest: Any) -> str:
    return f"GridSampler{x.dim() - 2}DBackward0"


@composed(node=_node, layout="row_major", autocast="cpu float32, device widest")
def _sampled(x: Tensor, grid: Tensor, mode: str, padding: str, aligned: bool) -> Tensor:
    _check(x, grid, mode)
    if x.dtype in dtypes.HALVES:
        return _sampled(x.float(), grid.float(), mode, padding, aligned).to(x.dtype)
    n, c, *sizes = x._s
    outer = tuple(grid._s[1:-1])
    if 0 in (n, c, *outer):
        return x.new_zeros((n, c, *outer)) + x.sum() + grid.sum()
    places = grid.reshape(n, -1, len(sizes)).unbind(-1)[::-1]  # of the last dimension last
    whole = math.prod(sizes)
    along = []
    for d, (at, size) in enumerate(zip(places, sizes, strict=True)):
        at = _unscaled(at.contiguous(), size, aligned)
        taps = _taps(at, size, mode, padding, aligned)
        step = math.prod(sizes[d + 1 :])
        along.append([(_offset(tap, size, step, whole), share) for tap, share in taps])
    each = list(itertools.product(*along))
    # One element more, which is zero, stands for all that lies outside.
    offsets = [functools.reduce(operator.add, [i for i, _ in taps]) for taps in each]
    index = stack([i.clamp(max=whole) for i in offsets])
    factors = None
    if mode != "nearest":
        factors = stack([functools.reduce(operator.mul, [f for _, f in taps]) for taps in each])
    total = core("sampled")(x.reshape(n, c, whole), index, factors)
    if mode == "nearest" and grid.requires_grad:  # its gradient is zeros, not None
        total = total + grid.masked_fill(grid.isnan() | True, 0).sum()
    return total.reshape(n, c, *outer)


def _unscaled(at: Tensor, size: int, aligned: bool) -> Tensor:
    """Places between -1 and 1 as places among the pixels."""
    return (at + 1) * ((size - 1) / 2) if aligned else ((at + 1) * size - 1) / 2


def _offset(at: Tensor, size: int, step: int, whole: int) -> Tensor:
    """How far places are from the first, in elements; at least *whole* for those outside."""
    beyond = 2.0 ** whole.bit_length()  # which no format of floats rounds
    within = (at >= 0) & (at < size)
    return FUNCTIONS["where"](within, at, beyond).long() * step


def _taps(at: Tensor, size: int, mode: str, padding: str, aligned: bool) -> Taps:
    if mode == "bicubic":
        low = at.detach().floor()
        shares: Any = cubic_weights(at - low)
        return [
            (_brought_in(low + step, size, padding, aligned), share)
            for step, share in zip(range(-1, 3), shares, strict=True)
        ]
    at = _brought_in(at, size, padding, aligned)
    if mode == "nearest":
        return [(at.detach().round(), None)]
    low = at.detach().floor()
    share = at - low
    return [(low, 1 - share), (low + 1, share)]


def _brought_in(at: Tensor, size: int, padding: str, aligned: bool) -> Tensor:
    """Places outside as those inside that they stand for; the rest has no derivative there."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        at = _reflected(at, size, aligned)
    inside = (at > 0) & (at < size - 1)
    return FUNCTIONS["where"](inside, at, at.detach().nan_to_num(nan=0.0).clamp(0, size - 1))


def _reflected(at: Tensor, size: int, aligned: bool) -> Tensor:
    low, span = (0.0, size - 1) if aligned else (-0.5, size)
    if not span:
        return at * 0
    distance = (at - low).abs()
    turns = (distance.detach() / span).floor()
    rest = distance - turns * span
    return FUNCTIONS["where"](turns % 2 == 0, rest, span - rest) + low


# -- affine maps -----------------------------------------------------------------------------
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where the affine maps *theta* take the pixels of a result of *size*, for ``grid_sample``.

    Shapes: (N, 2, 3) and a size (N, C, H, W) to (N, H, W, 2); (N, 3, 4) and (N, C, D, H, W) to
    (N, D, H, W, 3). Floating point dtypes.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.affine_grid.html

    Raises:
        ValueError: another dtype, shapes that do not go together, or an empty size.
        NotImplementedError: a size of other than 4 or 5 numbers.

    Example:
        >>> whole = tensorbus.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> nn.functional.affine_grid(whole, (1, 1, 1, 2), align_corners=False).tolist()
        [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    aligned = _aligned(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if aligned and min(size[2:]) == 1:
        warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _mapped(theta, tuple(int(n) for n in size), aligned)


@composed(node="AffineGridGeneratorBackward0")
def _mapped(theta: Tensor, size: tuple[int, ...], aligned: bool) -> Tensor:
    n, _, *sizes = size
    dims = len(sizes)
    if theta._s[0] != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {dims + 1}] but "
            f"got: [{theta._s[0]}, {dims + 1}]."
        )
    total: Any = theta[..., -1].view(n, *(1,) * dims, dims)
    for d, m in enumerate(sizes):
        end = 1.0 if aligned else (m - 1) / m
        if m == 1:
            end = 0.0
        line = linspace(-end, end, m, dtype=theta.dtype, device=theta._k.device)
        along = line.view(*(m if k == d else 1 for k in range(dims)), 1)
        total = total + along * theta[..., dims - 1 - d].view(n, *(1,) * dims, dims)
    return total


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """``affine_grid``, which never warns: PyTorch's operator."""
    return _mapped(theta, tuple(int(n) for n in size), align_corners)
