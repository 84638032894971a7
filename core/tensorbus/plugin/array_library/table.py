"""Tables of kernels: for each op, a function that makes the kernel for one dtype."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus._base.float_warnings import quietly
from tensorbus.plugin.backend import Array, Kernel

Maker = Callable[[Any, dtype], "Kernel | None"]
"""``maker(xp, dtype)`` gives the kernel for operands of *dtype*, or None where there is none."""

BOOL, INTEGER, FLOAT, COMPLEX = "bool", "integer", "float", "complex"
NUMBERS = (INTEGER, FLOAT, COMPLEX)
REAL = (INTEGER, FLOAT)
ORDERED = (BOOL, INTEGER, FLOAT)
ALL = (BOOL, INTEGER, FLOAT, COMPLEX)


def category(dtype: dtype) -> str:
    """Which of the four families *dtype* is of."""
    if dtype.is_complex:
        return COMPLEX
    if dtype.is_floating_point:
        return FLOAT
    return BOOL if dtype.name == "bool" else INTEGER


class Table(dict[str, Maker]):
    """Kernel makers by the name of their op.

    >>> import numpy as np
    >>> table = Table()
    >>> table.add("floor", (FLOAT,), lambda xp, dtype: xp.floor)
    >>> table["floor"](np, tensorbus.float32)
    <ufunc 'floor'>
    """

    def add(self, op: str, categories: Iterable[str], maker: Maker) -> None:
        """Offer *op* for the dtypes of these *categories*."""
        allowed = frozenset(categories)

        def made(xp: Any, dtype: dtype) -> Kernel | None:
            return maker(xp, dtype) if category(dtype) in allowed else None

        self[op] = made

    def row(self, op: str, *categories: str) -> Callable[[Maker], Maker]:
        """``add`` as a decorator of the maker."""

        def decorate(maker: Maker) -> Maker:
            self.add(op, categories, maker)
            return maker

        return decorate

    def names(self, categories: Iterable[str], **names: str) -> None:
        """Offer functions of the array module as they stand: ``op="function of the module"``."""
        for op, name in names.items():
            self.add(op, categories, _function(name))


def _function(name: str) -> Maker:
    return lambda xp, dtype: getattr(xp, name)


def into(out: Array | None, result: Array) -> Array:
    """*result*, or *out* after *result* has been written into it."""
    if out is None:
        return result
    out[...] = result
    return out


def with_own(kernel: Kernel, own: Any, alone: Kernel) -> Kernel:
    """*kernel*, which is given the result's dtype last, and what is called where that is *own*.

    *alone* is called without it, so it may be the library's own function.
    """

    def for_dtype(dtype: Any) -> Kernel | None:
        return alone if dtype is own else None

    kernel.for_dtype = for_dtype  # type: ignore[attr-defined]
    return kernel


def quiet(kernel: Kernel) -> Kernel:
    """*kernel*, started again without floating point warnings where one was made an error.

    Only for kernels that write their result last: those can be run twice.
    """

    @functools.wraps(kernel)
    def run(*args: Any, **options: Any) -> Array:
        try:
            return kernel(*args, **options)
        except RuntimeWarning:
            return quietly(kernel, *args, **options)

    return run


def silence(package: str) -> None:
    """Keep NumPy's floating point warnings about kernels in *package* from the user.

    NaN and inf are results here, as in PyTorch. Setting NumPy's error state around each call costs
    three times what a small kernel costs, and setting it for good would change the user's own
    NumPy; a filter on the warning's module costs nothing until a flag is raised.
    """
    pattern = package.replace(".", r"\.") + r"(\.|$)"
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=pattern)
