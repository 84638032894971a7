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
        _run(row, lists, columns[0], arrays, rest)
        return
    by_kind: dict[Kind, list[tuple[Tensor, ...]]] = {}
    names = [name for name, members in zip(row.tensors, lists, strict=True) if members]
    for member in zip(*columns, strict=True):
        if direct and _arrays_of([(t,) for t in member]) is not None:
            by_kind.setdefault(member[0]._k, []).append(member)
        else:
            _compose(row, dict(zip(names, member, strict=True)), rest)
    for members in by_kind.values():
        of_kind = iter(zip(*members, strict=True))
        given = tuple([next(of_kind) if column else () for column in lists])
        arrays = [[t._a for t in column] for column in given if column]
        _run(row, given, [member[0] for member in members], arrays, rest)


def _arrays_of(columns: Columns) -> list[list[Any]] | None:
    """The arrays of plain tensors of one kind, each with memory of its own and the shape of those
    of its member; or None.
    """
    first = columns[0]
    k = first[0]._k
    if k.rule_for is not None or not k.has_values:
        return None
    arrays: list[list[Any]] = []
    every: list[Any] = []
    views = False
    for column in columns:
        found = []
        for t, other in zip(column, first, strict=True):
            if t._k is not k or type(t) not in _PLAIN:
                return None
            if t._s is not other._s and t._s != other._s:
                return None
            if t._b is not None:
                views = True
            found.append(t._a)
        arrays.append(found)
        every += found
    # Views, and what lies in another order, have to be asked for their storage.
    places = {k.layout(a)[0] for a in every} if views else set(map(id, every))
    return arrays if len(places) == len(every) else None


def _run(
    row: Row, lists: tuple[Sequence[Tensor], ...], first: Sequence[Tensor],
    arrays: list[list[Any]], rest: tuple[Any, ...],
) -> None:  # fmt: skip
    """The kernel's step of members of one kind, of which those without elements need none.

    *first* are the first tensors of the members, *arrays* those of the lists that are not empty.
    """
    written: list[Tensor] = []
    for i in row.written_places:
        written += lists[i]
    _count(written)
    full = [n for n, t in enumerate(first) if 0 not in t._s]
    if len(full) < len(first):
        if not full:
            return
        arrays = [[column[n] for n in full] for column in arrays]
    if len(arrays) < len(lists):
        given = iter(arrays)
        arrays = [next(given) if column else [] for column in lists]
    getattr(first[0]._k, row.name)(*arrays, *rest)


def _count(written: list[Tensor]) -> None:
    """Count a write to each, before all: so no interrupt comes between one and its count.

    Nothing is counted where one may not be written to.
    """
    for t in written:
        if t._b is not None or type(t._c) is not list:
            check_write(t)
    for t in written:
        if type(t._c) is list:
            t._c[0] += 1
        else:
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
