"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name, scalar_name
from tensorbus._base.errors import device_error, no_such_dim, type_error
from tensorbus._base.modes import OVERRIDES, RARE
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.autocasting import as_one_op, operands_for
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.older_forms import older_form
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.override import dispatch, overriding
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted, widened
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import ROWS, row

# fmt: off
row("matmul", "x:T, y:T",
    doc="The matrix product of *x* and *y* over their last two dimensions; those before "
        "broadcast.",
    node_name="MmBackward0", domain="number", takes_dtype=True, holomorphic=True,
    x=lambda F, g, y, x_shape: _matmul_x(F, g, y, x_shape),
    y=lambda F, g, x, y_shape: _matmul_y(F, g, x, y_shape), autocast="lower")
# fmt: on

row(
    "linear",
    "x:T, w:T, b:T?",
    doc="``x @ w.T + b``; without *b* the product alone.",
    node_name="AddmmBackward0",
    in_float32=True,
    composite=lambda F, x, w, b: _linear(F, x, w, b),
    holomorphic=True,
    x=lambda F, g, w: F.matmul(g, w) if len(g.shape) > 1 else _linear_vector(F, g, w),
    w=lambda F, g, x: _linear_weight(F, g, x),
    b=lambda F, g: F.sum(g, tuple(range(len(g.shape) - 1))) if len(g.shape) > 1 else g,
    autocast="lower",
)


def _linear(F: Any, x: Any, w: Any, b: Any) -> Any:
    """The product over the rows of *x*, and the bias added where there is one."""
    shape = tuple(x.shape)
    flat = F.reshape(x, (_rows(shape), shape[-1])) if len(shape) != 2 else x
    r = F.matmul(flat, F.permute(w, (1, 0)))
    if b is not None:
        r = F.add(r, b, out=r)
    return r if len(shape) == 2 else F.view(r, (*shape[:-1], w.shape[0]))


def _rows(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape[:-1]:
        n *= size
    return n


def _linear_vector(F: Any, g: Any, w: Any) -> Any:
    """The gradient of a single vector: products are of matrices."""
    return F.reshape(F.matmul(F.reshape(g, (1, w.shape[0])), w), (w.shape[1],))


def _linear_weight(F: Any, g: Any, x: Any) -> Any:
    if len(g.shape) != 2:
        n = _rows(tuple(g.shape))
        g, x = F.reshape(g, (n, g.shape[-1])), F.reshape(x, (n, x.shape[-1]))
    return F.matmul(F.permute(g, (1, 0)), x)


# -- public ----------------------------------------------------------------------------------
def check_operands(name: str, a: Any, b: Any) -> None:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        wrong, position = (b, 2) if isinstance(a, Tensor) else (a, 1)
        raise type_error(name, "input" if position == 1 else "other", position, "Tensor", wrong)
    if a._k is not b._k:
        if a._k.device is not b._k.device:
            raise device_error(a._k.device, b._k.device)
        if a._k.dtype is not b._k.dtype:
            raise RuntimeError(_different_dtypes(name, a, b))


def _different_dtypes(name: str, a: Tensor, b: Tensor) -> str:
    """How a product says that its operands' dtypes differ; each has words of its own."""
    first, second = scalar_name(a._k.dtype), scalar_name(b._k.dtype)
    if name == "dot":
        return f"dot : expected both vectors to have same dtype, but found {first} and {second}"
    if name == "mv":
        return (
            f"addmv input tensors must have the same dtype, but got {second}, {first}, and {second}"
        )
    if name == "bmm":
        return f"expected scalar type {first} but found {second}"
    names = f"{c_name(a._k.dtype)} != {c_name(b._k.dtype)}"
    return f"expected m1 and m2 to have the same dtype, but got: {names}"


def different_dtypes(name: str, x: Tensor, mat2: Tensor) -> str:
    """How a product with something added says that *x*, an operand of that name, differs."""
    found = f"{scalar_name(x._k.dtype)} and {scalar_name(mat2._k.dtype)}"
    return f"{name} and mat2 must have the same dtype, but got {found}"


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; vectors count as rows or columns, leading dimensions broadcast.

    (..., n, k) x (..., k, m) -> (..., n, m). RuntimeError where the inner sizes differ.
    """
    if not isinstance(other, Tensor) or not isinstance(input, Tensor) or input._k is not other._k:
        if RARE.on:
            input, other = operands_for("matmul", input, other)
        check_operands("matmul", input, other)
    a, b = input._s, other._s
    if len(a) == 2 and len(b) == 2:
        (_, columns), (rows, _) = a, b
        if columns != rows:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})"
            )
        return core("matmul")(input, other)
    if RARE.on:
        r = as_one_op(ROWS["matmul"].autocast, _matmul_any, (input, other), {})
    else:
        r = _matmul_any(input, other)
    if r._e is not None:
        name_node(r, _NODES.get((len(a), len(b)), "UnsafeViewBackward0"))
    return r


_NODES = {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (1, 2): "SqueezeBackward4"}
"""What PyTorch calls the nodes of products, by the ranks of the operands."""


def _matmul_any(x: Tensor, y: Tensor) -> Tensor:
    a, b = x._s, y._s
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    if len(a) == 1 and len(b) == 1:
        if a != b:
            raise RuntimeError(
                f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the "
                f"same number of elements, but got {a[0]} and {b[0]} elements respectively"
            )
        if x._k.dtype is dtypes.bool:
            raise not_implemented("dot", x)
        products = core("mul")(x, y)
        return core("sum")(products, (0,)) if a[0] else products.sum(dtype=x._k.dtype)
    if len(b) == 1:
        if a[-1] != b[0]:
            n = _rows(tuple(a))
            raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{a[-1]}), vec ({b[0]})")
        r = _batched(x, core("unsqueeze")(y, 1))
        return core("select")(r, len(r._s) - 1, 0)
    if len(a) == 1:
        r = _batched(core("unsqueeze")(x, 0), y)
        return core("select")(r, len(r._s) - 2, 0)
    return _batched(x, y)


def _batched(x: Tensor, y: Tensor) -> Tensor:
    a, b = x._s, y._s
    if a[-1] != b[-2]:
        raise _mismatch(tuple(a), tuple(b))
    if len(b) == 2 and len(a) > 2:
        rows = x.reshape(-1, a[-1]) if a[-1] else x.reshape(a[:-1].numel(), 0)
        return core("matmul")(rows, y).reshape(*tuple(a[:-1]), b[-1])
    if tuple(a)[:-2] == tuple(b)[:-2]:
        return core("matmul")(x, y)
    lead = broadcast_shapes(tuple(a[:-2]), tuple(b[:-2]))
    return core("matmul")(
        x.expand(*lead, *tuple(a[-2:])) if a[:-2] != lead else x,
        y.expand(*lead, *tuple(b[-2:])) if b[:-2] != lead else y,
    )


def _mismatch(a: tuple[int, ...], b: tuple[int, ...]) -> Exception:
    """The error for inner sizes that differ: the operands as the matrices they would be."""
    if len(b) == 2:
        rows = _rows(a)
        return RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[0]}x{b[1]})"
        )
    lead = math.prod(broadcast_shapes(a[:-2], b[:-2]))
    return RuntimeError(
        "Expected size for first two dimensions of batch2 tensor to be: "
        f"[{lead}, {a[-1]}] but got: [{lead}, {b[-2]}]."
    )


def _make_operator() -> Any:
    product = core("matmul")

    def __matmul__(self: Tensor, other: Any) -> Any:
        """The matrix product."""
        if type(other) is Tensor and other._k is self._k:
            a, b = self._s, other._s
            if len(a) == 2 and len(b) == 2:
                (_, columns), (rows, _) = a, b
                if columns == rows:
                    return product(self, other)
        if not isinstance(other, Tensor):
            return NotImplemented
        if OVERRIDES.on and (asked := overriding((self, other))):
            return dispatch(FUNCTIONS["matmul"], asked, (self, other), {})
        return matmul(self, other)

    return __matmul__


public(out=SAME)(matmul)
METHODS["__matmul__"] = Lazy("__matmul__", _make_operator)


@public(out=SAME)
@composed(node="MmBackward0", autocast="lower")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    check_operands("mm", input, mat2)
    for name, x in (("self", input), ("mat2", mat2)):
        if len(x._s) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    return matmul(input, mat2)


@public(out=SAME)
@composed(node="BmmBackward0", autocast="lower")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    check_operands("bmm", input, mat2)
    for name, x in (("batch1", input), ("batch2", mat2)):
        if len(x._s) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if input._s[0] != mat2._s[0] or input._s[2] != mat2._s[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input._s[0]}, "
            f"{input._s[2]}] but got: [{mat2._s[0]}, {mat2._s[1]}]."
        )
    return core("matmul")(input, mat2)


@public(out=SAME)
@composed(node="MvBackward0", autocast="device lower")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    check_operands("mv", input, vec)
    if len(input._s) != 2 or len(vec._s) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {len(input._s)}, {len(vec._s)}"
        )
    return matmul(input, vec)


@public(out=SAME)
@composed(node="DotBackward0", autocast="device widest")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors."""
    check_operands("dot", input, tensor)
    if len(input._s) != 1 or len(tensor._s) != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {len(input._s)}D and {len(tensor._s)}D tensors"
        )
    return matmul(input, tensor)


@public(out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors."""
    check_tensors("outer", input=input, vec2=vec2)
    for name, x in (("self", input), ("vec2", vec2)):
        if len(x._s) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(x._s)}-D")
    return core("mul")(core("unsqueeze")(input, 1), vec2)


def combined(
    multiply: Any, x: Tensor, y: Tensor, input: Tensor, beta: Any, alpha: Any,
    factors: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """``beta * input + alpha * multiply(x, y)``, where *input* broadcasts and beta = 0 ignores it.

    The factors are numbers of the dtype *factors*, if not given that in which products are added.
    """
    kind = x._k
    d = factors or widened(kind.dtype)
    beta, alpha = fitted(beta, d), fitted(alpha, d)
    if kind.dtype in dtypes.HALVES and y._k is input._k is kind:  # rounded once, at the end
        wide = kind.of(dtypes.float32)
        x, y, input = to_kind(x, wide), to_kind(y, wide), to_kind(input, wide)
    product = multiply(x, y)
    if input._s is not product._s:
        input = input.expand(product._s)
    product = product if alpha == 1 else core("mul")(product, alpha)
    if beta != 0:
        product = core("add")(product, input if beta == 1 else core("mul")(input, beta))
    elif input._e is not None:
        # It is not read, for 0 * NaN would be NaN, and its gradient is zero.
        product = core("add")(product, core("clone")(input).zero_())
    return to_kind(product, kind)


def _same_dtypes(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    for name, x in (("self", input), ("mat1", mat1)):
        if x._k.dtype is not mat2._k.dtype:
            raise RuntimeError(different_dtypes(name, x, mat2))
    if input._k is not mat1._k:
        check_operands("mm", mat1, mat2)


@public(out=SAME, inplace=True)
@older_form("beta", "alpha")
@composed(node="AddmmBackward0", autocast="lower")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; *input* broadcasts.

    RuntimeError where the dtypes differ or the shapes do not fit. With beta = 0 *input* is ignored,
    NaN in it too.
    """
    check_tensors("addmm", input=input, mat1=mat1, mat2=mat2)
    _same_dtypes(input, mat1, mat2)
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if len(x._s) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {len(x._s)}-D tensor")
    return combined(matmul, mat1, mat2, input, beta, alpha)


@public(out=SAME, inplace=True)
@older_form("beta", "alpha")
@composed(node="AddmvBackward0", autocast="device lower")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``; *input* broadcasts."""
    check_tensors("addmv", input=input, mat=mat, vec=vec)
    if len({x._k.dtype for x in (input, mat, vec)}) > 1:
        names = ", ".join(scalar_name(x._k.dtype) for x in (input, mat))
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{names}, and {scalar_name(vec._k.dtype)}"
        )
    if len(input._s) > 1 or len(mat._s) != 2 or len(vec._s) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(input._s)}, {len(mat._s)}, {len(vec._s)}"
        )
    n, k = mat._s
    if vec._s[0] != k or input._s.numel() not in (1, n):
        raise RuntimeError(
            f"size mismatch, got input ({input._s.numel()}), mat ({n}x{k}), vec ({vec._s[0]})"
        )
    return combined(mv, mat, vec, input, beta, alpha, mat._k.dtype)


@public(out=SAME, inplace=True)
@older_form("beta", "alpha")
@composed(node="BaddbmmBackward0", autocast="lower")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    check_tensors("baddbmm", input=input, batch1=batch1, batch2=batch2)
    for x, dim in ((batch1, 0), (batch1, 1), (batch2, 2)):  # of the result, asked for first
        if dim >= len(x._s):
            raise no_such_dim(dim, len(x._s))
    given = [x._k.dtype for x in (input, batch1, batch2)]
    if given[0] is not given[1] and given[1] is given[2]:
        names = [c_name(d) for d in given]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, "
            f"batch2: {names[2]}"
        )
    return combined(bmm, batch1, batch2, input, beta, alpha)


def _swap_last(F: Any, x: Any) -> Any:
    rank = len(x.shape)
    return F.permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _matmul_x(F: Any, g: Any, y: Any, x_shape: Any) -> Any:
    return F.sum_to(F.matmul(g, _swap_last(F, y)), tuple(x_shape))


def _matmul_y(F: Any, g: Any, x: Any, y_shape: Any) -> Any:
    return F.sum_to(F.matmul(_swap_last(F, x), g), tuple(y_shape))
