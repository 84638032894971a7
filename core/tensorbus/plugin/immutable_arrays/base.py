"""The class that joins the runtime, the library's functions and the kernels made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library import pointwise, scalar_table
from tensorbus.plugin.array_library.table import ALL, ORDERED, Table
from tensorbus.plugin.backend import Kernel, Traits
from tensorbus.plugin.immutable_arrays import kernels, moves
from tensorbus.plugin.immutable_arrays.runtime import ImmutableRuntime

LINES = Table()
"""Reductions, scans and sorting of each line of a matrix; products of matrices."""


def _made(maker: Callable[[Any], Any], xp: Any, dtype: dtype) -> Kernel:
    kernel: Kernel = maker(xp)  # the same for each dtype
    return kernel


_SUMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda xp: lambda x: xp.sum(x, axis=1, dtype=x.dtype),
    "prod": lambda xp: lambda x: xp.prod(x, axis=1, dtype=x.dtype),
    "cumsum": lambda xp: lambda x: xp.cumsum(x, axis=1, dtype=x.dtype),
    "cumprod": lambda xp: lambda x: xp.cumprod(x, axis=1, dtype=x.dtype),
    "matmul": lambda xp: xp.matmul,
}
_EXTREMES: dict[str, Callable[[Any], Any]] = {
    "amax": lambda xp: lambda x: xp.max(x, axis=1),
    "amin": lambda xp: lambda x: xp.min(x, axis=1),
    "argmax": lambda xp: lambda x: xp.argmax(x, axis=1),
    "argmin": lambda xp: lambda x: xp.argmin(x, axis=1),
    "cummax": lambda xp: lambda x: xp.maximum.accumulate(x, axis=1),
    "cummin": lambda xp: lambda x: xp.minimum.accumulate(x, axis=1),
    "argsort": lambda xp: lambda x: xp.argsort(x, axis=1, stable=True),
}
for _op, _maker in _SUMS.items():
    LINES.add(_op, ALL, partial(_made, _maker))
for _op, _maker in _EXTREMES.items():
    LINES.add(_op, ORDERED, partial(_made, _maker))


class ImmutableArrayBackend(ImmutableRuntime):
    """A backend over a library whose arrays cannot be written.

    A subclass sets ``name`` and ``xp``, the library's functions under NumPy's names, and overrides
    what the library does otherwise: ``array``, ``pick``, ``placed`` and the other methods at the
    head of the runtime, and ``function``.

    >>> import numpy
    >>> class Frozen(ImmutableArrayBackend):
    ...     name = "frozen"
    ...     xp = numpy
    >>> backend = Frozen()
    >>> x = backend.from_host(numpy.float32([1, 2]), tensorbus.float32, 0)
    >>> y = backend.kernel("add", tensorbus.float32, 0)(x, x)
    >>> backend.to_host(y, tensorbus.float32)
    array([2., 4.], dtype=float32)
    """

    traits: ClassVar[Traits] = Traits(broadcasts=True)
    tables: ClassVar[tuple[Table, ...]] = (pointwise.TABLE, scalar_table.TABLE, LINES)
    """The library's functions for each op and dtype; the first entry for an op wins."""

    def function(self, op: str, dtype: dtype) -> Callable[..., Any] | None:
        """What computes *op* for operands of *dtype* in the library's own arrays, or None.

        Arrays are row-major, with padding. Pointwise functions get arrays of one length and
        arrays without dimensions; reductions, scans and ``argsort`` a matrix, and work along its
        second dimension; ``matmul`` two batches of matrices.
        """
        makers = [table[op] for table in self.tables if op in table]
        made = [maker(self.xp, dtype) for maker in makers]
        return next((function for function in made if function is not None), None)

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        """*op* on boxes: what reads them, the library's function, and what fills one."""
        if op in moves.KERNELS:
            return partial(moves.KERNELS[op], self)
        function = self.function(op, dtype)
        if function is None:
            return None
        return partial(kernels.FAMILY.get(op, kernels.pointwise), self, op, function)
