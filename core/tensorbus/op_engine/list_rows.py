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

Member = tuple[Tensor, ...]


def take_step(row: Row, lists: tuple[Sequence[Tensor], ...], rest: tuple[Any, ...]) -> None:
    """Take the step of a row of form ``list``; *rest* are its numbers and parameters.

    A list is empty where the row is not given that operand. Members of one kind go to the kernel
    in one call. A member is composed of public functions, which record and are seen by modes,
    where a mode is active or gradients are on, and where its operands are no plain tensors of one
    kind and shape, or lie in memory of one another: kernels write while they read.
    """
    given = [i for i, members in enumerate(lists) if members]
    direct = not (RARE.on or GRAD.on or THREAD.on)
    by_kind: dict[Kind, tuple[list[Member], list[list[Any]]]] = {}
    for member in zip(*[lists[i] for i in given], strict=True):
        k = member[0]._k
        arrays = _alike(member, k) if direct and k.rule_for is None and k.has_values else None
        if arrays is not None:
            found = by_kind.get(k)
            if found is None:
                found = by_kind[k] = [], []
            found[0].append(member)
            if 0 not in member[0]._s:
                found[1].append(arrays)
        else:
            operands = zip([row.tensors[i] for i in given], member, strict=True)
            _compose(row, dict(operands), rest)
    for k, (members, filled) in by_kind.items():
        _count(members, [at for at, i in enumerate(given) if row.tensors[i] in row.written])
        if filled:
            columns: list[list[Any]] = [[] for _ in lists]
            for i, column in zip(given, zip(*filled, strict=True), strict=True):
                columns[i] = list(column)
            getattr(k, row.name)(*columns, *rest)


def _alike(member: Member, k: Kind) -> list[Any] | None:
    """The arrays of plain tensors of one kind and shape, each with memory of its own; or None."""
    shape = member[0]._s
    views = False
    for t in member:
        c = type(t)
        if (c is not Parameter and c is not Tensor) or t._k is not k:
            return None
        if t._s is not shape and t._s != shape:
            return None
        if t._b is not None:
            views = True
    arrays = [t._a for t in member]
    if not views and len(set(map(id, arrays))) == len(arrays):
        return arrays
    # Views, and what lies in another order, have to be asked for their storage.
    return arrays if len({k.layout(a)[0] for a in arrays}) == len(arrays) else None


def _count(members: list[Member], targets: list[int]) -> None:
    """Count a write to each target, before all: so no interrupt comes between one and its count.

    Nothing is counted where one may not be written to.
    """
    written = [member[i] for i in targets for member in members]
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
