"""Views and reshaping."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._tensor import PERMUTED, Tensor, new
from tensorbus.ops.dims import shape_argument, wrap_dim
from tensorbus.ops.generate import core
from tensorbus.ops.public import METHODS, Lazy, public
from tensorbus.ops.registry import row
from tensorbus.size import size_of

Shape = tuple[int, ...]

# fmt: off
row("view", "x:T, shape", "view", x=lambda F, g, x_shape: F.reshape(g, tuple(x_shape)))
row("permute", "x:T, dims", "view", x=lambda F, g, dims: F.permute(g, inverse(dims)))
row("expand", "x:T, shape", "view", x=lambda F, g, x_shape: F.sum_to(g, tuple(x_shape)))
row("slice", "x:T, dim, start, stop, step", "view", node_name="SliceBackward0",
    x=lambda F, g, x_shape, dim, start, stop, step:
        F.slice_backward(g, tuple(x_shape), dim, start, stop, step))
row("select", "x:T, dim, i", "view",
    x=lambda F, g, x_shape, dim, i: F.select_backward(g, tuple(x_shape), dim, i))
row("unsqueeze", "x:T, dim", "view", x=lambda F, g, dim: F.select(g, dim, 0))
row("strided", "x:T, shape, strides, offset", "view", node_name="AsStridedBackward0",
    composite=lambda F, x, shape, strides, offset: F.as_strided(x, shape, strides, offset),
    x=lambda F, g, x_shape, shape, strides, offset:
        F.strided_backward(g, tuple(x_shape), strides, offset))
row("alias", "x:T", "view", composite=lambda F, x: x, x=lambda F, g: g)

row("reshape", "x:T, shape", composite=lambda F, x, shape: _reshape(F, x, shape))
row("clone", "x:T", composite=lambda F, x: _copy(F, x), x=lambda F, g: g)
row("sum_to", "x:T, shape", composite=lambda F, x, shape: _sum_to(F, x, shape),
    x=lambda F, g, x_shape: F.expand(g, tuple(x_shape)))
row("slice_backward", "g:T, shape, dim, start, stop, step",
    composite=lambda F, g, shape, dim, start, stop, step:
        _write(F, shape, lambda z: F.slice(z, dim, start, stop, step), g),
    g=lambda F, g, dim, start, stop, step: F.slice(g, dim, start, stop, step))
row("select_backward", "g:T, shape, dim, i",
    composite=lambda F, g, shape, dim, i: _write(F, shape, lambda z: F.select(z, dim, i), g),
    g=lambda F, g, dim, i: F.select(g, dim, i))
row("strided_backward", "g:T, shape, strides, offset",
    composite=lambda F, g, shape, strides, offset: _strided_backward(F, g, shape, strides, offset),
    g=lambda F, g, g_shape, strides, offset: F.strided(g, tuple(g_shape), strides, offset))
# fmt: on


def inverse(dims: Shape) -> Shape:
    """The permutation that undoes another."""
    return tuple(dims.index(d) for d in range(len(dims)))


def _copy(F: Any, x: Any) -> Any:
    out = F.empty(x.shape)
    F.copy_(out, x)
    return out


def _write(F: Any, shape: Shape, place: Any, g: Any) -> Any:
    """Zeros with *g* written into one view of them."""
    out = F.zeros(shape)
    F.copy_(place(out), g)
    return out


def _strided_backward(F: Any, g: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """Each element's gradient goes where it was read, summed where it was read more than once."""
    F64 = F.i64
    index = F64.full((), offset)
    for d, (n, stride) in enumerate(zip(g.shape, strides, strict=True)):
        steps = F64.mul(F64.arange(n, 0, 1), stride)
        index = F64.add(index, F64.view(steps, (1,) * d + (n,) + (1,) * (len(g.shape) - d - 1)))
    flat = F.zeros((math.prod(shape),))
    index = F64.reshape(F64.expand(index, tuple(g.shape)), (math.prod(g.shape),))
    F.scatter(flat, 0, index, F.reshape(g, (math.prod(g.shape),)), "add")
    return F.view(flat, shape)


def _reshape(F: Any, x: Any, shape: Shape) -> Any:
    try:
        return F.view(x, shape)
    except Exception:  # no view of that shape: a backend tells in its own way
        return F.view(F.contiguous(x), shape)


def _sum_to(F: Any, x: Any, shape: Shape) -> Any:
    own = tuple(x.shape)
    if own == tuple(shape):
        return x
    lead = len(own) - len(shape)
    dims = tuple(range(lead)) + tuple(
        d + lead for d, n in enumerate(shape) if n == 1 and own[d + lead] != 1
    )
    if dims:
        x = F.sum(x, dims)
    return F.view(F.contiguous(x), tuple(shape)) if tuple(x.shape) != tuple(shape) else x


# -- public ----------------------------------------------------------------------------------
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
            return tuple(n // known if extent == -1 else extent for extent in shape)
    if any(extent < 0 for extent in shape) or math.prod(shape) != n:
        if any(extent < -1 for extent in shape):
            raise RuntimeError(
                f"invalid shape dimension {min(shape)} at index {shape.index(min(shape))} "
                f"of shape {list(shape)}"
            )
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {n}")
    return shape


_shapes: dict[tuple[Any, Shape], Shape] = {}


def _cached_shape(x: Tensor, shape: Shape) -> Shape:
    found = _resolve_shape(x, shape)
    if len(_shapes) > 10_000:
        _shapes.clear()
    return _shapes.setdefault((x._s, shape), found)


def _make_view() -> Any:
    view_core = core("view")
    shapes = _shapes

    def view(self: Tensor, *shape: Any) -> Tensor:
        """The same elements in another shape, sharing memory; one extent may be -1.

        RuntimeError where the layout does not allow it: ``reshape`` copies then. Given a dtype, the
        same bytes as that dtype.
        """
        try:
            wanted = shapes[self._s, shape]
        except (KeyError, TypeError):
            if len(shape) == 1 and hasattr(shape[0], "itemsize"):
                return view_dtype(self, shape[0])
            wanted = _cached_shape(self, shape_argument(shape))
            if type(shape[0] if shape else 0) is int:
                shapes[self._s, shape] = wanted
        if self._b is not None:
            _check_view(self, wanted)
        return view_core(self, wanted)

    return view


METHODS["view"] = Lazy("view", _make_view)


def _check_view(x: Tensor, shape: Shape) -> None:
    from tensorbus.ops.layouts import view_strides

    if view_strides(tuple(x._s), tuple(x._k.layout(x._a)[2]), shape) is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )


@public()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where the layout allows it, else a copy."""
    wanted = _resolve_shape(input, shape_argument(shape))
    if input._b is None or input._k.is_contiguous(input._a):
        return core("view")(input, wanted)
    from tensorbus.ops.layouts import view_strides

    if view_strides(tuple(input._s), tuple(input._k.layout(input._a)[2]), wanted) is not None:
        return core("view")(input, wanted)
    return core("view")(core("clone")(input), wanted)


@public(function=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` in the shape of another tensor."""
    return self.view(tuple(other._s))


@public(function=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` in the shape of another tensor."""
    return reshape(self, tuple(other._s))


@public()
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor's real and imaginary parts, in a new last dimension of 2."""
    if not input._k.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    k = input._k.of(input._k.dtype.to_real())
    _, offset, strides = input._k.layout(input._a)
    shape = (*input._s, 2)
    array = k.backend.as_strided(
        input._a, shape, (*(2 * s for s in strides), 1), 2 * offset, input._k.dtype, k.dtype
    )
    return _other_dtype(input, array, k)


def view_dtype(x: Tensor, d: Any) -> Tensor:
    """The same bytes as another dtype; the last dimension takes the difference in size."""
    k = x._k.of(d)
    _, offset, strides = x._k.layout(x._a)
    old, size = x._k.dtype.itemsize, d.itemsize
    if old == size:
        shape, new_strides, new_offset = tuple(x._s), tuple(strides), offset
    else:
        if not x._s:
            raise RuntimeError("self.dim() cannot be 0 to view a tensor as a dtype of another size")
        if strides[-1] != 1 or (x._s[-1] * old) % size:
            raise RuntimeError(
                "the last dimension must be contiguous and its bytes divisible by the new dtype's "
                f"size to view {x._k.dtype} as {d}"
            )
        shape = (*x._s[:-1], x._s[-1] * old // size)
        new_strides = (*(s * old // size for s in strides[:-1]), 1)
        new_offset = offset * old // size
    array = k.backend.as_strided(x._a, shape, new_strides, new_offset, x._k.dtype, d)
    return _other_dtype(x, array, k)


def _other_dtype(x: Tensor, array: Any, k: Any) -> Tensor:
    o = new(Tensor)
    if x._c is None:
        x._c = [0]
    o._a, o._k, o._s, o._c, o._e = array, k, size_of(array.shape), x._c, None
    o._b = PERMUTED
    return o


@public()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order, without a copy."""
    given = shape_argument(dims)
    rank = len(input._s)
    if len(given) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal "
            f"to len(dims) = {len(given)}"
        )
    order = tuple(wrap_dim(d, rank) for d in given)
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return core("permute")(input, order)


_swaps: dict[tuple[int, int, int], Shape] = {}


@public(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, without a copy."""
    rank = len(input._s)
    try:
        order = _swaps[rank, dim0, dim1]
    except KeyError:
        a, b = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
        dims = list(range(rank))
        if rank:
            dims[a], dims[b] = dims[b], dims[a]
        order = _swaps[rank, dim0, dim1] = tuple(dims)
    return core("permute")(input, order)


@public()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; tensors of fewer dimensions as they are."""
    rank = len(input._s)
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return core("permute")(input, tuple(reversed(range(rank))))


@public()
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places, the rest in their order."""
    rank = len(input._s)
    src = [wrap_dim(d, rank) for d in (source if isinstance(source, (tuple, list)) else (source,))]
    dst = [
        wrap_dim(d, rank)
        for d in (destination if isinstance(destination, (tuple, list)) else (destination,))
    ]
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({src} dims) should contain the "
            f"same number of dims as destination ({dst} dims)"
        )
    rest = iter(d for d in range(rank) if d not in src)
    order = tuple(src[dst.index(d)] if d in dst else next(rest) for d in range(rank))
    return core("permute")(input, order)


@public(function=False)
def expand(self: Tensor, *sizes: Any) -> Tensor:
    """Extents of 1 repeated without a copy; -1 keeps an extent; new dimensions come in front."""
    wanted = shape_argument(sizes)
    own = tuple(self._s)
    lead = len(wanted) - len(own)
    if lead < 0:
        raise RuntimeError(
            f"expand({_type(self)}{list(own)}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own)})"
        )
    filled = list(wanted)
    for d in range(len(wanted)):
        n = own[d - lead] if d >= lead else None
        if wanted[d] == -1:
            if n is None:
                raise RuntimeError(
                    f"expand({_type(self)}{list(own)}, size={list(wanted)}): the expanded size of "
                    f"the tensor ({wanted[d]}) isn't allowed in a leading, non-existing dimension "
                    f"{d}"
                )
            filled[d] = n
        elif n is not None and n not in (1, wanted[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[d]}) must match the existing size ({n}) "
                f"at non-singleton dimension {d}.  Target sizes: {list(wanted)}.  "
                f"Tensor sizes: {list(own)}"
            )
    return core("expand")(self, tuple(filled))


def _type(x: Tensor) -> str:
    return f"torch.{x._k.dtype.legacy}"


@public(function=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``expand`` to the shape of another tensor."""
    return expand(self, tuple(other._s))


@public()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``expand`` as a function."""
    return expand(input, *size)


@public(inplace=False)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of extent 1."""
    return core("unsqueeze")(input, wrap_dim(dim, len(input._s) + 1))


@public()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of extent 1, or without those named where their extent is 1."""
    rank = len(input._s)
    if dim is None:
        dims = set(range(rank))
    else:
        dims = {wrap_dim(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
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
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@public()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(input, -1)


@public()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension split into several; one of the sizes may be -1."""
    d = wrap_dim(dim, len(input._s))
    shape = tuple(input._s)
    known = math.prod(n for n in sizes if n != -1)
    filled = tuple(shape[d] // max(known, 1) if n == -1 else n for n in sizes)
    if math.prod(filled) != shape[d]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor"
        )
    return reshape(input, (*shape[:d], *filled, *shape[d + 1 :]))


@public()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """*length* places of one dimension from *start* on, without a copy."""
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    start = int(start)
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    start = start + n if start < 0 else start
    if length < 0 or start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return core("slice")(input, d, start, start + length, 1)


@public()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One place of a dimension, which disappears; without a copy."""
    if not input._s:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(input._s))
    n = input._s[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._s)} "
            f"at dimension {d}"
        )
    return core("select")(input, d, index % n)


@public()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """A view with any shape, strides and offset within the storage."""
    shape, strides = tuple(size), tuple(stride)
    own = input._k.layout(input._a)[1]
    offset = own if storage_offset is None else int(storage_offset)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {len(strides)} strides, {len(shape)} sizes"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    itemsize = input._k.dtype.itemsize
    available = input._k.backend.storage_size(input._a, input._k.dtype) // itemsize
    if 0 not in shape and last >= available:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {(last + 1) * itemsize} are out "
            f"of bounds for storage of size {available * itemsize}"
        )
    return core("strided")(input, shape, strides, offset)


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions as a new last one, without a copy."""
    rank = len(input._s)
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    _, start, strides = input._k.layout(input._a)
    rows, columns = input._s[a], input._s[b]
    n = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    if n:
        start += offset * strides[b] if offset >= 0 else -offset * strides[a]
    rest = [d for d in range(rank) if d not in (a, b)]
    shape = (*(input._s[d] for d in rest), n)
    return core("strided")(
        input, shape, (*(strides[d] for d in rest), strides[a] + strides[b]), start
    )


@public(function=False)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of one dimension as a new last one, without a copy."""
    d = wrap_dim(dimension, len(self._s))
    n = self._s[d] if self._s else 1
    if size > n or step <= 0:
        raise RuntimeError(
            f"maximum size for tensor at dimension {d} is {n} but size is {size}"
            if size > n
            else f"step is {step} but must be > 0"
        )
    _, offset, strides = self._k.layout(self._a)
    if not self._s:
        return core("strided")(self, (size,), (1,), offset)
    shape = (*self._s[:d], (n - size) // step + 1, *self._s[d + 1 :], size)
    return core("strided")(
        self, shape, (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]), offset
    )
