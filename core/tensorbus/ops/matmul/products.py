"""Products of vectors and matrices beside ``matmul``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_values import ints_of
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.older_forms import older_form
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.ops.matmul.matmul import combined, dot, matmul, outer
from tensorbus.rows.layouts import broadcast_shapes


@public(out=True)
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """``outer`` under its older name."""
    return outer(input, vec2)


@public(out=SAME)
@composed(node="VdotBackward0")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
    check_tensors("vdot", input=input, other=other)
    return dot(input.conj(), other)


@public(out=SAME)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The inner products along the last dimensions: (..., k) x (---, k) -> (..., ---)."""
    check_tensors("inner", input=input, other=other)
    if not input._s or not other._s:
        return input * other
    if input._s[-1] != other._s[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._s)} and {list(other._s)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public(out=True, inplace=True)
@older_form("beta", "alpha")
@composed(node="AddrBackward0", autocast="device lower")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    check_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    if len(vec1._s) != 1 or len(vec2._s) != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument {'vec1' if len(vec1._s) != 1 else 'vec2'}, but got "
            f"{len(vec1._s) if len(vec1._s) != 1 else len(vec2._s)}-D"
        )
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, (float, complex)) and all(
            x._k.dtype.category <= dtypes.INTEGER for x in (input, vec1, vec2)
        ):
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    d = result_type(input, vec1, vec2)
    for name, factor in (("Beta", beta), ("Alpha", alpha)):
        if isinstance(factor, bool) and d is not dtypes.bool:
            raise RuntimeError(f"Boolean {name.lower()} only supported for Boolean results.")
    k = vec1._k.of(d)
    return combined(outer, to_kind(vec1, k), to_kind(vec2, k), to_kind(input, k), beta, alpha, d)


@public(out=SAME, inplace=True)
@older_form("beta", "alpha")
@composed(node="AddbmmBackward0", autocast="lower")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * sum over the batch of (batch1 @ batch2)``."""
    check_tensors("addbmm", input=input, batch1=batch1, batch2=batch2)
    for name, x in (("batch1", batch1), ("batch2", batch2)):
        if len(x._s) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if input._k.dtype is not batch2._k.dtype or batch1._k.dtype is not batch2._k.dtype:
        raise RuntimeError(
            "self and mat2 must have the same dtype, but got "
            f"{scalar_name(input._k.dtype)} and {scalar_name(batch2._k.dtype)}"
        )
    (n, rows, inner), (m, other, columns) = batch1._s, batch2._s
    if n != m:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {n} and {m}")
    if inner != other:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({rows}x{inner} and {other}x{columns})"
        )
    # One product with the batch as part of the inner dimension: the sum keeps the dtype.
    left = batch1.permute(1, 0, 2).reshape(rows, n * inner)
    return combined(matmul, left, batch2.reshape(n * inner, columns), input, beta, alpha)


# -- contraction -----------------------------------------------------------------------------
@public(method=False, out=SAME)
@autocasts("device widest")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over pairs of dimensions: the last *dims* of *a* with the first of *b*.

    *dims* may be two lists of dimensions instead. RuntimeError where their sizes differ; a
    dimension of size 1 is repeated to the size of the other.
    """
    check_tensors("tensordot", a=a, b=b)
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(a._s), len(b._s)):
            raise RuntimeError(
                "tensordot expects dims < ndim_a or ndim_b, but got dims=" + str(dims)
            )
        left, right = list(range(-dims, 0)), list(range(dims))
    elif isinstance(dims, (tuple, list)):
        in_a, in_b = dims
        left = list(ints_of(in_a, "tensordot", "dims_self", 3))
        right = list(ints_of(in_b, "tensordot", "dims_other", 4))
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    own, others = ([wrap_dim(d, len(t._s)) for d in ds] for t, ds in ((a, left), (b, right)))
    for x, y, shown_x, shown_y in zip(own, others, left, right, strict=True):
        if a._s[x] == 1:
            b = b.sum(y, keepdim=True, dtype=b._k.dtype)
        elif b._s[y] == 1:
            a = a.sum(x, keepdim=True, dtype=a._k.dtype)
        elif a._s[x] != b._s[y]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a._s[x]} in dim "
                f"{shown_x} and second has size {b._s[y]} in dim {shown_y}"
            )
    left, right = own, others
    for contracted in (left, right):
        for d in contracted:
            if contracted.count(d) > 1:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    rows = [d for d in range(len(a._s)) if d not in left]
    columns = [d for d in range(len(b._s)) if d not in right]
    n = math.prod(a._s[d] for d in left)
    shape = [a._s[d] for d in rows] + [b._s[d] for d in columns]
    first = a.permute([*rows, *left]).reshape(math.prod(a._s[d] for d in rows), n)
    second = b.permute([*right, *columns]).reshape(n, math.prod(b._s[d] for d in columns))
    if not shape:  # PyTorch's is no product of matrices, which matters to autocast on the CPU
        made = dot(first.reshape(n), second.reshape(n))
        if made._e is not None:
            name_node(made, "ViewBackward0")
        return made
    return matmul(first, second).reshape(shape)


@public(out=True)
@composed(node="UnsafeViewBackward0")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of *input* times all of *other*."""
    check_tensors("kron", input=input, other=other)
    rank = max(len(input._s), len(other._s))
    a = (1,) * (rank - len(input._s)) + tuple(input._s)
    b = (1,) * (rank - len(other._s)) + tuple(other._s)
    x = input.reshape([n for d in range(rank) for n in (a[d], 1)])
    y = other.reshape([n for d in range(rank) for n in (1, b[d])])
    return (x * y).reshape([a[d] * b[d] for d in range(rank)])


def _same_dtype(a: Tensor, b: Tensor) -> None:
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(a._k.dtype)} but found {scalar_name(b._k.dtype)}"
        )


@public(name="linalg_cross", function=False, method=False, out=SAME)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3; the operands broadcast."""
    check_tensors("linalg_cross", input=input, other=other)
    _same_dtype(input, other)
    if input._k.dtype is dtypes.bool:
        raise not_implemented("cross", input)
    if len(input._s) != len(other._s):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, len(input._s))
    if input._s[d] != 3 or other._s[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. "
            f"Got {input._s[d]} and {other._s[d]}"
        )
    shape = broadcast_shapes(tuple(input._s), tuple(other._s))
    a, b = input.expand(shape), other.expand(shape)
    first, second = (x.roll(-1, d) for x in (a, b)), (x.roll(-2, d) for x in (a, b))
    (a1, b1), (a2, b2) = first, second
    return a1 * b2 - a2 * b1


@public(out=SAME)
@composed(node="LinalgCrossBackward0", layout="row_major", autocast="device widest")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dimension of size 3: the given one, or the first such."""
    check_tensors("cross", input=input, other=other)
    if dim is None:
        if 3 not in input._s:
            raise RuntimeError("no dimension of size 3 in input")
        warn_user(
            "Using torch.cross without specifying the dim arg is deprecated: it is the first "
            "dimension of size 3, where torch.linalg.cross takes the last one. Name it."
        )
        dim = tuple(input._s).index(3)
    return linalg_cross(input, other, dim=dim)


@public(method=False)
@composed(node="ViewBackward0", autocast="lower")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, in the order that costs least."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if len(m._s) != 2:
            raise RuntimeError(f"Tensor dimension is {len(m._s)}, expected 2 instead.")
    warn_user(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which takes a list of matrices."
    )
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(list(matrices))


@public(name="linalg_multi_dot", function=False, method=False, out=SAME)
@composed(node="ViewBackward0", autocast="lower")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order that costs least; the ends may be vectors."""
    given = list(tensors)
    _check_chain(given)
    column = len(given[-1]._s) == 1
    row = len(given[0]._s) == 1
    if row:
        given[0] = given[0].unsqueeze(0)
    if column:
        given[-1] = given[-1].unsqueeze(1)
    for i, (a, b) in enumerate(itertools.pairwise(given)):
        if a._s[1] != b._s[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i]._s)} and "
                f"{list(tensors[i + 1]._s)} cannot be multiplied"
            )
    r = _cheapest(given)
    if column:
        r = core("select")(r, 1, 0)
    return core("select")(r, 0, 0) if row else r


def _check_chain(given: list[Tensor]) -> None:
    n = len(given)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, t in enumerate(given):
        rank = len(t._s)
        if rank != 2 and 0 < i < n - 1:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {rank}D")
        if rank not in (1, 2):
            which = "last" if i else "first"
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {rank}D")
        if t._k.dtype is not given[0]._k.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{c_name(given[0]._k.dtype)} and tensor {i} {c_name(t._k.dtype)}"
            )


def _cheapest(matrices: list[Tensor]) -> Tensor:
    """The product in the order with the fewest multiplications (dynamic programming)."""
    n = len(matrices)
    sizes = [m._s[0] for m in matrices] + [matrices[-1]._s[1]]
    best: dict[tuple[int, int], tuple[int, Any]] = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i, j] = min(
                (
                    best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1],
                    k,
                )
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        k = best[i, j][1]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, n - 1)


@public(name="linalg_vecdot", function=False, method=False, out=SAME)
@autocasts("lower")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products along a dimension; the operands broadcast."""
    check_tensors("linalg_vecdot", x=x, y=y)
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(x._k.dtype)}"
        )
    if x._k.dtype is not y._k.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{scalar_name(x._k.dtype)} and y of type {scalar_name(y._k.dtype)} instead"
        )
    return (x.conj() * y).sum(dim)


_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)
"""All are taken, and none changes the result: distances are always those of the differences."""


@public(method=False)
@composed(node="CdistBackward0", autocast="float32")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The *p*-norm distances of all pairs of rows: (..., n, k) x (..., m, k) -> (..., n, m)."""
    check_tensors("cdist", x1=x1, x2=x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if not x._k.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {scalar_name(x._k.dtype)}"
            )
        if len(x._s) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x._s)}D")
    if x1._s[-1] != x2._s[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._s[-1]} X2: {x2._s[-1]}"
        )
    _same_dtype(x1, x2)
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if not x1._s[-1]:
        return difference.sum(-1)
    if p == math.inf:  # each of several largest differences has the whole gradient here
        return core("largest_size")(difference, (len(difference._s) - 1,))
    return FUNCTIONS["norm"](difference, p, -1)
