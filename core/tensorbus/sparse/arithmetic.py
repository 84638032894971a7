"""Sums, products and pointwise functions of sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.sparse import coordinates
from tensorbus.sparse.conversion import coalesced_array, coo_array
from tensorbus.sparse.tensor import Coo, SparseTensor, sparse_op, sparse_tensor, unsupported

_ONLY_DENSE_FIRST = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


def _in_layout_of(x: Any, a: Coo) -> Any:
    made = sparse_tensor(a)
    if type(x._a) is Coo:
        return made
    blocks = tuple(x._a.values._s)[1:3] if len(x._a.values._s) > 2 else None
    return made.to_sparse(layout=x._a.layout, blocksize=blocks)


# -- add and subtract --------------------------------------------------------------------------
@sparse_op("add", "__add__", "__radd__")
def add(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Any:
    """input + alpha * other: sparse where both are, dense where the first is."""
    if not isinstance(other, SparseTensor):
        raise RuntimeError(_ONLY_DENSE_FIRST)
    if not isinstance(input, SparseTensor):
        if not isinstance(input, Tensor):
            raise RuntimeError(_ONLY_DENSE_FIRST)
        _same_size("add", input, other)
        a = coo_array(other)
        return _into_dense(input, a.with_values(_times(a.values, alpha)))
    _same_size("add", input, other)
    first, second = coo_array(input), coo_array(other)
    if first.indices._s[0] != second.indices._s[0]:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but got "
            f"{first.indices._s[0]} and {second.indices._s[0]}"
        )
    both = first.coalesced and second.coalesced
    values = tensorbus.cat([first.values, _times(second.values, alpha).to(first.values.dtype)])
    if first.values.dtype is not second.values.dtype:
        d = tensorbus.promote_types(first.values.dtype, second.values.dtype)
        values = tensorbus.cat([first.values.to(d), _times(second.values.to(d), alpha)])
    made = Coo(tensorbus.cat([first.indices, second.indices], 1), values, first.shape)
    return _in_layout_of(input, coordinates.coalesced(made) if both else made)


def _times(values: Tensor, alpha: Any) -> Tensor:
    return values if type(alpha) is int and alpha == 1 else values * alpha


def _same_size(name: str, a: Any, b: Any) -> None:
    if a._s == b._s:
        return
    if isinstance(a, SparseTensor):
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a._s)} != "
            f"{list(b._s)}"
        )
    raise RuntimeError(
        f"{name}: expected 'self' and 'other' to have same size, but self has size {list(a._s)} "
        f"while other has size {list(b._s)} (FYI: op2-sparse addition does not currently support "
        "broadcasting)"
    )


def _into_dense(x: Tensor, a: Coo) -> Tensor:
    sizes = coordinates.sparse_sizes(a)
    flat = coordinates.flat_indices(a.indices, sizes)
    d = tensorbus.promote_types(x.dtype, a.values.dtype)
    rows = x.to(d).reshape(math.prod(sizes), *coordinates.dense_sizes(a))
    return rows.index_add(0, flat, a.values.to(d)).reshape(tuple(x.shape))


@sparse_op("sub", "__sub__")
def sub(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Any:
    """input - alpha * other."""
    return add(input, other, alpha=-alpha)


@sparse_op("add_")
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add in place."""
    if _takes_rows(self, other):
        _add_to_memory(self, coo_array(other), alpha)
        return self
    return written(self, add(self, other, alpha))


def _add_to_memory(x: Tensor, a: Coo, alpha: Any) -> None:
    sizes = coordinates.sparse_sizes(a)
    if math.prod(sizes) <= a.indices._s[1]:
        x.add_(coordinates.to_strided(a), alpha=alpha)
        return
    flat = coordinates.flat_indices(a.indices, sizes)
    rows = x if len(sizes) == 1 else x.detach().view(-1, *coordinates.dense_sizes(a))
    rows.index_add_(0, flat, a.values, alpha=alpha)


def _takes_rows(x: Any, other: Any) -> bool:
    """Whether a sparse tensor is added to the memory of a dense one, and nothing is recorded."""
    if isinstance(x, SparseTensor) or not isinstance(other, SparseTensor) or x._s != other._s:
        return False
    recorded = tensorbus.is_grad_enabled() and (x.requires_grad or other.requires_grad)
    return x.dtype is other.dtype and x.is_contiguous() and not recorded


@sparse_op("sub_")
def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract in place."""
    return add_(self, other, alpha=-alpha)


def written(x: Any, made: Any) -> Any:
    """*x*, which now has the elements of a result of the same dtype."""
    if not isinstance(x, SparseTensor):
        return x.copy_(made)
    if x._a.values._e is not None and x._a.values.is_leaf and tensorbus.is_grad_enabled():
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    x._a = made._a.with_values(made._a.values.to(x.dtype))
    return x


# -- multiply and divide -----------------------------------------------------------------------
@sparse_op("mul", "__mul__", "__rmul__")
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The product with a number, with a dense tensor or with a sparse one of the same size."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    a = input._a
    if not isinstance(other, Tensor) or (not isinstance(other, SparseTensor) and not other._s):
        return sparse_tensor(a.with_values(a.values * other))
    if isinstance(other, SparseTensor):
        _same_size("mul", input, other)
        return _in_layout_of(input, _intersection(input, other))
    own = coo_array(input)
    if other._s != input._s:
        other = other.expand(tuple(input.shape))
    made = own.with_values(own.values * coordinates.values_at(other, own.indices))
    return _in_layout_of(input, made)


def _intersection(x: Any, y: Any) -> Coo:
    first, second = coalesced_array(x), coalesced_array(y)
    if first.indices._s[1] > second.indices._s[1]:
        first, second = second, first
    sizes = coordinates.sparse_sizes(first)
    at, found = coordinates.places(
        coordinates.flat_indices(second.indices, sizes),
        coordinates.flat_indices(first.indices, sizes),
    )
    kept = found.nonzero()[:, 0]
    values = first.values.index_select(0, kept) * second.values.index_select(0, at[kept])
    return Coo(first.indices.index_select(1, kept), values, first.shape, True)


@sparse_op("div", "true_divide", "__truediv__")
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    """The quotient with a number or a tensor of no dimensions."""
    if not isinstance(input, SparseTensor) or (isinstance(other, Tensor) and other._s):
        shape = list(getattr(other, "_s", ()))
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)"
        )
    a = coordinates.coalesced(input._a) if rounding_mode and type(input._a) is Coo else input._a
    values = tensorbus.div(a.values, other, rounding_mode=rounding_mode)
    return sparse_tensor(a.with_values(values))


@sparse_op("mul_")
def mul_(self: Any, other: Any) -> Any:
    """Multiply in place."""
    return written(self, mul(self, other))


@sparse_op("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """The quotients, rounded down."""
    return div(input, other, rounding_mode="floor", out=out)


@sparse_op("div_")
def div_(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    """Divide in place."""
    return written(self, div(self, other, rounding_mode=rounding_mode))


@sparse_op("floor_divide_", "__ifloordiv__")
def floor_divide_(self: Any, other: Any) -> Any:
    """Divide in place, and round down."""
    return div_(self, other, rounding_mode="floor")


@sparse_op("pow", "__pow__")
def pow_(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """The power by a number that is not zero, of the elements that are there."""
    if not isinstance(exponent, (int, float)):
        raise unsupported("pow.Tensor_Tensor", "Sparse" + input._k.device.type.upper())
    if not exponent:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    return _pointwise(input, lambda values: values**exponent)


@sparse_op("pow_")
def pow_in_place(self: Any, exponent: Any) -> Any:
    """The power, in place."""
    return written(self, pow_(self, exponent))


# -- functions that leave zero at zero -----------------------------------------------------------
def _pointwise(x: Any, f: Callable[[Tensor], Tensor]) -> Any:
    a = coordinates.coalesced(x._a) if type(x._a) is Coo else x._a
    return sparse_tensor(a.with_values(f(a.values)))


def _declare(name: str, linear: bool) -> None:
    f: Any = getattr(tensorbus, name)

    def apply(input: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if linear:
            return sparse_tensor(input._a.with_values(f(input._a.values)))
        return _pointwise(input, lambda values: f(values, *args, **kwargs))

    def in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
        return written(self, apply(self, *args, **kwargs))

    sparse_op(name)(apply)
    sparse_op(name + "_")(in_place)


for _name in (
    "abs angle asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor frac isinf "
    "isnan isneginf isposinf log1p nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt "
    "square tan tanh trunc"
).split():
    _declare(_name, False)
for _name in ("neg", "positive", "conj", "resolve_conj", "resolve_neg", "real", "imag"):
    _declare(_name, True)


@sparse_op("__neg__")
def neg(self: Any) -> Any:
    """The negative."""
    return sparse_tensor(self._a.with_values(-self._a.values))
