"""Parts of matrices, as rules and compositions take them: the last two dimensions of arrays."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtypes import int32


def transposed(F: Any, x: Any) -> Any:
    """The matrices with their two dimensions exchanged, in the same memory."""
    rank = len(x.shape)
    return F.permute(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(F: Any, x: Any) -> Any:
    """The conjugated matrices with their dimensions exchanged: of real ones a view."""
    return transposed(F, conjugated(F, x))


def conjugated(F: Any, x: Any) -> Any:
    """The elements conjugated: real ones as they are."""
    return F.conj(x) if F.dtype.is_complex else x


def rows(F: Any, x: Any, start: int, stop: int) -> Any:
    """The rows from *start* to before *stop*."""
    return F.slice(x, len(x.shape) - 2, start, stop, 1)


def columns(F: Any, x: Any, start: int, stop: int) -> Any:
    """The columns from *start* to before *stop*."""
    return F.slice(x, len(x.shape) - 1, start, stop, 1)


def block(F: Any, x: Any, top: int, bottom: int, left: int, right: int) -> Any:
    """The rows *top* to *bottom* of the columns *left* to *right*."""
    return columns(F, rows(F, x, top, bottom), left, right)


def diagonal(F: Any, x: Any) -> Any:
    """The main diagonal, as the last dimension."""
    rank = len(x.shape)
    return F.diagonal(x, 0, rank - 2, rank - 1)


def identity(F: Any, shape: tuple[int, ...]) -> Any:
    """New matrices with ones on the diagonal."""
    made = F.zeros(shape)
    F.copy_(diagonal(F, made), 1)
    return made


def as_row(F: Any, x: Any) -> Any:
    """Numbers (..., n) for the columns of matrices."""
    return F.unsqueeze(x, len(x.shape) - 1)


def as_column(F: Any, x: Any) -> Any:
    """Numbers (..., n) for the rows of matrices."""
    return F.unsqueeze(x, len(x.shape))


def ones_on_diagonal(F: Any, n: int) -> Any:
    """The identity, in a rule: over tensors nothing may be written to."""
    return F.tril(F.triu(F.full((n, n), 1), 0), 0)


def differences(F: Any, x: Any) -> Any:
    """``x[j] - x[i]`` of real numbers in row i and column j, ones on the diagonal."""
    return F.add(F.sub(as_row(F, x), as_column(F, x)), ones_on_diagonal(F, x.shape[-1]))


def magnitude(F: Any, x: Any) -> Any:
    """The magnitudes of the elements, which are real."""
    return F.abs_complex(x) if F.dtype.is_complex else F.abs(x)


def real_part(F: Any, x: Any) -> Any:
    """The real parts of complex elements, in the same memory."""
    return F.real.select(F.view_as_real(x), len(x.shape), 0)


def scaled(F: Any, x: Any) -> tuple[Any, Any]:
    """New matrices whose largest element is about 1, and what to multiply them with: (..., 1, 1).

    So squares neither overflow nor vanish.
    """
    rank, real = len(x.shape), F.real
    largest = real.as_array(real.amax(magnitude(F, x), (rank - 2, rank - 1)))
    largest = real.where(real.gt(largest, 0.0), largest, real.number(1.0))
    scale = F.cast(real.view(largest, (*largest.shape, 1, 1)), real)
    return F.div(x, scale), scale


def first_failure(F: Any, failed: Any) -> Any:
    """1 + the index of the first truth along the last dimension, 0 where there is none: int32."""
    n, counts = failed.shape[-1], F.of(int32)
    if not n:
        return counts.zeros(tuple(failed.shape[:-1]))
    index = F.i64.arange(n, 1, 1)
    last = len(failed.shape) - 1
    first = F.i64.amin(F.i64.where(failed, index, F.i64.number(n + 1)), (last,))
    found = F.i64.where(F.i64.eq(first, n + 1), F.i64.number(0), first)
    return counts.cast(F.i64.as_array(found), F.i64)
