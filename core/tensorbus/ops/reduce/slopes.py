"""Slopes of sampled functions: ``torch.gradient``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import check_tensors, floating
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.public import public


def _steps(x: Tensor, dims: list[int], spacing: Any) -> list[Any]:
    """A number or a vector of coordinates for each dimension."""
    if isinstance(spacing, Tensor):
        raise TypeError(
            "gradient(): argument 'spacing' must be a number or a list, not Tensor: put a vector "
            "of coordinates into a list"
        )
    if not isinstance(spacing, (list, tuple)):
        step = 1 if spacing is None else as_number(spacing)
        if step is None:
            raise TypeError(
                "gradient(): argument 'spacing' must be a number or a list, not "
                f"{type(spacing).__name__}"
            )
        return [step] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {len(dims)}', since dim argument was not given, but got a "
            f"list of length {len(spacing)}"
            if len(dims) == len(x._s)
            else "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and "
            f"dim arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(dims)}."
        )
    for d, given in zip(dims, spacing, strict=True):
        if isinstance(given, Tensor):
            if len(given._s) != 1:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have one dimension, but "
                    f"got an element with {len(given._s)} dimensions!"
                )
            if given._s[0] != x._s[d]:
                raise RuntimeError(
                    "torch.gradient expected spacing to be unspecified, a scalar, or a list of "
                    "length equal to the size of the input along that dimension"
                )
    return list(spacing)


def _along(x: Tensor, d: int, start: int, stop: int | None = None) -> Tensor:
    """What Python's slice between two places picks along a dimension."""
    first, end, _ = slice(start, stop).indices(x._s[d])
    r: Tensor = core("slice")(x, d, first, max(first, end), 1)
    return r


def _slope(x: Tensor, d: int, step: Any, edge_order: int) -> Tensor:
    """The slope along dimension *d*."""
    if not isinstance(step, Tensor):
        return _even_slope(x, d, step, edge_order)
    gaps = step.diff().reshape(-1, *(1,) * (len(x._s) - 1 - d))
    rises = (_along(x, d, 1) - _along(x, d, 0, -1)) / gaps
    before, after = gaps[:-1], gaps[1:]
    # The slopes on both sides, each weighted with the gap on the other.
    left, right = _along(rises, d, 0, -1), _along(rises, d, 1)
    inner = (left * after + right * before) / (before + after)
    first, last = _along(rises, d, 0, 1), _along(rises, d, -1)
    if edge_order == 2:
        bend = (right - left) / (before + after)
        first = first - _along(bend, d, 0, 1) * gaps[:1]
        last = last + _along(bend, d, -1) * gaps[-1:]
    return FUNCTIONS["cat"]((first, inner, last), d)


def _even_slope(x: Tensor, d: int, step: Any, edge_order: int) -> Tensor:
    """The same where all neighbours are *step* apart."""
    rises = _along(x, d, 1) - _along(x, d, 0, -1)
    first, last = _along(rises, d, 0, 1), _along(rises, d, -1)
    if edge_order == 2:
        bend = (_along(rises, d, 1) - _along(rises, d, 0, -1)) / 2
        first = first - _along(bend, d, 0, 1)
        last = last + _along(bend, d, -1)
    inner = (_along(x, d, 2) - _along(x, d, 0, -2)) / 2
    return FUNCTIONS["cat"]((first, inner, last), d) / step


@public(method=False)
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The slopes of sampled values along each dimension, or along those of *dim*.

    *spacing* is the distance of neighbours, or one for each dimension, or a vector of coordinates
    for each. Inside, a parabola through three neighbours gives the slope; at the ends a line, or a
    parabola where *edge_order* is 2. RuntimeError where a dimension has not *edge_order* + 1
    values.
    """
    check_tensors("gradient", input=input)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    rank = len(input._s)
    given = range(rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [wrap_dim(d, rank) for d in given]
    if len(set(dims)) < len(dims):
        twice = next(d for i, d in enumerate(dims) if d in dims[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    steps = _steps(input, dims, spacing)
    for d in dims:
        if not rank or input._s[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(
        _slope(floating(input), d, step, edge_order) for d, step in zip(dims, steps, strict=True)
    )
