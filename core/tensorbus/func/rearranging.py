"""``rearrange``: dimensions in another order, split and merged, by a pattern with their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.ops.joining.joining import stack

_DOTS = "..."
_ANY = [_DOTS]
"""Any number of dimensions: this object where they stand alone, an equal one in parentheses."""

Side = list[list[str]]
"""The dimensions of one side of a pattern, each with the names of its parts; none for a 1."""


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """*tensor* with its dimensions as *pattern* says, in the words of einops.

    Names on both sides of ``->`` are dimensions, those in parentheses parts of one, ``...`` is any
    number of them and ``1`` or ``()`` one of size 1. *axes_lengths* says sizes of parts, of which
    one of each dimension needs none. A sequence of tensors is stacked along a first dimension.

    ValueError for a pattern that is none, or that does not fit the tensor.

    >>> import tensorbus as torch
    >>> images = torch.ones(2, 4, 6, 3)
    >>> torch.func.rearrange(images, "b (h1 h) w c -> (b h1) c h w", h1=2).shape
    torch.Size([4, 3, 2, 6])

    Source: https://pytorch.org/docs/stable/generated/torch.func.rearrange.html
    """
    x = tensor if isinstance(tensor, Tensor) else stack(tensor)
    if not isinstance(pattern, str):
        raise type_error("rearrange", "pattern", 2, "str", pattern)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_side, sides)
    _check(left, right, pattern, axes_lengths)
    left, right = _spread(left, right, x.dim())
    sizes = _sizes(left, tuple(x.shape), axes_lengths)
    names = [name for parts in left for name in parts]
    parts = x.reshape([sizes[name] for name in names])
    wanted = [name for group in right for name in group]
    turned = parts.permute([names.index(name) for name in wanted])
    shape = []
    for group in right:
        size = 1
        for name in group:
            size *= sizes[name]
        shape.append(size)
    return turned.reshape(shape)


def _side(text: str) -> Side:
    """The dimensions that one side of a pattern names."""
    if "." in text and "..." not in text:
        raise ValueError("Expression may contain dots only inside ellipsis (...)")
    if "." in text and text.count(".") != 3:
        raise ValueError(
            "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
        )
    if unknown := re.search(r"[^\w\s().]", text):
        raise ValueError(f"Unknown character '{unknown[0]}'")
    found: Side = []
    group: list[str] | None = None
    seen: set[str] = set()
    for word in re.findall(r"\.\.\.|[()]|\w+", text):
        if word == "(":
            if group is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            group = []
        elif word == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            found.append(group)
            group = None
        elif word == "1":
            if group is None:
                found.append([])
        else:
            _check_name(word, seen)
            seen.add(word)
            if group is None:
                found.append(_ANY if word == _DOTS else [word])
            else:
                group.append(word)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return found


def _check_name(word: str, seen: set[str]) -> None:
    if word in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
    if word == _DOTS:
        return
    if word.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if not word.isidentifier():
        raise ValueError(f"Invalid axis identifier: {word}\nnot a valid python identifier")
    if word[0] == "_" or word[-1] == "_":
        raise ValueError(
            f"Invalid axis identifier: {word}\n"
            "axis name should should not start or end with underscore"
        )


def _check(left: Side, right: Side, pattern: str, lengths: dict[str, Any]) -> None:
    """ValueError where the sides do not have the same names, or another is given a size."""
    names, others = ({name for group in side for name in group} for side in (left, right))
    if _DOTS in others and _DOTS not in names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(_DOTS in group and group is not _ANY for group in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for length in lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if names ^ others:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{names ^ others}"
        )
    if unknown := lengths.keys() - names:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def _spread(left: Side, right: Side, rank: int) -> tuple[Side, Side]:
    """The sides with names in the place of an ellipsis, and of each dimension of size 1."""
    least = sum(group is not _ANY for group in left)
    if _ANY in left and least > rank:
        raise ValueError(
            f"Number of dimensions in pattern ({least}) must be less than or equal to the number "
            f"of dimensions in the tensor ({rank})"
        )
    if _ANY not in left and least != rank:
        raise ValueError(
            f"Number of dimensions in pattern ({least}) must be equal to the number of dimensions "
            f"in the tensor ({rank})"
        )
    more = [f"...{i}" for i in range(rank - least)]
    spread = [[[name] for name in more] if group is _ANY else [group] for group in left]
    merged: Side = []
    for group in right:
        if group is _ANY:
            merged += [[name] for name in more]
        else:
            merged.append([n for name in group for n in (more if name == _DOTS else [name])])
    return [group for groups in spread for group in groups], merged


def _sizes(side: Side, shape: Sequence[int], lengths: dict[str, int]) -> dict[str, int]:
    """The size of each part; ValueError where a dimension is not made of its parts."""
    found: dict[str, int] = {}
    for group, size in zip(side, shape, strict=True):
        known = 1
        for name in group:
            known *= lengths.get(name, 1)
        open_ones = [name for name in group if name not in lengths]
        if len(open_ones) > 1:
            raise ValueError(f"cannot infer the sizes of two dimensions at once {open_ones}")
        if size % known if open_ones and known else size != known:
            raise ValueError(
                f"a dimension of size {size} cannot be split into ({' '.join(group)}) with the "
                f"sizes { ({n: lengths[n] for n in group if n in lengths}) }"
            )
        for name in group:
            found[name] = lengths[name] if name in lengths else size // known if known else 0
    return found
