"""Constraints of vectors and matrices, and those that are joined along a dimension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.constraint import Constraint, holds


# -- vectors ---------------------------------------------------------------------------------
class _OneHot(Constraint):
    """Vectors of one 1 and else 0."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to at most *upper_bound*.

    Example:
        >>> counts = tensorbus.distributions.constraints.multinomial(3)
        >>> counts.check(tensorbus.tensor([[1.0, 2.0], [2.0, 2.0]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector is one of such counts."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# -- matrices --------------------------------------------------------------------------------
class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = tensorbus.finfo(value.dtype).eps * value.size(-1) * 10
        lengths = tensorbus.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & ((lengths - 1.0).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return tensorbus.full(value.shape[:-2], square, dtype=tensorbus.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return tensorbus.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are not negative."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not holds(symmetric):
            return symmetric
        return (tensorbus.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are positive."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not holds(symmetric):
            return symmetric
        return tensorbus.linalg.cholesky_ex(value).info == 0


# -- joined ----------------------------------------------------------------------------------
class _Joined(Constraint):
    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether one of the regions is one of separate points."""
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for value with {value.dim()} dimensions"
            )


class _Cat(_Joined):
    """Constraints of parts that lie one behind the other along *dim*, as ``cat`` puts them.

    Args:
        cseq: the constraints.
        dim: the dimension.
        lengths: the sizes of the parts along it, 1 each by default.

    Example:
        >>> constraints = tensorbus.distributions.constraints
        >>> parts = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
        >>> parts.check(tensorbus.tensor([-1.0, -2.0, -3.0]))
        tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Iterable[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """Whether the events of each part are valid."""
        self._check_dim(value)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        parts = zip(self.cseq, starts, self.lengths, strict=True)
        return tensorbus.cat([c.check(value.narrow(self.dim, s, n)) for c, s, n in parts], self.dim)


class _Stack(_Joined):
    """Constraints of slices along *dim*, as ``stack`` puts them.

    Args:
        cseq: the constraints.
        dim: the dimension.

    Example:
        >>> constraints = tensorbus.distributions.constraints
        >>> rows = constraints.stack([constraints.positive, constraints.real])
        >>> rows.check(tensorbus.tensor([[-1.0, 2.0], [-1.0, 2.0]]))
        tensor([[False,  True],
                [ True,  True]])
    """

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one event."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        """Whether the events of each slice are valid."""
        self._check_dim(value)
        slices = value.unbind(self.dim)
        # As in PyTorch, slices beyond the constraints are left out.
        checked = [c.check(v) for v, c in zip(slices, self.cseq, strict=False)]
        return tensorbus.stack(checked, self.dim)
