"""Rows over lists of tensors, which write into some of them: the steps of optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base.modes import RARE
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, bump
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.op_engine.in_place import check_write
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.parameter import Parameter
from tensorbus.rows.registry import Row

Columns = Sequence[Sequence[Tensor]]

_PLAIN = frozenset((Tensor, Parameter))


def take_step(row: Row, lists: tuple[Sequence[Tensor], ...], rest: tuple[Any, ...]) -> None:
    """Take the step of a row of form ``list``; *rest* are its numbers and parameters.

    A list is empty where the row is not given that operand. Members of one kind go to the kernel
    in one call. A member is composed of public functions, which record and are seen by modes,
    where a mode is active or gradients are on, and where its operands are no plain tensors of one
    kind and shape, or lie in memory of one another: kernels write while they read.
    """
    columns = [members for members in lists if members]
    if not columns:
        return
    direct = not (RARE.on or GRAD.on or THREAD.on)
    arrays = _arrays_of(columns) if direct else None
    if arrays is not None:
        _run(row, lists, columns, arrays, rest)
        return
    by_kind: dict[Kind, tuple[list[tuple[Tensor, ...]], list[list[Any]]]] = {}
    names = [name for name, members in zip(row.tensors, lists, strict=True) if members]
    for member in zip(*columns, strict=True):
        arrays = _arrays_of([(t,) for t in member]) if direct else None
        if arrays is None:
            _compose(row, dict(zip(names, member, strict=True)), rest)
            continue
        members, given = by_kind.setdefault(member[0]._k, ([], []))
        members.append(member)
        given.append([a for (a,) in arrays])
    for members, given in by_kind.values():
        _run(row, lists, list(zip(*members, strict=True)), list(zip(*given, strict=True)), rest)


def _arrays_of(columns: Columns) -> list[list[Any]] | None:
    """The arrays of plain tensors of one kind, each with memory of its own and the shape of those
    of its member; or None.
    """
    k = columns[0][0]._k
    if k.rule_for is not None or not k.has_values:
        return None
    shapes = [t._s for t in columns[0]]
    views = False
    for column in columns:
        for t in column:
            if type(t) not in _PLAIN or t._k is not k:
                return None
            if t._b is not None:
                views = True
        if column is not columns[0] and [t._s for t in column] != shapes:
            return None
    arrays = [[t._a for t in column] for column in columns]
    count = len(shapes) * len(columns)
    if not views:
        if len({id(a) for column in arrays for a in column}) == count:
            return arrays
    # Views, and what lies in another order, have to be asked for their storage.
    elif len({k.layout(a)[0] for column in arrays for a in column}) == count:
        return arrays
    return None


def _run(
    row: Row, lists: tuple[Sequence[Tensor], ...], columns: Columns,
    arrays: Sequence[Sequence[Any]], rest: tuple[Any, ...],
) -> None:  # fmt: skip
    """The kernel's step of members of one kind, of which those without elements need none."""
    first = columns[0]
    given = iter(zip(columns, arrays, strict=True))
    empty = [n for n, t in enumerate(first) if 0 in t._s]
    written: list[Tensor] = []
    operands: list[list[Any]] = []
    for name, members in zip(row.tensors, lists, strict=True):
        if not members:
            operands.append([])
            continue
        tensors, column = next(given)
        if name in row.written:
            written += tensors
        operands.append([a for n, a in enumerate(column) if n not in empty] if empty else [*column])
    _count(written)
    if len(empty) < len(first):
        getattr(first[0]._k, row.name)(*operands, *rest)


def _count(written: list[Tensor]) -> None:
    """Count a write to each, before all: so no interrupt comes between one and its count.

    Nothing is counted where one may not be written to.
    """
    for t in written:
        if t._b is not None or type(t._c) is not list:
            check_write(t)
    for t in written:
        bump(t)


class _Public:
    """The public functions as a namespace ``F``: they promote, record and ask the modes."""

    def __getattr__(self, name: str) -> Any:
        return FUNCTIONS[name]


_PUBLIC = _Public()


def _compose(row: Row, operands: dict[str, Tensor], rest: tuple[Any, ...]) -> None:
    """The step of one member by public functions."""
    assert row.composite is not None
    found = row.composite(_PUBLIC, *[operands.get(name) for name in row.tensors], *rest)
    for name, value in zip(row.written, found, strict=True):
        if name in operands:
            operands[name].copy_(value)
