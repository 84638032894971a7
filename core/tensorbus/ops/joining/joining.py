"""Tensors joined along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base.errors import device_error
from tensorbus._dispatch.kinds import kind_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import has_channels_last, lay_out
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.out import JOINED
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import channels_last_strides
from tensorbus.rows.registry import row

# fmt: off
row("cat", "x:T, y:T, dim",
    doc="*x*, and behind it *y*, along *dim*.",
    composite=lambda F, x, y, dim: join(F, (x, y), dim),
    x=lambda F, g, x_shape, dim: F.slice(g, dim, 0, x_shape[dim], 1),
    y=lambda F, g, x_shape, dim: F.slice(g, dim, x_shape[dim], g.shape[dim], 1), autocast="widest")
row("concatenate", "x:T*, dim",
    doc="The tensors of the sequence *x*, one behind the other along *dim*.",
    composite=lambda F, x, dim: join(F, x, dim),
    x=lambda F, g, x_shape, x_wanted, dim: _parts(F, g, x_shape, x_wanted, dim),
    node_name="CatBackward0", autocast="widest")
# fmt: on


def _parts(F: Any, g: Any, shapes: Any, wanted: Any, dim: int) -> list[Any]:
    """Each input's gradient is its part of the result's."""
    parts: list[Any] = []
    at = 0
    for shape, asked in zip(shapes, wanted, strict=True):
        n = shape[dim]
        parts.append(F.slice(g, dim, at, at + n, 1) if asked else None)
        at += n
    return parts


@public(out=JOINED, method=False, aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along a dimension; the other sizes must be equal.

    Dtypes are promoted; empty vectors are left out. RuntimeError where sizes differ.

    >>> import tensorbus
    >>> tensorbus.cat((tensorbus.ones(2), tensorbus.zeros(1)))
    tensor([1., 1., 0.])
    """
    given = list(tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    k = given[0]._k
    if any(x._k is not k for x in given):
        for x in given:
            if x._k.device is not k.device:
                raise device_error(k.device, x._k.device)
        k = kind_of(k.device, result_type(*given))
        given = [to_kind(x, k) for x in given]
    parts = [x for x in given if len(x._s) > 1 or (x._s and x._s[0])]
    if len(parts) < len(given):
        for position, x in enumerate(given):
            if not x._s:
                raise RuntimeError(
                    f"zero-dimensional tensor (at position {position}) cannot be concatenated"
                )
    if not parts:
        return core("clone")(given[0])
    first = parts[0]._s
    d = wrap_dim(dim, len(first))
    _check_sizes(parts, given, d)
    o = core("concatenate")(parts, d)
    if parts[0]._b is not None and all(has_channels_last(x) for x in parts):
        lay_out(o, channels_last_strides(tuple(o._s)))
    return o


def _check_sizes(parts: list[Tensor], given: list[Tensor], d: int) -> None:
    first = parts[0]._s
    for x in parts[1:]:
        s = x._s
        if s is first:
            continue
        if len(s) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(s)}"
            )
        if s[:d] == first[:d] and s[d + 1 :] == first[d + 1 :]:
            continue
        wrong = next(at for at in range(len(s)) if at != d and s[at] != first[at])
        position = next(i for i, y in enumerate(given) if y is x)
        raise RuntimeError(
            f"Sizes of tensors must match except in dimension {d}. Expected size {first[wrong]} "
            f"but got size {s[wrong]} for tensor number {position} in the list."
        )


@public(out=JOINED, method=False)
@autocasts("widest")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    given = list(tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0]._s
    for position, x in enumerate(given):
        if x._s != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x._s)} at entry {position}"
            )
    d = wrap_dim(dim, len(first) + 1)
    lift = core("unsqueeze")
    made = cat([lift(x, d) for x in given], d)
    if d < len(first) and all(x._b is not None and has_channels_last(x) for x in given):
        # As if joined along that dimension, which is then divided.
        joined = channels_last_strides((*first[:d], len(given) * first[d], *first[d + 1 :]))
        lay_out(made, (*joined[:d], first[d] * joined[d], *joined[d:]))
    if made._e is not None:
        name_node(made, "StackBackward0")
    return made


def _at_least(tensors: Any, name: str, rank: int) -> list[Tensor]:
    given = list(tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return [_ranked(x, rank) for x in given]


def _ranked(x: Tensor, rank: int) -> Tensor:
    """As ``atleast_1d``, ``2d`` and ``3d`` add dimensions: in front, the third one behind."""
    while len(x._s) < rank:
        x = core("unsqueeze")(x, 2 if len(x._s) == 2 else 0)
    return x


@public(out=JOINED, method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the columns: dimension 1, or 0 for vectors."""
    given = _at_least(tensors, "hstack", 1)
    return cat(given, 0 if len(given[0]._s) == 1 else 1)


@public(out=JOINED, method=False, aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the rows; vectors are rows."""
    return cat(_at_least(tensors, "vstack", 2), 0)


@public(out=JOINED, method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 2."""
    return cat(_at_least(tensors, "dstack", 3), 2)


@public(out=JOINED, method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the columns; vectors are columns."""
    given = _at_least(tensors, "column_stack", 0)
    return hstack([x if len(x._s) > 1 else x.reshape(-1, 1) for x in given])


def join(F: Any, arrays: Any, dim: int) -> Any:
    """Arrays one after another along a dimension, in a new array."""
    shape = list(arrays[0].shape)
    shape[dim] = sum(x.shape[dim] for x in arrays)
    out = F.empty(tuple(shape))
    at = 0
    for x in arrays:
        n = x.shape[dim]
        if n:
            F.copy_(F.slice(out, dim, at, at + n, 1), x)
        at += n
    return out
