"""Views of arrays for backends that bring none, and entries for kernels with narrow traits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus.ops.layouts import broadcast_shapes, view_strides
from tensorbus.plugin.backend import POINTWISE, REDUCTIONS, SCANS

Shape = tuple[int, ...]


def view(F: Any, x: Any, shape: Shape) -> Any:
    """The same elements in another shape; ValueError where only a copy can have it."""
    _, offset, strides = F.layout(x)
    found = view_strides(tuple(x.shape), tuple(strides), shape)
    if found is None:
        raise ValueError("no view of that shape")
    return F.as_strided(x, shape, found, offset)


def permute(F: Any, x: Any, dims: Shape) -> Any:
    """The dimensions in another order."""
    _, offset, strides = F.layout(x)
    shape = tuple(x.shape[d] for d in dims)
    return F.as_strided(x, shape, tuple(strides[d] for d in dims), offset)


def expand(F: Any, x: Any, shape: Shape) -> Any:
    """Extents of 1 repeated without a copy, and new leading dimensions."""
    _, offset, strides = F.layout(x)
    lead = len(shape) - len(x.shape)
    new = [0] * lead
    for n, wanted, stride in zip(x.shape, shape[lead:], strides, strict=True):
        new.append(stride if n == wanted else 0)
    return F.as_strided(x, shape, tuple(new), offset)


def slice_(F: Any, x: Any, dim: int, start: int, stop: int | None, step: int) -> Any:
    """Every *step*-th element of one dimension."""
    _, offset, strides = F.layout(x)
    n = len(range(x.shape[dim])[start:stop:step])
    shape = (*x.shape[:dim], n, *x.shape[dim + 1 :])
    new = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return F.as_strided(x, shape, new, offset + (start * strides[dim] if n else 0))


def select(F: Any, x: Any, dim: int, i: int) -> Any:
    """One place of a dimension, which disappears."""
    _, offset, strides = F.layout(x)
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    return F.as_strided(x, shape, (*strides[:dim], *strides[dim + 1 :]), offset + i * strides[dim])


def unsqueeze(F: Any, x: Any, dim: int) -> Any:
    """A new dimension of extent 1."""
    _, offset, strides = F.layout(x)
    stride = x.shape[dim] * strides[dim] if dim < len(x.shape) else 1
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    return F.as_strided(x, shape, (*strides[:dim], stride, *strides[dim:]), offset)


DEFAULTS: dict[str, Callable[..., Any]] = {
    "view": view,
    "permute": permute,
    "expand": expand,
    "slice": slice_,
    "select": select,
    "unsqueeze": unsqueeze,
}


def suit_traits(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An entry that takes any shapes, sizes and layouts, for a kernel that may not."""
    traits = kind.backend.traits
    if traits.contiguous_inputs or not traits.strided_out:
        kernel = _contiguous(kind, name, kernel)
    if not traits.takes_empty:
        kernel = _nonempty(kind, name, kernel)
    if not traits.broadcasts and name in POINTWISE:
        kernel = _broadcasting(kind, kernel)
    return kernel


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape")


def _broadcasting(kind: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def entry(*operands: Any, out: Any = None) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if any(x.shape != arrays[0].shape for x in arrays):
            shape = tuple(broadcast_shapes(*(tuple(x.shape) for x in arrays)))
            operands = tuple(
                kind.expand(x, shape) if _is_array(x) and tuple(x.shape) != shape else x
                for x in operands
            )
        return kernel(*operands) if out is None else kernel(*operands, out=out)

    return entry


def _nonempty(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    from tensorbus.ops.registry import ROWS

    result = {"bool": "bool", "int64": "i64"}.get(ROWS[name].result)
    identity = {"sum": 0, "prod": 1, "matmul": 0}

    def entry(*operands: Any, **out: Any) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if all(0 not in x.shape for x in arrays) and not (name == "arange" and not operands[0]):
            return kernel(*operands, **out)
        if name in ("put", "scatter"):
            return operands[0]
        target = kind if result is None else getattr(kind, result)
        shape = _empty_shape(name, operands, arrays)
        if name in ("amax", "amin", "argmax", "argmin") and 0 not in shape:
            raise IndexError(f"{name}(): the dimension to reduce has no elements")
        made = out.get("out")
        if made is None:
            return target.full(shape, identity.get(name, 0))
        return target.copy_(made, identity.get(name, 0))

    return entry


def _empty_shape(name: str, operands: tuple[Any, ...], arrays: list[Any]) -> Shape:
    if name in POINTWISE:
        return tuple(broadcast_shapes(*(tuple(x.shape) for x in arrays)))
    x = arrays[0] if arrays else None
    if name in REDUCTIONS:
        dims = operands[1] if isinstance(operands[1], tuple) else (operands[1],)
        return tuple(n for d, n in enumerate(x.shape) if d not in dims)
    if name in SCANS or name == "argsort":
        return tuple(x.shape)
    if name == "matmul":
        return (*x.shape[:-1], operands[1].shape[-1])
    if name == "take":
        dim = operands[1]
        return (*x.shape[:dim], operands[2].shape[0], *x.shape[dim + 1 :])
    if name == "gather":
        return tuple(operands[2].shape)
    return (0,)


def _contiguous(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    from tensorbus.ops.registry import ROWS

    inputs = kind.backend.traits.contiguous_inputs
    sources = {"i": "i64", "c": "bool"}
    arguments = ROWS[name].arguments

    def entry(*operands: Any, out: Any = None) -> Any:
        if inputs:
            laid = []
            for argument, x in zip(arguments, operands, strict=False):
                k = getattr(kind, sources[argument]) if argument in sources else kind
                laid.append(k.contiguous(x) if _is_array(x) and argument != "out" else x)
            operands = tuple(laid)
        if out is None:
            return kernel(*operands)
        # The kernel writes row-major memory of its own; the view gets a copy.
        return kind.backend.copy_(out, kind.dtype, kernel(*operands), kind.dtype) or out

    return entry
