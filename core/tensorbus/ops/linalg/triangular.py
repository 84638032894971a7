"""Systems of equations with triangular matrices."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import check_device, check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_factored, check_square, deprecated
from tensorbus.ops.linalg.matrices import adjoint, block, diagonal, rows, transposed
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import row

BLOCK = 32
"""The size of the diagonal blocks that are inverted: a power of two."""

# fmt: off
row("linalg_solve_triangular", "a:T, b:T, upper, unit",
    doc="What a triangle of *a* multiplies to give *b*; with *unit* its diagonal counts as ones.",
    domain="float", node_name="LinalgSolveTriangularBackward0",
    composite=lambda F, a, b, upper, unit: solve_triangular(F, a, b, upper, unit),
    a=lambda F, g, a, out, upper, unit: _matrix_gradient(F, g, a, out, upper, unit),
    b=lambda F, g, a, upper, unit:
        F.linalg_solve_triangular(adjoint(F, a), g, not upper, unit))
# fmt: on


def _matrix_gradient(F: Any, g: Any, a: Any, out: Any, upper: bool, unit: bool) -> Any:
    """Of the triangle that is read, without the diagonal where that is ones."""
    of_b = F.linalg_solve_triangular(adjoint(F, a), g, not upper, unit)
    whole = F.neg(F.matmul(of_b, adjoint(F, out)))
    return F.triu(whole, int(unit)) if upper else F.tril(whole, -int(unit))


# -- composition -----------------------------------------------------------------------------
def solve_triangular(F: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Substitution block by block: products with inverted diagonal blocks, and updates."""
    n = a.shape[-1]
    x = F.clone(b)
    if 0 in x.shape:
        return x
    lower = transposed(F, a) if upper else a
    inverses = _inverted_blocks(F, lower, unit)
    size = inverses.shape[-1]
    starts = range(0, n, size)
    for start in reversed(starts) if upper else starts:
        stop = min(start + size, n)
        inverse = F.select(inverses, len(a.shape) - 2, start // size)
        if upper:
            inverse = transposed(F, inverse)
        if stop - start < size:
            inverse = block(F, inverse, 0, stop - start, 0, stop - start)
        part = rows(F, x, start, stop)
        solved = F.matmul(inverse, part)
        F.copy_(part, solved)
        first, last = (0, start) if upper else (stop, n)
        if first < last:
            rest = rows(F, x, first, last)
            F.sub(rest, F.matmul(block(F, a, first, last, start, stop), solved), out=rest)
    return x


def _inverted_blocks(F: Any, a: Any, unit: bool) -> Any:
    """The inverses of the diagonal blocks of lower triangular matrices: (..., blocks, k, k).

    All blocks at once, by pairs: from the inverses of two neighbours on the diagonal follows that
    of the block twice as large. The last block is filled up with ones on the diagonal.
    """
    n = a.shape[-1]
    size = min(BLOCK, 1 << (n - 1).bit_length())
    count = -(-n // size)
    batch = tuple(a.shape[:-2])
    made = F.zeros((*batch, count, size, size))
    for i in range(count):
        start, stop = i * size, min((i + 1) * size, n)
        corner = F.select(made, len(batch), i)
        if stop - start < size:
            F.copy_(diagonal(F, corner), 1)
            corner = block(F, corner, 0, stop - start, 0, stop - start)
        F.copy_(corner, block(F, a, start, stop, start, stop))
    made = F.tril(made, 0)
    on_diagonal = diagonal(F, made)
    F.copy_(on_diagonal, 1 if unit else F.reciprocal(on_diagonal))
    width = 1
    while width < size:
        pairs = size // (2 * width)
        split = F.view(made, (*batch, count, pairs, 2 * width, pairs, 2 * width))
        rank = len(split.shape)
        pair = F.diagonal(split, 0, rank - 4, rank - 2)  # the pairs as the last dimension
        pair = F.permute(pair, (*range(rank - 4), rank - 2, rank - 4, rank - 3))
        corner = block(F, pair, width, 2 * width, 0, width)
        first = block(F, pair, 0, width, 0, width)
        second = block(F, pair, width, 2 * width, width, 2 * width)
        product = F.matmul(second, F.matmul(corner, first))
        F.copy_(corner, F.neg(product))
        width *= 2
    return made


# -- public ----------------------------------------------------------------------------------
def equal_batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The matrices with the batch dimensions that both broadcast to."""
    first, second = tuple(a._s[:-2]), tuple(b._s[:-2])
    batch = broadcast_shapes(second, first) if first != second else first
    return (
        a if first == batch else a.expand(*batch, *a._s[-2:]),
        b if second == batch else b.expand(*batch, *b._s[-2:]),
    )


def check_equation(name: str, a: Tensor, b: Tensor, left: bool) -> None:
    """RuntimeError unless *b* holds matrices that may stand on the right of an equation."""
    if len(b._s) < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if a._s[-1] != b._s[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX' if left else 'XA'} = B ({a._s[-2]}x{a._s[-1]} and {b._s[-2]}x{b._s[-1]})"
        )


def check_same_dtype(name: str, first: str, a: Tensor, second: str, b: Tensor) -> None:
    """RuntimeError for operands of two dtypes or devices."""
    check_device(a, b)
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of "
            f"type {scalar_name(a._k.dtype)} and {second} of type {scalar_name(b._k.dtype)} instead"
        )


def solved(a: Tensor, b: Tensor, upper: bool, left: bool = True, unit: bool = False) -> Tensor:
    """The solution of ``a @ x = b``, or of ``x @ a = b``."""
    a, b = equal_batches(a, b)
    if not left:
        return core("linalg_solve_triangular")(a.mT, b.mT, not upper, unit).mT
    return core("linalg_solve_triangular")(a, b, upper, unit)


@public(name="linalg_solve_triangular", function=False, method=False, out=SAME)
@composed(node="LinalgSolveTriangularBackward0", layout="row_major", autocast="cpu float32")
def linalg_solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool | None = None,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """The solution of ``A @ X = B`` for triangular *A*; without *left* that of ``X @ A = B``.

    (..., n, n) and (..., n, k), without *left* (..., k, n): batch dimensions broadcast. The other
    triangle of *A* is not read; with *unitriangular* its diagonal is taken as ones. A zero on the
    diagonal gives infinities and NaN. *upper* must be given, else TypeError; RuntimeError where
    shapes or dtypes do not fit.
    """
    check_tensors("linalg_solve_triangular", A=A, B=B)
    if upper is None:
        raise TypeError(
            'linalg_solve_triangular() missing 1 required positional arguments: "upper"'
        )
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_equation(name, A, B, left)
    check_same_dtype(name, "A", A, "B", B)
    check_factored("triangular_solve", A)
    return solved(A, B, upper, left, unitriangular)


_RESULTS = result_type_of("triangular_solve", "solution cloned_coefficient")


def check_older(name: str, shown: str, a: Tensor, b: Tensor) -> None:
    """The checks of the older functions, in their words: *b* comes first there."""
    if len(b._s) < 2:
        should = "Expected b to have" if "." in name else "b should have"
        begin = f"{name}: " if "." in name else ""
        but = "it has" if "." in name else "has"
        raise RuntimeError(
            f"{begin}{should} at least 2 dimensions, but {but} {len(b._s)} dimensions instead"
        )
    if len(a._s) < 2:
        raise RuntimeError(
            f"{shown} needs coefficients of at least 2 dimensions, but they have {len(a._s)}"
        )
    check_device(a, b)
    if a._k.dtype is not b._k.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{scalar_name(b._k.dtype)} and A of type {scalar_name(a._k.dtype)} instead."
        )
    check_square("", a)
    if a._s[-1] != b._s[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {shown}: each A matrix is {a._s[-1]} by {a._s[-1]} "
            f"but each b matrix is {b._s[-2]} by {b._s[-1]}"
        )


@public(out=SAME)
@autocasts("cpu float32")
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The solution of ``A @ x = input`` for triangular *A*, and a copy of *A*.

    With *transpose* of ``A.mT @ x = input``. ``linalg.solve_triangular`` is the newer function.
    """
    check_tensors("triangular_solve", input=input, A=A)
    return older_triangular_solve("triangular_solve", input, A, upper, transpose, unitriangular)


def older_triangular_solve(
    name: str, input: Tensor, A: Tensor, upper: bool, transpose: bool, unit: bool
) -> Any:
    """``triangular_solve`` under one of its names, with that name's warning."""
    deprecated(name, "linalg.solve_triangular(A, B)")
    check_older(f"torch.{name}", name, A, input)
    check_factored(name, A)
    a, b = equal_batches(A, input)
    solution = solved(a.mT if transpose else a, b, upper is not transpose, True, unit)
    return _RESULTS(solution, a.clone())
