"""The different values of a tensor, or slices of a dimension: ``unique``."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.underived import underived
from tensorbus.op_engine.argument_values import read_number
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.public import public


def _groups(changes: Tensor, n: int) -> tuple[Tensor, int]:
    """The number of the group of each of *n* elements, from where neighbours differ."""
    k = changes._k.i64
    first = from_array(k.full((1,), 0), k)
    numbers = core("cumsum")(core("cat")(first, changes.to(dtypes.int64), 0), 0)
    return numbers, read_number(core("select")(numbers, 0, n - 1)) + 1


def _differ(x: Tensor) -> Tensor:
    """Whether each slice after the first differs from the one before it."""
    n, cut = x._s[0], core("slice")
    changed = core("ne")(cut(x, 0, 1, n, 1), cut(x, 0, 0, n - 1, 1))
    while len(changed._s) > 1:
        changed = core("any")(changed, (len(changed._s) - 1,))
    return changed


def _lexicographic(x: Tensor) -> Tensor:
    """The order of the rows of a matrix: stable sorts from the last column to the first."""
    order = core("argsort")(core("select")(x, 1, x._s[1] - 1), 0)
    for column in reversed(range(x._s[1] - 1)):
        keys = core("take")(core("select")(x, 1, column), 0, order, False)
        order = core("take")(order, 0, core("argsort")(keys, 0), False)
    return order


def _summary(
    x: Tensor, order: Tensor | None, inverse: bool, counts: bool, shape: Any, dim: int
) -> Any:
    """The slices that differ from the one before, in the given order, and what else is wanted."""
    n = x._s[0]
    k = x._k.i64
    ordered = x if order is None else core("take")(x, 0, order, False)
    numbers, total = _groups(_differ(ordered), n) if n else (from_array(k.empty((0,)), k), 0)
    starts = k.zeros((total,))
    if n:
        starts = k.full((total,), n)
        k.put(starts, 0, numbers._a, k.arange(n, 0, 1), "amin", False)
    values = core("take")(ordered, 0, from_array(starts, k), False)
    if dim:
        values = core("clone")(values.movedim(0, dim))
    results = [values]
    if inverse:
        back = numbers
        if order is not None and n:
            inverted = k.empty((n,))
            k.put(inverted, 0, order._a, numbers._a, "set", False)
            back = from_array(inverted, k)
        results.append(core("view")(back, tuple(shape)))
    if counts:
        results.append(core("bincount")(numbers, total))
    return results[0] if len(results) == 1 else tuple(results)


def _unique(input: Tensor, dim: int | None, inverse: bool, counts: bool, consecutive: bool) -> Any:
    if input._k.dtype.is_complex:
        raise not_implemented("unique" if dim is None else "unique_dim", input)
    if dim is None:
        x = input.detach().reshape(-1)
        order = None
        if not consecutive and x._s[0]:
            order = core("argsort")(x, 0)
        return _summary(x, order, inverse, counts, input._s, 0)
    if not input._s:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, len(input._s))
    x = core("clone")(input.detach().movedim(d, 0))
    n = x._s[0]
    order = None
    if tuple(x._s).count(0) > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    if not x._s.numel() and n:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    if not consecutive and n:
        flat = core("view")(x, (n, x._s.numel() // n))
        order = _lexicographic(flat)
    return _summary(x, order, inverse, counts, (n,), d)


def _flags(name: str, **flags: Any) -> None:
    """Refuse what is no truth value; tensors and arrays of several are ambiguous before that."""
    for argument, value in flags.items():
        if type(value) is not bool:
            bool(value)
            raise type_error(name, argument, None, "bool", value)


@public()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Any = False,
    return_counts: Any = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order, or slices of a dimension; with inverse and counts.

    >>> import tensorbus
    >>> tensorbus.unique(tensorbus.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    _flags("unique", return_inverse=return_inverse, return_counts=return_counts)
    made = _unique(input, dim, return_inverse, return_counts, consecutive=False)
    name = ("unique_dim", "UniqueDim") if dim is not None else ("_unique2", "Unique2")
    return _without_derivative(made, input, *name)


@public()
def unique_consecutive(
    input: Tensor,
    return_inverse: Any = False,
    return_counts: Any = False,
    dim: int | None = None,
) -> Any:
    """The first element of each run of equal ones; with inverse and counts."""
    _flags("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    made = _unique(input, dim, return_inverse, return_counts, consecutive=True)
    return _without_derivative(made, input, "unique_consecutive", "UniqueConsecutive")


def _without_derivative(made: Any, input: Tensor, function: str, node: str) -> Any:
    values, *others = (made,) if isinstance(made, Tensor) else made
    error = NotImplementedError(f"the derivative for '{function}' is not implemented.")
    (values,) = underived([values], (input,), error, f"{node}Backward0")
    return (values, *others) if others else values
