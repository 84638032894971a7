"""Shapes of tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorbus._base.errors import OutOfMemoryError, broadcast_error


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of the sizes of its dimensions.

    >>> import tensorbus
    >>> tensorbus.zeros(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        size = tuple.__new__(cls, sizes)
        for n in size:
            if type(n) is not int:
                return tuple.__new__(cls, [_extent(i, n) for i, n in enumerate(size)])
        return size

    def numel(self) -> int:
        """The number of elements: the product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if type(index) is slice else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


def _extent(item: int, value: Any) -> int:
    """The integer that a value stands for."""
    try:
        return operator.index(value)
    except (TypeError, RuntimeError):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {item} is '{type(value).__name__}')"
        ) from None


MAX_RANK = 64
"""How many dimensions a tensor may have, on every device."""

_LIMIT = 10_000
_MOST = (1 << 63) - 1


def check_rank(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape; RuntimeError where it has more dimensions than a tensor may have."""
    if len(shape) > MAX_RANK:
        raise RuntimeError(
            f"only tensors with up to {MAX_RANK} dims are supported, but the shape has {len(shape)}"
        )
    return shape


def check_numel(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape; RuntimeError where it has more elements than 64 bits count."""
    if shape and max(shape) > _MOST:
        raise TypeError(f"sizes must be ints of 64 bits, but the shape has {max(shape)}")
    if math.prod(shape) > _MOST:
        raise RuntimeError(f"numel: integer multiplication overflow in the shape {list(shape)}")
    return shape


_STORED = 2**60
"""More elements than any memory holds, whose bytes 64 bits do not count."""


def check_storage(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape; OutOfMemoryError where no memory holds a tensor of it."""
    if math.prod(shape) >= _STORED:
        raise OutOfMemoryError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return shape


def broadcast_shapes(*shapes: tuple[int, ...]) -> Size:
    """The shape that operands of an op broadcast to; RuntimeError where there is none."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        if shape == result:
            continue
        rank = max(len(result), len(shape))
        a = (1,) * (rank - len(result)) + tuple(result)
        b = (1,) * (rank - len(shape)) + tuple(shape)
        for dim in reversed(range(rank)):
            if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
                raise broadcast_error(a[dim], b[dim], dim)
        result = tuple(n if m == 1 else m for n, m in zip(a, b, strict=True))
    return Size(result)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements with these strides lie without gaps, in row-major order."""
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if stride != expected:
                return 0 in shape
            expected *= n
    return True


class _Sizes(dict[tuple[int, ...], Size]):
    """The Sizes in use; looking one up makes it."""

    def __missing__(self, shape: tuple[int, ...]) -> Size:
        if len(self) >= _LIMIT:
            self.clear()
        size = Size(check_numel(check_rank(shape)))
        return self.setdefault(size, size)


SIZES = _Sizes()
size_of: Callable[[tuple[int, ...]], Size] = SIZES.__getitem__
"""The one Size for a shape: equal shapes give the same object while they are in use."""

SCALAR = size_of(())
