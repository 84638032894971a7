"""Sparse gradients: of tables of which few rows are used, and how they reach ``.grad``.

In a backward pass over arrays a sparse gradient travels as the ``SparseArray`` of a sparse tensor.
It goes to leaves alone, whose edges are made ready for it: their kind adds dense and sparse, and
hooks make the engine take its longer way.
"""

from __future__ import annotations

from typing import Any

from tensorbus import cat
from tensorbus._base import registered
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.function import Function
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.node import AccumulateGrad, hooks_of
from tensorbus.op_engine.batches import depth_of
from tensorbus.op_engine.cores import core
from tensorbus.sparse.deferred import BagRows, are_worth_it
from tensorbus.sparse.tensor import make_coo, sparse_tensor


class _GradientKind:
    """The kind of a leaf to which sparse gradients may come: the dense one, but for ``add``."""

    def __init__(self, dense: Any):
        self.dense = dense

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dense, name)

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two gradients, which is sparse where both are."""
        if isinstance(a, SparseArray) or isinstance(b, SparseArray):
            return added(self._tensor(a), self._tensor(b))._a
        return self.dense.add(a, b)

    def _tensor(self, g: Any) -> Tensor:
        return sparse_tensor(g) if isinstance(g, SparseArray) else from_array(g, self.dense)


def added(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two gradients; a dense one comes first."""
    return b + a if isinstance(a._a, SparseArray) else a + b


@registered.sparse_for_edge.provide
def for_edge(edge: Any, g: Any) -> Tensor:
    """The gradient for an edge: as it is for a leaf, else dense."""
    if type(edge) is not AccumulateGrad:
        return g.to_dense()
    if type(edge.k) is not _GradientKind:
        edge.k = _GradientKind(edge.k)
        hooks_of(edge)
    return g


@registered.accumulate_sparse.provide
def accumulate(leaf: Any, g: Any, kind: Any) -> None:
    """Add a gradient to a leaf's ``.grad``, where that or the gradient is sparse."""
    given = sparse_tensor(g) if isinstance(g, SparseArray) else from_array(g, kind)
    before = leaf.grad
    if before is None:
        leaf._g = given
    elif not isinstance(before._a, SparseArray):
        before.detach().add_(given)
    elif not isinstance(given._a, SparseArray):
        leaf._g = given + before
    else:
        before._a = (before + given)._a


# -- embedding ---------------------------------------------------------------------------------
class _SparseRows(Function):
    """Rows of a table; its gradient has those rows alone."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, indices: Tensor, padding: int | None) -> Tensor:
        ctx.save_for_backward(indices)
        ctx.shape, ctx.padding = tuple(table.shape), padding
        return table.index_select(0, indices)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (indices,) = ctx.saved_tensors
        (g,) = grads
        return _of_table(indices, g, ctx.padding, ctx.shape), None, None


class _SparseBags(Function):
    """Sums of rows of a table; its gradient has those rows alone, as often as they are named."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        factors: Tensor | None,
        indices: Tensor,
        bounds: Tensor,
        padding: int,
    ) -> Tensor:
        ctx.save_for_backward(table, factors, indices, bounds)
        ctx.padding = padding
        found: Tensor = core("bag_sum")(table, indices, bounds, factors, padding)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        table, factors, indices, bounds = ctx.saved_tensors
        (g,) = grads
        of_table = of_factors = None
        if ctx.needs_input_grad[0]:
            of_table = _of_bags(g, indices, bounds, factors, ctx.padding, tuple(table.shape))
        if ctx.needs_input_grad[1]:
            of_factors = core("bag_products")(g, table, indices, bounds, ctx.padding)
        return of_table, of_factors, None, None, None


def _of_bags(
    g: Tensor, i: Tensor, bounds: Tensor, f: Tensor | None, padding: int, shape: tuple[int, ...]
) -> Tensor:
    """The sparse gradient with the row of *g* of each bag at the indices, but those of padding."""
    recorded = is_grad_enabled() and (g.requires_grad or (f is not None and f.requires_grad))
    if recorded or depth_of(g) or not are_worth_it(g, i._s[0]):
        rows = core("bag_rows")(g, i, bounds, f, padding)
        return _of_table(i, rows, None if padding < 0 else padding, shape)
    if padding >= 0:
        kept = i != padding
        before = cat([bounds.new_zeros(1), kept.cumsum(0)])
        i, f, bounds = i[kept], None if f is None else f[kept], before.index_select(0, bounds)
    return make_coo(i[None], BagRows(g, i._s[0], bounds, f), shape)


def _of_table(indices: Tensor, rows: Tensor, padding: int | None, shape: tuple[int, ...]) -> Tensor:
    """The sparse gradient with these rows but those of *padding*."""
    if padding is not None:
        kept = (indices != padding).nonzero()[:, 0]
        indices, rows = indices[kept], rows.index_select(0, kept)
    return make_coo(indices[None], rows, shape)


@registered.bags_with_sparse_gradient.provide
def bags(
    table: Tensor, factors: Tensor | None, indices: Tensor, bounds: Tensor, padding: int
) -> Any:
    """The sums of bags of rows; the gradient of *table* is sparse."""
    return _SparseBags.apply(table, factors, indices, bounds, padding)


@registered.embedding_with_sparse_gradient.provide
def embedding(table: Tensor, indices: Tensor, padding: int | None) -> Any:
    """The rows that *indices* (of one dimension) name; the gradient of *table* is sparse."""
    return _SparseRows.apply(table, indices, padding)
