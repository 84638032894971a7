"""The class that joins runtime and tables."""

from __future__ import annotations

from typing import Any, ClassVar

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library import (
    contraction,
    fourier,
    index,
    order,
    pointwise,
    reductions,
    scalar_table,
    views,
)
from tensorbus.plugin.array_library.narrow import narrow_kernel
from tensorbus.plugin.array_library.runtime import ArrayRuntime
from tensorbus.plugin.array_library.table import Table, silence
from tensorbus.plugin.backend import Kernel, Traits

silence("tensorbus.plugin.array_library")


class ArrayLibraryBackend(ArrayRuntime):
    """A backend whose arrays and functions are those of ``xp``, a NumPy-like module.

    A subclass sets ``name`` and ``xp``, and puts tables of its own in front of ``tables``, whose
    first entry for an op wins.

    >>> import numpy
    >>> class MyBackend(ArrayLibraryBackend):
    ...     name = "mine"
    ...     xp = numpy
    >>> MyBackend().kernel("add", tensorbus.float32, 0)
    <ufunc 'add'>
    """

    traits: ClassVar[Traits] = Traits(
        broadcasts=True,
        takes_empty=True,
        host_sync=True,
        scalar_results=True,
        python_scalars=True,
    )
    tables: ClassVar[tuple[Table, ...]] = (
        pointwise.TABLE,
        reductions.TABLE,
        contraction.TABLE,
        index.TABLE,
        order.TABLE,
        fourier.TABLE,
        views.TABLE,
        scalar_table.TABLE,
    )

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        """The first kernel for *op* and *dtype* in the tables, or None."""
        if dtype in self.narrow:
            return narrow_kernel(self, op, dtype, index)
        for table in self.tables:
            maker = table.get(op)
            if maker is not None:
                kernel: Any = maker(self.xp, dtype)
                if kernel is not None:
                    return kernel
        return None
