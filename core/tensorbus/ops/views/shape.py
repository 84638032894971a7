"""Other shapes of the same elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import no_tensor
from tensorbus._base.size import Size, size_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import Given, one_by_one
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import list_argument, shape_argument, wrap_dim, wrap_dims
from tensorbus.op_engine.generate import shortcut
from tensorbus.op_engine.names import METHODS, Lazy
from tensorbus.op_engine.public import public
from tensorbus.ops.views.reinterpretation import view_dtype
from tensorbus.rows.layouts import view_strides

Shape = tuple[int, ...]


def _resolve_shape(x: Tensor, shape: Shape) -> Shape:
    """The shape with its -1 filled in; RuntimeError where the number of elements differs."""
    n = x._s.numel()
    if -1 in shape:
        known = -math.prod(shape)
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if known == 0:
            if n == 0:
                raise RuntimeError(
                    f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                    "unspecified dimension size -1 can be any value and is ambiguous"
                )
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
        if n % known == 0:
            return tuple(n // known if size == -1 else size for size in shape)
    if any(size < 0 for size in shape) or math.prod(shape) != n:
        if any(size < -1 for size in shape):
            raise RuntimeError(
                f"invalid shape dimension {min(shape)} at index {shape.index(min(shape))} "
                f"of shape {list(shape)}"
            )
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
    return shape


_shapes: dict[tuple[Any, int, Shape], tuple[Shape, Size]] = {}


def _view_slowly(x: Tensor, size: Any, more: tuple[Any, ...], dtype: Any) -> Tensor:
    """``view`` with arguments seen for the first time, or of a tensor that is no plain one."""
    first = dtype if size is None else size
    if first is None and not more:
        raise TypeError('view() missing 1 required positional arguments: "size"')
    if not more and (d := dtypes.as_dtype(first)) is not None:
        return view_dtype(x, d)
    shape = _resolve_shape(x, shape_argument("view", "size", (first, *more)))
    if type(first) is int:
        if len(_shapes) > 10_000:
            _shapes.clear()
        _shapes[x._s, first, more] = shape, size_of(shape)
    if x._b is not None:
        _check_view(x, shape)
    return core("view")(x, shape)


def _make_view() -> Any:
    first = [
        "    try:",
        "        shape, s = SHAPES[x._s, size, more]",
        "    except (KeyError, TypeError):",
        "        return view_slowly(x, size, more, dtype)",
        "    if x._b is not None:",
        "        return view_slowly(x, size, more, dtype)",
    ]
    view = shortcut(
        "view",
        "x, size=None, *more, dtype=None",
        first,
        "s",
        SHAPES=_shapes,
        view_slowly=_view_slowly,
    )
    view.__name__ = view.__qualname__ = "view"
    view.__doc__ = """The same elements in another shape, sharing memory; one size may be -1.

        RuntimeError where the layout does not allow it: ``reshape`` copies then. Given a dtype, the
        same bytes as that dtype.
        """
    return view


METHODS["view"] = Lazy("view", _make_view)


def _check_view(x: Tensor, shape: Shape) -> None:
    if view_strides(tuple(x._s), tuple(x._k.strides(x._a)), shape) is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )


@public(name="reshape", method=False)
def _reshape_function(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape: a view where the layout allows it, else a copy."""
    return reshape(input, shape)


@public(function=False)
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape: a view where the layout allows it, else a copy."""
    try:
        wanted = _resolve_shape(
            input, shape_argument("reshape", "shape", args if shape is None else (shape,))
        )
    except AttributeError:
        raise no_tensor("reshape", input) from None
    return _reshaped(input, wanted)


def _reshaped(input: Tensor, wanted: Shape) -> Tensor:
    """``reshape`` to a shape of as many elements."""
    if input._b is None or input._k.is_contiguous(input._a):
        return core("view")(input, wanted)
    if view_strides(tuple(input._s), tuple(input._k.strides(input._a)), wanted) is not None:
        return core("view")(input, wanted)
    copied = core("view")(core("clone")(input), wanted)
    if copied._e is not None:
        name_node(copied, "UnsafeViewBackward0")
    return copied


@public(function=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` in the shape of another tensor."""
    return self.view(tuple(other._s))


@public(function=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` in the shape of another tensor."""
    return reshape(self, tuple(other._s))


@public(function=False)
def expand(self: Tensor, *args: Any, size: Any = None) -> Tensor:
    """Sizes of 1 repeated without a copy; -1 keeps a size; new dimensions come in front."""
    wanted = list_argument("expand", "size", args, size)
    try:
        own = tuple(self._s)
    except AttributeError:
        raise no_tensor("expand", self) from None
    lead = len(wanted) - len(own)
    if lead < 0:
        raise RuntimeError(
            f"expand({_type(self)}{{{list(own)}}}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(own)})"
        )
    filled = list(wanted)
    for d in reversed(range(len(wanted))):
        n = own[d - lead] if d >= lead else None
        if wanted[d] == -1:
            if n is None:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted[d]}) isn't allowed in a leading, "
                    f"non-existing dimension {d}"
                )
            filled[d] = n
        elif n not in (None, 1, wanted[d]) or wanted[d] < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[d]}) must match the existing size ({n}) "
                f"at non-singleton dimension {d}.  Target sizes: {list(wanted)}.  "
                f"Tensor sizes: {list(own)}"
            )
    if 1 in filled[:lead]:  # a new dimension that repeats nothing steps over all inner ones
        for _ in range(lead):
            self = core("unsqueeze")(self, 0)
    return core("expand")(self, tuple(filled))


def _type(x: Tensor) -> str:
    return f"torch.{x._k.dtype.legacy}"


@public(function=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``expand`` to the shape of another tensor."""
    return expand(self, tuple(other._s))


@public()
@one_by_one("size")
def broadcast_to(input: Tensor, size: int | Sequence[int]) -> Tensor:
    """``expand`` as a function."""
    return expand(input, size)


@public(inplace=False)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of size 1."""
    return core("unsqueeze")(input, wrap_dim(dim, len(input._s) + 1))


def _squeezed_by(dim: Any) -> int:
    """Which of PyTorch's three ways of squeezing: all dimensions, one, several."""
    return 0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1


@public()
@one_by_one("dim")
@composed(node=lambda input, dim=None: f"SqueezeBackward{_squeezed_by(dim)}")
def squeeze(input: Tensor, dim: Given[int | Sequence[int]] = None) -> Tensor:
    """Without the dimensions of size 1, or without those named where their size is 1."""
    if dim is None and input._b is None:
        return core("view")(input, tuple([n for n in input._s if n != 1]))
    rank = len(input._s)
    dims = set(() if isinstance(dim, tuple) and not dim else wrap_dims(dim, rank))
    shape = tuple(n for d, n in enumerate(input._s) if d not in dims or n != 1)
    if input._b is None:
        return core("view")(input, shape)
    out = input
    for d in sorted(dims, reverse=True):
        if rank and input._s[d] == 1:
            out = core("select")(out, d, 0)
    return core("alias")(input) if out is input else out


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from *start_dim* to *end_dim* joined into one."""
    rank = len(input._s)
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not rank:
        return reshape(input, 1)
    if start == end:
        return input
    shape = tuple(input._s)
    return _reshaped(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, row-major."""
    return reshape(input.contiguous(), -1)


@public()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension split into several; one of the sizes may be -1."""
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    d = wrap_dim(dim, len(input._s))
    if not input._s:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if list(sizes).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    shape = tuple(input._s)
    known = math.prod(n for n in sizes if n != -1)
    filled = tuple(shape[d] // max(known, 1) if n == -1 else n for n in sizes)
    if math.prod(filled) != shape[d]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor"
        )
    return reshape(input, (*shape[:d], *filled, *shape[d + 1 :]))
