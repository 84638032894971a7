"""Elements written by index, one element for each: ``scatter`` and its reductions."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import is_interrupt, type_error
from tensorbus._base.modes import RARE
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor, bump, from_array, unbump
from tensorbus.op_engine.arguments import check_device, not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import check_write, in_place, record_as
from tensorbus.op_engine.mixed_operands import operand
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted
from tensorbus.ops.indexing.put_slices import apart
from tensorbus.ops.indexing.rows import narrowed, narrowed_but
from tensorbus.rows.registry import row

# fmt: off
row("scatter_set", "x:T, dim, i:int64, src:T",
    doc="A copy of *x* with the elements of *src* instead of those that *i* selects along "
        "*dim*.",
    composite=lambda F, x, dim, i, src: _scattered(F, F.clone(x), dim, i, src, "set"),
    x=lambda F, g, dim, i: F.scatter_set(g, dim, i, F.zeros(tuple(i.shape))),
    src=lambda F, g, dim, i, src_shape: _gathered(F, g, dim, i, src_shape))
row("scatter_add", "x:T, dim, i:int64, src:T",
    doc="A copy of *x* with the elements of *src* added to those that *i* selects along *dim*.",
    composite=lambda F, x, dim, i, src: _scattered(F, F.clone(x), dim, i, src, "add"),
    x=lambda F, g: g,
    src=lambda F, g, dim, i, src_shape: _gathered(F, g, dim, i, src_shape),
    autocast="device widest")
row("scatter_mul", "x:T, dim, i:int64, src:T",
    doc="A copy of *x* whose elements that *i* selects along *dim* are multiplied by those of "
        "*src*.",
    piecewise_linear=True, holomorphic=True,
    composite=lambda F, x, dim, i, src: _scattered(F, F.clone(x), dim, i, src, "mul"),
    x=lambda F, g, dim, i, src, x_shape:
        F.mul(g, F.scatter_mul(F.full(tuple(x_shape), 1), dim, i, src)),
    src=lambda F, g, x, dim, i, src: _mul_source(F, g, x, dim, i, src))
for _op, _word in (("amax", "largest"), ("amin", "smallest")):
    row(f"scatter_{_op}", "x:T, dim, i:int64, src:T",
        doc=f"A copy of *x*, with the {_word} of its elements and those of *src* where *i* "
            "selects.",
        composite=lambda F, x, dim, i, src, op=_op: _scattered(F, F.clone(x), dim, i, src, op),
        x=lambda F, g, x, dim, i, src, out: _extreme(F, g, x, dim, i, src, out)[0],
        src=lambda F, g, x, dim, i, src, out: _extreme(F, g, x, dim, i, src, out)[1])
# fmt: on


def _scattered(F: Any, out: Any, dim: int, i: Any, src: Any, op: str) -> Any:
    part = narrowed_but(F, out, tuple(i.shape), dim)
    F.scatter(part, dim, i, narrowed(F, src, tuple(i.shape)), op)
    return out


def _gathered(F: Any, g: Any, dim: int, i: Any, shape: Any) -> Any:
    """The gradient at the indices, with zeros for what the index left out."""
    found = F.gather(narrowed_but(F, g, tuple(i.shape), dim), dim, i)
    for d, n in enumerate(shape):
        if i.shape[d] != n:
            grown = (*found.shape[:d], n, *found.shape[d + 1 :])
            found = F.slice_backward(found, grown, d, 0, i.shape[d], 1)
    return found


def _mul_source(F: Any, g: Any, x: Any, dim: int, i: Any, src: Any) -> Any:
    """The product of all others at an index, whose own derivatives hold where factors are zero.

    The factors that are zero make a product of their own: it is written as a sum where one or two
    are left, so that the second derivative (the third, up to two zeros) is that of the product.
    """
    shape = tuple(src.shape)
    one, nil = F.number(1), F.number(0)
    src = narrowed(F, src, tuple(i.shape))
    empty, none = F.eq(x, 0), F.eq(src, 0)
    product = F.scatter_mul(F.where(empty, one, x), dim, i, F.where(none, one, src))
    zeros = F.scatter_mul(F.where(empty, x, one), dim, i, F.where(none, src, one))
    sum_ = F.scatter_add(F.where(empty, x, nil), dim, i, F.where(none, src, nil))
    count = F.scatter_add(F.cast(empty, F.bool), dim, i, F.cast(none, F.bool))
    product, zeros, sum_, count, g = (
        _gathered(F, t, dim, i, i.shape) for t in (product, zeros, sum_, count, g)
    )
    other_zeros = F.where(F.eq(count, 2), F.sub(sum_, src), nil)
    other_zeros = F.where(F.eq(count, 1), one, other_zeros)
    others = F.mul(F.div(product, F.where(none, one, src)), zeros)
    others = F.where(none, F.mul(product, other_zeros), others)
    return _grown(F, F.mul(g, others), shape)


def _grown(F: Any, x: Any, shape: Any) -> Any:
    for d, n in enumerate(shape):
        if x.shape[d] != n:
            x = F.slice_backward(x, (*x.shape[:d], n, *x.shape[d + 1 :]), d, 0, x.shape[d], 1)
    return x


def _extreme(F: Any, g: Any, x: Any, dim: int, i: Any, src: Any, out: Any) -> Any:
    """Equal shares to all that hold the extreme of their target."""
    shape = tuple(src.shape)
    src = narrowed(F, src, tuple(i.shape))
    kept = F.cast(F.eq(x, out), F.bool)
    came = F.cast(F.eq(src, _gathered(F, out, dim, i, i.shape)), F.bool)
    share = F.div(g, F.scatter_add(kept, dim, i, came))
    return F.mul(kept, share), _grown(F, F.mul(came, _gathered(F, share, dim, i, i.shape)), shape)


# -- public ----------------------------------------------------------------------------------
def _checked(name: str, x: Tensor, dim: int, index: Tensor, src: Any) -> tuple[int, Any]:
    """The dimension and the index; RuntimeError where the shapes do not go together."""
    d = wrap_dim(dim, len(x._s))
    if not isinstance(index, Tensor):
        raise type_error(name, "index", 2, "Tensor", index)
    if index._s.numel() and index._k.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    given = isinstance(src, Tensor)
    check_device(x, index, *([src] if given else ()))
    if given and src._k.dtype is not x._k.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    shape, own = tuple(index._s) or (1,), tuple(x._s) or (1,)
    if not index._s.numel():
        return d, None
    if len(shape) != len(own):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    other = (tuple(src._s) or (1,)) if given else shape
    if len(shape) != len(other):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(n > m for at, (n, m) in enumerate(zip(shape, own, strict=True)) if at != d) or any(
        n > m for n, m in zip(shape, other, strict=True)
    ):
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than self {list(own)} apart from "
            f"dimension {d} and to be no larger size than src {list(other)}"
            if given
            else f"Expected index {list(shape)} to be no larger than self {list(own)} apart from "
            f"dimension {d}"
        )
    return d, _vector(index if index._k.dtype is dtypes.int64 else index.to(dtypes.int64))


def _vector(x: Tensor) -> Tensor:
    return x if x._s else core("view")(x, (1,))


def _source(x: Tensor, i: Tensor, src: Any) -> Tensor:
    if isinstance(src, Tensor):
        return _vector(src)
    return from_array(x._k.full((), src), x._k).expand(tuple(i._s))


_ROWS = {"set": "scatter_set", "add": "scatter_add", "mul": "scatter_mul",
         "amax": "scatter_amax", "amin": "scatter_amin"}  # fmt: skip


def _apply(x: Tensor, d: int, i: Tensor, src: Any, op: str) -> Tensor:
    r = core(_ROWS[op])(_vector(x), d, i, _source(x, i, src))
    return r if x._s else core("view")(r, ())


def _write(x: Tensor, d: int, i: Tensor, src: Any, op: str) -> Tensor:
    """The in-place form: straight into the memory where nothing records."""
    if check_write(x, src) or RARE.on:
        return in_place(x, lambda t, s: _apply(t, d, i, s, op), (src,))
    target, source = _vector(x), apart(_source(x, i, src), x)
    index = apart(i, x)
    bump(x)
    try:
        _scattered(x._k, target._a, d, index._a, source._a, op)
    except BaseException as error:
        if not is_interrupt(error):
            unbump(x)
        raise
    return x


def _with_nothing(x: Tensor, src: Any) -> Tensor:
    """A copy of *x*; the graph leads to a source all the same, of which nothing was written."""
    made = core("clone")(x)
    if not isinstance(src, Tensor) or edge_of(src) is None:
        return made
    nothing = core("slice")(src.reshape(-1), 0, 0, 0, 1)
    return core("add")(made, core("sum")(nothing, (0,)))


def _nothing_written(x: Tensor, src: Any) -> Tensor:
    if check_write(x, src):
        return in_place(x, _with_nothing, (src,))
    bump(x)
    return x


_REDUCE = {None: "set", "add": "add", "multiply": "mul"}


def _scatter_op(x: Tensor, src: Any, value: Any, reduce: str | None) -> tuple[Any, str]:
    if reduce not in _REDUCE:
        raise RuntimeError("reduce argument must be either add or multiply.")
    chosen = value if src is None else src
    if reduce is not None and isinstance(chosen, Tensor):
        warn_user(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
            "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
            "reduction options."
        )
    if not isinstance(chosen, Tensor):
        if not isinstance(chosen, (bool, int, float, complex)):
            raise type_error("scatter", "src", 3, "Tensor", chosen)
        chosen = fitted(chosen, x._k.dtype)
    return chosen, _REDUCE[reduce]


def _scatter_node(input: Tensor, dim: int, index: Tensor, src: Any = None, **named: Any) -> str:
    from_tensor = isinstance(src, Tensor)
    reduced = named.get("reduce") is not None
    return f"ScatterBackward{(0 if from_tensor else 1) + 2 * reduced}"


@public(out=SAME)
@composed(node=_scatter_node)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; *src* may be a number.

    *reduce* ``"add"`` or ``"multiply"`` combines with what is there.
    """
    src, op = _scatter_op(input, src, value, reduce)
    d, i = _checked("scatter", input, dim, index, src)
    return _with_nothing(input, src) if i is None else _apply(input, d, i, src, op)


@public(function=False)
def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """In-place version of ``scatter``."""
    given = src
    src, op = _scatter_op(self, src, value, reduce)
    d, i = _checked("scatter", self, dim, index, src)
    if i is None:
        return _nothing_written(self, src)
    return record_as(_write(self, d, i, src, op), _scatter_node(self, dim, index, given))


@public(out=SAME)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with every element of *src* added at its index; each duplicate counts."""
    d, i = _checked("scatter_add", input, dim, index, src)
    return _with_nothing(input, src) if i is None else _apply(input, d, i, src, "add")


@public(function=False)
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place version of ``scatter_add``."""
    d, i = _checked("scatter_add", self, dim, index, src)
    return _nothing_written(self, src) if i is None else _write(self, d, i, src, "add")


_KINDS = {"sum": "add", "prod": "mul", "mean": "add", "amax": "amax", "amin": "amin"}


@public(out=SAME, inplace=True)
@composed(node="ScatterReduceBackward0")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with the elements of *src* reduced at their indices.

    *reduce* is ``sum``, ``prod``, ``mean``, ``amax`` or ``amin``; without *include_self* what was
    there does not count.
    """
    if reduce not in _KINDS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if input._k.dtype.is_complex and reduce in ("amax", "amin"):
        raise not_implemented(f"scatter_reduce_{reduce}", input)
    d, i = _checked("scatter_reduce", input, dim, index, src)
    if i is None:
        return _with_nothing(input, src)
    x = input
    if not include_self:
        x = _apply(x, d, i, _identity(x, reduce), "set")
    r = _apply(x, d, i, src, _KINDS[reduce])
    if reduce != "mean":
        return r
    k = x._k
    counts = k.of(k.dtype.to_real()) if k.dtype.is_complex else k
    start = counts.full(tuple(x._s), 1 if include_self else 0)
    count = _apply(from_array(start, counts), d, i, 1, "add")
    count = operand(core("maximum")(count, operand(1, counts)), k)
    return core("floor_divide" if k.dtype.category < dtypes.FLOAT else "div")(r, count)


def _identity(x: Tensor, reduce: str) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    d = x._k.dtype
    if d.category >= dtypes.FLOAT:
        return -math.inf if reduce == "amax" else math.inf
    if d.category == dtypes.BOOL:
        return reduce == "amin"
    low = -(1 << (d.bits - 1)) if d.is_signed else 0
    high = (1 << (d.bits - 1 if d.is_signed else d.bits)) - 1
    return low if reduce == "amax" else high
