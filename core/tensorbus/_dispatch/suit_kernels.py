"""Kernels suited to the frontend: they take any shapes, sizes, layouts and numbers.

A backend's traits say what its kernels take; what is missing is put before them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.dtypes import BOOL
from tensorbus._base.size import MAX_RANK
from tensorbus.plugin import shape_rules
from tensorbus.rows.registry import Row

Entry = Callable[..., Any]


def suit_traits(kind: Any, row: Row, kernel: Entry) -> Entry:
    """An entry that takes any shapes, sizes and layouts, for a kernel that may not."""
    traits = kind.backend.traits
    if traits.contiguous_inputs or not traits.strided_out:
        kernel = _contiguous(kind, row, kernel)
    if traits.max_rank < MAX_RANK:
        from tensorbus._dispatch.fold_ranks import fold_ranks

        kernel = fold_ranks(kind, row, kernel)
    of_numbers, of_truths = row.identities
    truths_alone = of_numbers is None and of_truths is not None  # any, all: of nothing too
    if row.shape is not None and (
        not traits.takes_empty or (truths_alone and kind.dtype.category == BOOL)
    ):
        kernel = _nonempty(kind, row, kernel)
    if not traits.broadcasts and row.shape is shape_rules.broadcast:
        kernel = _broadcasting(kind, row, kernel)
    if not traits.broadcasts and row.shape is shape_rules.product:
        kernel = _equal_batches(kind, kernel)
    return kernel


def suit_group(kind: Any, row: Row, kernel: Entry) -> Entry:
    """An entry for a kernel of a group: matrices without elements go to the composition."""
    if kind.backend.traits.contiguous_inputs:
        kernel = _contiguous(kind, row, kernel)
    compose = row.composite

    def entry(*arguments: Any) -> Any:
        for x in arguments[: len(row.tensors)]:
            if 0 in x.shape and compose is not None:
                return compose(kind, *arguments)
        return kernel(*arguments)

    return entry


def suit_numbers(kind: Any, row: Row, kernel: Entry) -> Entry:
    """An entry whose operands may be Python numbers, for a kernel that wants ``scalar``'s."""
    if not row.tensors:
        return kernel
    kinds = _operand_kinds(kind, row)

    def entry(*operands: Any, **out: Any) -> Any:
        for at, operand in enumerate(operands):
            if at in kinds and isinstance(operand, (bool, int, float, complex)):
                operands = (*operands[:at], kinds[at].const(operand), *operands[at + 1 :])
        return kernel(*operands, **out)

    return entry


_OF_TRUTHS = {"add": "amax", "mul": "amin"}
"""Joining truth values by "or" and "and", in the words that backends are promised for them."""


def suit_truths(kernel: Entry) -> Entry:
    """An entry of ``put`` or ``scatter`` that adds and multiplies truth values."""

    def entry(x: Any, dim: int, i: Any, src: Any, op: str, *wrap: bool) -> Any:
        return kernel(x, dim, i, src, _OF_TRUTHS.get(op, op), *wrap)

    return entry


def suit_dtype(row: Row, token: Any, kernel: Entry) -> Entry:
    """An entry without the dtype argument of its kernel.

    A kernel may have a ``for_dtype``, which gives another without it, or None where it has none for
    that dtype.
    """
    for_dtype = getattr(kernel, "for_dtype", None)
    found: Entry | None = None if for_dtype is None else for_dtype(token)
    if found is not None:
        return found
    if len(row.arguments) == 2:

        def of_two(x: Any, y: Any, out: Any = None) -> Any:
            return kernel(x, y, token) if out is None else kernel(x, y, token, out=out)

        return of_two

    def entry(*arguments: Any) -> Any:
        return kernel(*arguments, token)

    return entry


def _operand_kinds(kind: Any, row: Row) -> dict[int, Any]:
    """The kinds of an op's operands, by their index among its arguments."""
    return {
        at: row.operand_kind(argument, kind)
        for at, argument in enumerate(row.arguments)
        if argument in row.tensors
    }


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape")


def _broadcasting(kind: Any, row: Row, kernel: Entry) -> Entry:
    kinds = [row.operand_kind(t, kind) for t in row.tensors]

    def entry(*operands: Any, out: Any = None) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if any(x.shape != arrays[0].shape for x in arrays):
            shape = shape_rules.broadcast(*arrays)
            operands = tuple(
                k.expand(x, shape) if _is_array(x) and tuple(x.shape) != shape else x
                for k, x in zip(kinds, operands, strict=False)
            )
        return kernel(*operands) if out is None else kernel(*operands, out=out)

    return entry


def _equal_batches(kind: Any, kernel: Entry) -> Entry:
    def entry(a: Any, b: Any, *dtype: Any) -> Any:
        left, right = tuple(a.shape[:-2]), tuple(b.shape[:-2])
        if left != right:
            batch = shape_rules.product(a, b)[:-2]
            a = a if left == batch else kind.expand(a, (*batch, *a.shape[-2:]))
            b = b if right == batch else kind.expand(b, (*batch, *b.shape[-2:]))
        return kernel(a, b, *dtype)

    return entry


def _nonempty(kind: Any, row: Row, kernel: Entry) -> Entry:
    identity = row.identities[kind.dtype.category == BOOL]
    target = row.result_kind(kind)
    arguments = len(row.arguments)
    shape_of: Any = row.shape

    def entry(*operands: Any, **out: Any) -> Any:
        arrays = [x for x in operands if _is_array(x)]
        if all(0 not in x.shape for x in arrays) and (arrays or operands[0]):
            return kernel(*operands, **out)
        if row.writes:
            return operands[0]
        shape = shape_of(*operands[:arguments])
        if identity is None and 0 not in shape:
            raise IndexError(f"{row.name}(): the dimension to reduce has no elements")
        made = out.get("out")
        if made is None:
            return target.full(shape, identity or 0)
        return target.copy_(made, identity or 0)

    return entry


def _contiguous(kind: Any, row: Row, kernel: Entry) -> Entry:
    traits = kind.backend.traits
    laid_out: dict[int, Any] = {}
    if traits.contiguous_inputs:
        laid_out = _operand_kinds(kind, row)
        if row.writes:  # what is written to is taken as it is
            del laid_out[0]
    target = row.result_kind(kind)

    def entry(*operands: Any, out: Any = None) -> Any:
        if laid_out:
            operands = tuple(
                laid_out[at].contiguous(x) if at in laid_out and _is_array(x) else x
                for at, x in enumerate(operands)
            )
        if out is None:
            return kernel(*operands)
        if traits.strided_out or target.is_contiguous(out):
            return kernel(*operands, out=out)
        made = kernel(*operands)
        return made if made is NotImplemented else target.copy_(out, target.as_array(made))

    return entry
