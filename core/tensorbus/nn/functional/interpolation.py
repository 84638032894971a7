"""Lines, planes and volumes of another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d
from tensorbus.nn.functional.resampling_tables import tables
from tensorbus.nn.functional.volume_pools import adaptive_avg_pool3d
from tensorbus.op_engine.argument_values import as_int
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.ops.creation.from_data import tensor

_NEAREST = ("nearest", "nearest-exact")
_RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4, "lanczos": 4}
_OF_LINES = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}
_NODES = {
    "nearest": "UpsampleNearest",
    "nearest-exact": "UpsampleNearestExact",
    "linear": "UpsampleLinear",
    "bilinear": "UpsampleBilinear",
    "trilinear": "UpsampleTrilinear",
    "bicubic": "UpsampleBicubic",
    "lanczos": "UpsampleLanczos",
}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The lines, planes or volumes of *input* with another *size*, or scaled by *scale_factor*.

    Modes are nearest, nearest-exact and area; linear for (N, C, L); bilinear, bicubic and lanczos
    for (N, C, H, W); trilinear for (N, C, D, H, W). With *align_corners* the outermost elements lie
    in the same places before and after; *antialias* makes filters wider where planes shrink.
    Floating point dtypes, and uint8 in the modes for which PyTorch has it.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.interpolate.html

    Raises:
        ValueError: neither or both of *size* and *scale_factor*, numbers for other dimensions, or
            options that the mode does not have.
        NotImplementedError: an input of a rank or dtype that the mode does not take.
        RuntimeError: a size below 1.

    Example:
        >>> x = tensorbus.tensor([[[1.0, 2.0]]])
        >>> nn.functional.interpolate(x, scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    rank = input.dim()
    if mode in (*_NEAREST, "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    given = _sizes(input, size), _factors(input, scale_factor)
    if (given[0] is None) == (given[1] is None):
        raise ValueError(
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
    wanted, factors = given
    if recompute_scale_factor and wanted is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if wanted is None and factors is not None:
        wanted = tuple(int(n * f) for n, f in zip(input._s[2:], factors, strict=True))
        if recompute_scale_factor or mode == "area":
            factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    _check_mode(rank, mode)
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "area":
        return _AREA[rank](input, wanted)
    assert wanted is not None
    return _resized(input, wanted, factors, mode, bool(align_corners), antialias)


def _spatial(input: Tensor, what: str, kind: str, given: Sequence[Any]) -> None:
    """Raise unless there is a number for each dimension behind the first two."""
    if len(given) != input.dim() - 2:
        short = "o" if kind == "output" else "s"
        raise ValueError(
            f"Input and {kind} must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input._s[2:])} and {what} {given}. Please provide "
            f"input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{kind.replace('output', 'output size')} in ({short}1, {short}2, ...,{short}K) format."
        )


def _sizes(input: Tensor, size: Any) -> tuple[int, ...] | None:
    if size is None:
        return None
    sizes = size if isinstance(size, (list, tuple)) else [size] * (input.dim() - 2)
    _spatial(input, "output size of", "output", sizes)
    found = [as_int(n, any_rank=True) for n in sizes]
    if None in found:
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with types {[type(n) for n in sizes]}"
        )
    return tuple(n for n in found if n is not None)


def _factors(input: Tensor, factor: Any) -> tuple[float, ...] | None:
    if factor is None:
        return None
    factors = factor if isinstance(factor, (list, tuple)) else [factor] * (input.dim() - 2)
    _spatial(input, "scale_factor of shape", "scale_factor", factors)
    if any(isinstance(f, (str, bytes)) or not hasattr(f, "__float__") for f in factors):
        raise TypeError(
            "interpolate(): argument 'scale_factor' must be a number, or one for each spatial "
            f"dimension, but got {[type(f).__name__ for f in factors]}"
        )
    return tuple(float(f) for f in factors)


def _check_mode(rank: int, mode: str) -> None:
    needed = _RANKS.get(mode)
    if (rank in (3, 4, 5) and mode in (*_NEAREST, "area")) or rank == needed:
        return
    if rank in (3, 4, 5) and mode in ("linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {needed}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact "
        f"(got {mode})"
    )


def _check_sizes(x: Tensor, sizes: tuple[int, ...]) -> None:
    own = tuple(x._s[2:])
    if min(*own, *sizes) < 1:
        sides = "DHW"[-len(sizes) :]
        before, after = (
            ", ".join(f"{side}: {n}" for side, n in zip(sides, of, strict=True))
            for of in (own, sizes)
        )
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) "
            f"{'and output' if len(sizes) == 1 else 'output'} ({after})"
        )
    if not x._s[1]:
        raise RuntimeError(
            f"Non-empty {x.dim()}D data tensor expected but got a tensor with sizes {list(x._s)}"
        )


def _check_dtype(x: Tensor, mode: str, antialias: bool) -> None:
    """Raise for dtypes that PyTorch has no kernel for, under its name of the kernel."""
    spatial = x.dim() - 2
    if x.dtype.is_floating_point:
        return
    nearest = mode in _NEAREST
    if x.dtype is dtypes.uint8 and (nearest or spatial == 2):
        return
    if nearest:
        name = f"upsample_nearest{spatial}d_channels_last"
    elif antialias:
        name = "compute_index_ranges_weights"
    elif mode == "bilinear":
        name = "upsample_bilinear2d_channels_last"
    else:
        name = "compute_indices_weights_" + ("cubic" if mode == "bicubic" else "linear")
    raise not_implemented(name, x)


def _node(
    x: Tensor, sizes: tuple[int, ...], factors: Any, mode: str, align_corners: bool, antialias: bool
) -> str:
    return f"{_NODES[mode]}{len(sizes)}D{'Aa' if antialias else ''}Backward0"


@composed(node=_node, layout="channels_last", autocast="device float32")
def _resized(
    x: Tensor,
    sizes: tuple[int, ...],
    factors: tuple[float, ...] | None,
    mode: str,
    align_corners: bool,
    antialias: bool,
) -> Tensor:
    """One dimension after the other: those that shrink most first, of equal ones the last."""
    _check_sizes(x, sizes)
    _check_dtype(x, mode, antialias)
    own = tuple(x._s[2:])
    if sizes == own and factors is None and not antialias:
        return x.clone()
    whole = x.dtype is dtypes.uint8 and mode not in _NEAREST
    made = x.float() if whole else x
    for d in sorted(range(len(sizes)), key=lambda d: (sizes[d] / own[d], -d)):
        factor = factors[d] if factors else None
        made = _along(
            made, d + 2, sizes[d], mode, align_corners, factor, antialias
        )  # fmt: skip
    return made.round().clamp(0, 255).to(x.dtype) if whole else made


def _along(
    x: Tensor, dim: int, size: int, mode: str, align_corners: bool, factor: float | None,
    antialias: bool,
) -> Tensor:  # fmt: skip
    double = x.dtype is dtypes.float64
    forth, back, empty = tables(
        _OF_LINES.get(mode, mode), x._s[dim], size, align_corners, factor, antialias, double
    )
    at, weights, back_at, back_weights = (
        None if values is None else tensor(values, dtype=dtype, device=x._k.device)
        for pair in (forth, back)
        for values, dtype in zip(pair, (dtypes.int64, x.dtype), strict=True)
    )
    return core("resampled")(x, dim, at, weights, back_at, back_weights, empty)


# -- older names -----------------------------------------------------------------------------
def _warn_older(name: str) -> None:
    warn_user(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead."
    )  # fmt: skip


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``interpolate`` under its older name, with a warning."""
    _warn_older("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` to the nearest element, with a warning."""
    _warn_older("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of planes with aligned corners, with a warning."""
    _warn_older("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
