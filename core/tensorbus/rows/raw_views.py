"""Views of arrays for backends that bring none, and entries for kernels with narrow traits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.dtypes import BOOL
from tensorbus.plugin.backend import POINTWISE, REDUCTIONS, SCANS
from tensorbus.rows.layouts import broadcast_shapes, view_strides
from tensorbus.rows.registry import ROWS

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
    return F.as_strided(x, shape, new, offset + _reach(shape, start * strides[dim]))


def select(F: Any, x: Any, dim: int, i: int) -> Any:
    """One place of a dimension, which disappears."""
    _, offset, strides = F.layout(x)
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    new = (*strides[:dim], *strides[dim + 1 :])
    return F.as_strided(x, shape, new, offset + _reach(shape, i * strides[dim]))


def _reach(shape: Shape, distance: int) -> int:
    """How far a view's first element lies from its base's; no elements, no way to go."""
    return 0 if 0 in shape else distance


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


_WITHOUT_IDENTITY = ("amax", "amin", "argmax", "argmin")
_FROM_NOTHING = ("arange", "random_bits")

FOLDS = (*REDUCTIONS, "sum_long")
"""The entries that take dimensions away; ``sum_long`` is the kernel of ``sum`` with int64."""


def suit_traits(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An entry that takes any shapes, sizes and layouts, for a kernel that may not."""
    traits = kind.backend.traits
    if traits.contiguous_inputs or not traits.strided_out:
        kernel = _contiguous(kind, name, kernel)
    truths = name in ("amax", "amin") and kind.dtype.category == BOOL  # any, all: of nothing too
    if not traits.takes_empty or truths:
        kernel = _nonempty(kind, name, kernel)
    if not traits.broadcasts and name in POINTWISE:
        kernel = _broadcasting(kind, name, kernel)
    if not traits.broadcasts and name == "matmul":
        kernel = _equal_batches(kind, kernel)
    return kernel


def suit_numbers(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An entry whose operands may be Python numbers, for a kernel that wants ``scalar``'s."""
    if name in _FROM_NOTHING:
        return kernel
    kinds = _operand_kinds(kind, name)

    def entry(*operands: Any, **out: Any) -> Any:
        for place, operand in enumerate(operands):
            if place in kinds and isinstance(operand, (bool, int, float, complex)):
                operands = (*operands[:place], kinds[place].const(operand), *operands[place + 1 :])
        return kernel(*operands, **out)

    return entry


def _operand_kinds(kind: Any, name: str) -> dict[int, Any]:
    """The kinds of an op's operands, by their places among its arguments."""
    row, others = ROWS[name], {"i": kind.i64, "c": kind.bool}
    return {
        place: others.get(argument, kind)
        for place, argument in enumerate(row.arguments)
        if argument in row.tensors
    }


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape")


def _broadcasting(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    kinds = [kind.bool, kind, kind] if name == "where" else [kind, kind]

    def entry(*operands: Any, out: Any = None) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if any(x.shape != arrays[0].shape for x in arrays):
            shape = tuple(broadcast_shapes(*(tuple(x.shape) for x in arrays)))
            operands = tuple(
                k.expand(x, shape) if _is_array(x) and tuple(x.shape) != shape else x
                for k, x in zip(kinds, operands, strict=False)
            )
        return kernel(*operands) if out is None else kernel(*operands, out=out)

    return entry


def _equal_batches(kind: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def entry(a: Any, b: Any, *dtype: Any) -> Any:
        left, right = tuple(a.shape[:-2]), tuple(b.shape[:-2])
        if left != right:
            batch = tuple(broadcast_shapes(left, right))
            a = a if left == batch else kind.expand(a, (*batch, *a.shape[-2:]))
            b = b if right == batch else kind.expand(b, (*batch, *b.shape[-2:]))
        return kernel(a, b, *dtype)

    return entry


def _nonempty(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    result = {"bool": "bool", "int64": "i64"}.get(ROWS[name].result)
    identity = {"prod": 1, "amin": 1}.get(name, 0)
    without = ("argmax", "argmin") if kind.dtype.category == BOOL else _WITHOUT_IDENTITY

    def entry(*operands: Any, **out: Any) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if all(0 not in x.shape for x in arrays) and not (name == "arange" and not operands[0]):
            return kernel(*operands, **out)
        if name in ("put", "scatter"):
            return operands[0]
        target = kind if result is None else getattr(kind, result)
        shape = _empty_shape(name, operands, arrays)
        if name in without and 0 not in shape:
            raise IndexError(f"{name}(): the dimension to reduce has no elements")
        made = out.get("out")
        if made is None:
            return target.full(shape, identity)
        return target.copy_(made, identity)

    return entry


def _empty_shape(name: str, operands: tuple[Any, ...], arrays: list[Any]) -> Shape:
    if name in POINTWISE:
        return tuple(broadcast_shapes(*(tuple(x.shape) for x in arrays)))
    x: Any = arrays[0] if arrays else None
    if name in FOLDS:
        dims = operands[1] if isinstance(operands[1], tuple) else (operands[1],)
        return tuple(n for d, n in enumerate(x.shape) if d not in dims)
    if name in SCANS or name == "argsort":
        return tuple(x.shape)
    if name == "matmul":
        batch = broadcast_shapes(tuple(x.shape[:-2]), tuple(operands[1].shape[:-2]))
        return (*batch, x.shape[-2], operands[1].shape[-1])
    if name == "take":
        dim = operands[1]
        return (*x.shape[:dim], operands[2].shape[0], *x.shape[dim + 1 :])
    if name == "gather":
        return tuple(operands[2].shape)
    return (0,)


def _contiguous(kind: Any, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    traits = kind.backend.traits
    sources = {"i": kind.i64, "c": kind.bool}
    # The array that ``put`` and ``scatter`` write into is taken as it is.
    first = 1 if name in ("put", "scatter") else 0
    laid_out = {
        place: sources.get(argument, kind)
        for place, argument in enumerate(ROWS[name].arguments)
        if traits.contiguous_inputs and place >= first
    }
    target = {"int64": kind.i64, "bool": kind.bool}.get(ROWS[name].result, kind)

    def entry(*operands: Any, out: Any = None) -> Any:
        if laid_out:
            operands = tuple(
                laid_out[place].contiguous(x) if place in laid_out and _is_array(x) else x
                for place, x in enumerate(operands)
            )
        if out is None:
            return kernel(*operands)
        if traits.strided_out or target.is_contiguous(out):
            return kernel(*operands, out=out)
        return target.copy_(out, target.as_array(kernel(*operands)))

    return entry
