"""Sums of products in Einstein's notation, by pairs of operands through ``matmul``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import check_many
from tensorbus.op_engine.public import public
from tensorbus.ops.matmul.matmul import matmul
from tensorbus.ops.views.strided import diagonal

_DOTS = -1
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _spread(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with operands that were given as one list as arguments of their own."""
    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        return (args[0], *args[1])
    return args


@public(method=False, seen=_spread)
def einsum(*args: Any) -> Tensor:
    """Products of tensors summed over the letters that the result does not name.

    ``einsum("ij,jk->ik", a, b)``; ``...`` stands for dimensions that broadcast; operands may be
    followed by lists of numbers instead of letters. RuntimeError for a malformed equation or
    sizes that differ.

    >>> import tensorbus
    >>> tensorbus.einsum("ii", tensorbus.ones(3, 3))
    tensor(3.)
    """
    inputs, output, operands = _parsed(args)
    names, shown = _named(inputs, output, operands)
    return _contracted(operands, names, shown)


# -- the equation ----------------------------------------------------------------------------
def _parsed(args: tuple[Any, ...]) -> tuple[list[list[int]], list[int] | None, list[Tensor]]:
    """The labels of each operand and of the result (None if implied), and the operands."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if not isinstance(args[0], (str, Tensor)):
        raise type_error("einsum", "equation", 1, "str", args[0])
    if isinstance(args[0], str):
        operands = list(_spread(args)[1:])
        left, arrow, right = args[0].partition("->")
        inputs = []
        parts, at = left.split(","), 0
        for i, part in enumerate(parts):
            inputs.append(_labels(part, f"operand {i}", at))
            at += len(part) + 1
        output = _labels(right, "output", len(left) + 2) if arrow else None
    else:
        operands, inputs = list(args[0::2]), []
        output = None
        if len(args) % 2:
            operands = list(args[0:-1:2])
            output = [_label(i) for i in args[-1]]
        for subscripts in args[1 : 2 * len(operands) : 2]:
            inputs.append([_label(i) for i in subscripts])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    check_many(operands)
    if len(operands) > len(inputs):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(operands) < len(inputs):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    return inputs, output, operands


def _labels(text: str, owner: str, start: int) -> list[int]:
    """The labels of one operand, or of the output, that begins at a position of the equation."""
    labels, at = [], 0
    while at < len(text):
        if text[at] == ".":
            if _DOTS in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for {owner} "
                    + ("for which" if owner != "output" else "but")
                    + " an ellipsis "
                    + ("was already found" if owner != "output" else "(...) was already found")
                )
            if not text.startswith("...", at):
                raise RuntimeError(
                    f"einsum(): found '.' for {owner} that is not part of any ellipsis"
                    + ("" if owner != "output" else " (...)")
                )
            labels.append(_DOTS)
            at += 3
            continue
        if text[at] != " ":
            if text[at] not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + at} in the equation "
                    "string, subscripts must be in [a-zA-Z]"
                )
            labels.append(_LETTERS.index(text[at]))
        at += 1
    return labels


def _label(subscript: Any) -> int:
    """A subscript of a list: an ellipsis or a number below 52."""
    if subscript is Ellipsis:
        return _DOTS
    if not 0 <= subscript < len(_LETTERS):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    return int(subscript)


def _show(label: int) -> str:
    return _LETTERS[label] if label < len(_LETTERS) else "..."


def _named(
    inputs: list[list[int]], output: list[int] | None, operands: list[Tensor]
) -> tuple[list[list[int]], list[int]]:
    """The labels with numbers from 100 on in place of the dimensions that dots stand for."""
    dots = 0
    for i, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        free = len(x._s) - sum(label != _DOTS for label in labels)
        if free < 0 or (free > 0 and _DOTS not in labels):
            raise RuntimeError(
                "einsum(): the number of subscripts in the equation "
                f"({sum(label != _DOTS for label in labels)}) "
                + (
                    "is more than the number of dimensions "
                    if _DOTS in labels
                    else "does not match the number of dimensions "
                )
                + f"({len(x._s)}) for operand {i}"
                + ("" if _DOTS in labels else " and no ellipsis was given")
            )
        if _DOTS in labels:
            dots = max(dots, free)
    names = []
    for labels, x in zip(inputs, operands, strict=True):
        free = len(x._s) - sum(label != _DOTS for label in labels)
        names.append(_spelled(labels, [100 + dots - free + j for j in range(free)]))
    everything = [label for labels in names for label in labels]
    if output is None:
        once = sorted({n for n in everything if n < 100 and everything.count(n) == 1})
        shown = [100 + j for j in range(dots)] + once
    else:
        shown = _spelled(output, [100 + j for j in range(dots)])
        for label in output:
            if label != _DOTS and output.count(label) > 1:
                raise RuntimeError(
                    f"einsum(): output subscript {_show(label)} appears more than once in the "
                    "output"
                )
            if label != _DOTS and label not in everything:
                raise RuntimeError(
                    f"einsum(): output subscript {_show(label)} does not appear in the equation "
                    "for any input operand"
                )
    return names, shown


def _spelled(labels: list[int], dots: list[int]) -> list[int]:
    return [n for label in labels for n in (dots if label == _DOTS else [label])]


# -- the sum ---------------------------------------------------------------------------------
def _contracted(operands: list[Tensor], names: list[list[int]], shown: list[int]) -> Tensor:
    sizes: dict[int, int] = {}
    for i, (x, labels) in enumerate(zip(operands, names, strict=True)):
        own: dict[int, int] = {}
        for label, n in zip(labels, x._s, strict=True):
            if n != own.setdefault(label, n):
                raise RuntimeError(
                    f"einsum(): subscript {_show(label)} is repeated for operand {i} but the sizes "
                    f"don't match, {n} != {own[label]}"
                )
            seen = sizes.get(label, 1)
            if n != seen and n != 1 and seen != 1:
                raise RuntimeError(
                    f"einsum(): subscript {_show(label)} has size {n} for operand {i} which "
                    f"does not broadcast with previously seen size {seen}"
                )
            sizes[label] = max(seen, n) if n and seen else 0
    parts = [
        _ordered(*_without_repeats(x, labels), shown)
        for x, labels in zip(operands, names, strict=True)
    ]
    a, labels = parts[0]
    for i, (b, more) in enumerate(parts[1:], 1):
        later = {n for _, rest in parts[i + 1 :] for n in rest} | set(shown)
        a, labels = _pair(a, labels, b, more, later, shown)
    dims = [d for d, n in enumerate(labels) if n not in shown]
    if dims:
        a = a.sum(dims)
        labels = [n for n in labels if n in shown]
    if labels != shown or (len(operands) == 1 and not dims):
        a = a.permute([labels.index(n) for n in shown])
    shape = tuple(sizes[n] for n in shown)
    return a if a._s == shape else a.expand(shape)


def _without_repeats(x: Tensor, labels: list[int]) -> tuple[Tensor, list[int]]:
    """The diagonal of dimensions that have the same label."""
    labels = list(labels)
    for label in set(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = [n for d, n in enumerate(labels) if d not in (first, second)] + [label]
    return x, labels


def _pair(
    a: Tensor,
    left: list[int],
    b: Tensor,
    right: list[int],
    later: set[int],
    shown: list[int],
) -> tuple[Tensor, list[int]]:
    """Two operands as one: what nobody needs later is summed, by a batched matrix product.

    Dimensions are in the order of the result where that can be, for programs call ``view`` on it.
    """
    a, left = _summed(a, left, later | set(right))
    b, right = _summed(b, right, later | set(left))
    # A size of 1 on one side stands for any: such a dimension is dropped there.
    a, left = _without_ones(a, left, b, right)
    b, right = _without_ones(b, right, a, left)
    order = _in_order({*left, *right}, shown)
    both = [n for n in order if n in left and n in right]
    batch = [n for n in both if n in later]
    inner = [n for n in both if n not in later]
    rows = [n for n in order if n not in right]
    columns = [n for n in order if n not in left]
    if rows and columns and order.index(columns[0]) < order.index(rows[0]):
        a, left, rows, b, right, columns = b, right, columns, a, left, rows
    size = dict(zip(left, a._s, strict=True)) | dict(zip(right, b._s, strict=True))
    if not inner:
        return _spread_out(a, left, order, size) * _spread_out(b, right, order, size), order

    def merged(group: list[int]) -> int:
        return math.prod(size[n] for n in group)

    x = a.permute([left.index(n) for n in (*batch, *rows, *inner)])
    y = b.permute([right.index(n) for n in (*batch, *inner, *columns)])
    x = x.reshape(merged(batch), merged(rows), merged(inner))
    y = y.reshape(merged(batch), merged(inner), merged(columns))
    r = matmul(x, y)
    return r.reshape([size[n] for n in (*batch, *rows, *columns)]), [*batch, *rows, *columns]


def _in_order(labels: Iterable[int], shown: list[int]) -> list[int]:
    """Labels in the order of the result, behind them those that are summed."""
    place = {n: d for d, n in enumerate(shown)}
    return sorted(labels, key=lambda n: place.get(n, len(shown) + n))


def _ordered(x: Tensor, labels: list[int], shown: list[int]) -> tuple[Tensor, list[int]]:
    order = _in_order(labels, shown)
    return x.permute([labels.index(n) for n in order]), order


def _spread_out(x: Tensor, labels: list[int], order: list[int], size: dict[int, int]) -> Tensor:
    """A view with a dimension for each label of *order*: of size 1 where *x* has none."""
    x = x.permute([labels.index(n) for n in order if n in labels])
    return x.reshape([size[n] if n in labels else 1 for n in order])


def _summed(x: Tensor, labels: list[int], needed: set[int]) -> tuple[Tensor, list[int]]:
    dims = [d for d, n in enumerate(labels) if n not in needed]
    if not dims:
        return x, labels
    return x.sum(dims), [n for n in labels if n in needed]


def _without_ones(
    a: Tensor, left: list[int], b: Tensor, right: list[int]
) -> tuple[Tensor, list[int]]:
    dims = [
        d for d, n in enumerate(left) if a._s[d] == 1 and n in right and b._s[right.index(n)] != 1
    ]
    if not dims:
        return a, left
    return a.squeeze(dims), [n for d, n in enumerate(left) if d not in dims]
