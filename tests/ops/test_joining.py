"""Joining, cutting, repeating and turning tensors, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.autograd import gradcheck, gradgradcheck


def numbers(lib: Any, *shape: int) -> Any:
    return lib.arange(int(np.prod(shape))).reshape(*shape)


CASES = {
    "cat promotes": lambda t: t.cat((numbers(t, 2, 3), numbers(t, 1, 3).to(t.float64)), 0),
    "cat last": lambda t: t.cat([numbers(t, 2, 3), numbers(t, 2, 2)], -1),
    "cat of views": lambda t: t.cat([numbers(t, 3, 2).t(), numbers(t, 2, 2)[:, 1:]], 1),
    "cat leaves out empty vectors": lambda t: t.cat([t.tensor([]), numbers(t, 2, 2)]),
    "cat of empty vectors": lambda t: t.cat([t.tensor([]), t.tensor([])]),
    "cat of one": lambda t: t.cat([numbers(t, 2, 2)]),
    "concat": lambda t: t.concat([numbers(t, 2), numbers(t, 1)]),
    "concatenate": lambda t: t.concatenate([numbers(t, 2), numbers(t, 1)]),
    "cat other extents": lambda t: t.cat([numbers(t, 2, 3), numbers(t, 2, 4)]),
    "cat other ranks": lambda t: t.cat([numbers(t, 2, 3), numbers(t, 4)]),
    "cat of nothing": lambda t: t.cat([]),
    "cat of 0-dim": lambda t: t.cat([t.tensor(1), t.tensor(2)]),
    "cat wrong dim": lambda t: t.cat([numbers(t, 2, 3)], 5),
    "cat of a tensor": lambda t: t.cat(numbers(t, 2, 3)),
    "cat of a number": lambda t: t.cat([numbers(t, 2), 3]),
    "stack": lambda t: t.stack([numbers(t, 2, 3), numbers(t, 2, 3)], 1),
    "stack last": lambda t: t.stack([numbers(t, 2, 3), numbers(t, 2, 3)], -1),
    "stack 0-dim": lambda t: t.stack([t.tensor(1), t.tensor(2.0)]),
    "stack other shapes": lambda t: t.stack([numbers(t, 2), numbers(t, 3)]),
    "hstack": lambda t: t.hstack((numbers(t, 2, 3), numbers(t, 2, 1))),
    "hstack vectors": lambda t: t.hstack((numbers(t, 3), t.tensor(5))),
    "vstack": lambda t: t.vstack((numbers(t, 3), numbers(t, 2, 3))),
    "dstack": lambda t: t.dstack((numbers(t, 3), numbers(t, 3))),
    "dstack matrices": lambda t: t.dstack((numbers(t, 2, 3), numbers(t, 2, 3))),
    "column_stack": lambda t: t.column_stack((numbers(t, 3), numbers(t, 3, 2))),
    "split": lambda t: t.split(numbers(t, 5, 2), 2),
    "split sizes": lambda t: numbers(t, 5, 2).split([1, 4]),
    "split dim": lambda t: numbers(t, 2, 5).split(2, dim=1),
    "split empty": lambda t: t.zeros(0, 3).split(2),
    "split wrong sizes": lambda t: numbers(t, 5).split([1, 2]),
    "split negative sizes": lambda t: numbers(t, 5).split([-1, 6]),
    "split zero": lambda t: numbers(t, 5).split(0),
    "split negative": lambda t: numbers(t, 5).split(-1),
    "split 0-dim": lambda t: t.tensor(1).split(1),
    "chunk": lambda t: numbers(t, 7).chunk(3),
    "chunk dim": lambda t: numbers(t, 2, 7).chunk(4, 1),
    "chunk empty": lambda t: t.zeros(0).chunk(3),
    "chunk zero": lambda t: numbers(t, 7).chunk(0),
    "tensor_split": lambda t: t.tensor_split(numbers(t, 7), 3),
    "tensor_split places": lambda t: numbers(t, 7).tensor_split((1, 5, 9)),
    "tensor_split crossed": lambda t: numbers(t, 2, 7).tensor_split([5, 2], dim=1),
    "hsplit": lambda t: t.hsplit(numbers(t, 4, 4), 2),
    "vsplit": lambda t: t.vsplit(numbers(t, 4, 4), [1]),
    "unbind": lambda t: t.unbind(numbers(t, 3, 2)),
    "unbind dim": lambda t: numbers(t, 3, 2).unbind(1),
    "unbind 0-dim": lambda t: t.tensor(1).unbind(),
    "repeat": lambda t: numbers(t, 2, 3).repeat(2, 1, 2),
    "repeat zero": lambda t: numbers(t, 2, 3).repeat(0, 1),
    "repeat too few": lambda t: numbers(t, 2, 3).repeat(2),
    "tile": lambda t: numbers(t, 2, 3).tile(2),
    "tile more": lambda t: t.tile(numbers(t, 2, 3), (2, 2, 1)),
    "repeat_interleave": lambda t: t.repeat_interleave(numbers(t, 2, 2), 2),
    "repeat_interleave dim": lambda t: t.repeat_interleave(numbers(t, 2, 2), 3, dim=0),
    "repeat_interleave counts": lambda t: numbers(t, 3, 2).repeat_interleave(
        t.tensor([2, 0, 1]), dim=0
    ),
    "repeat_interleave places": lambda t: t.repeat_interleave(t.tensor([0, 2, 0, 1])),
    "repeat_interleave unfit": lambda t: numbers(t, 3).repeat_interleave(t.tensor([1, 2])),
    "repeat_interleave negative": lambda t: numbers(t, 2).repeat_interleave(t.tensor([1, -2])),
    "flip": lambda t: t.flip(numbers(t, 2, 3, 2), (0, 2)),
    "flip last": lambda t: numbers(t, 2, 3).flip(-1),
    "flip twice": lambda t: numbers(t, 2, 3).flip(0, 0),
    "fliplr": lambda t: t.fliplr(numbers(t, 2, 3)),
    "flipud": lambda t: numbers(t, 2, 3).flipud(),
    "roll": lambda t: t.roll(numbers(t, 2, 3), 1),
    "roll dims": lambda t: numbers(t, 3, 4).roll((1, -5), (0, 1)),
    "roll no dims": lambda t: t.roll(numbers(t, 2, 3), 1, None),
    "roll unfit": lambda t: numbers(t, 3, 4).roll((1, 2), 0),
    "rot90": lambda t: t.rot90(numbers(t, 2, 3)),
    "rot90 twice": lambda t: t.rot90(numbers(t, 2, 3), 2, (1, 0)),
    "rot90 back": lambda t: numbers(t, 2, 3, 2).rot90(-1, [0, 2]),
}


@pytest.mark.parametrize("case", CASES)
def test_as_torch(case: str, agree: Any) -> None:
    agree(CASES[case], strides=True)


def test_pieces_are_views() -> None:
    x = tensorbus.zeros(4, 2)
    pieces = [*x.split(3), *x.chunk(2, 1), *x.unbind(), *x.tensor_split(2), *x.split([1, 3])]
    assert all(piece._base is x for piece in pieces)
    pieces[0].fill_(1)
    assert x.tolist() == [[1.0, 1.0]] * 3 + [[0.0, 0.0]]
    assert isinstance(x.split(2), tuple) and isinstance(x.unbind(), tuple)


def test_copies_share_nothing() -> None:
    x = tensorbus.zeros(2, 2)
    for y in (tensorbus.cat([x]), x.flip(0), x.roll(2, 0), x.repeat(1, 1), x.rot90(0)):
        y.fill_(3)
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


DIFFERENTIABLE = {
    "cat": lambda x: tensorbus.cat([x * x, x[:1], x]) ** 2,
    "cat last": lambda x: tensorbus.cat([x * x, x[:, :1]], 1) ** 2,
    "stack": lambda x: tensorbus.stack([x * x, x], 1) ** 2,
    "hstack": lambda x: tensorbus.hstack([x * x, x]) ** 2,
    "split": lambda x: [p * p * p for p in x.split(1, 1)],
    "unbind": lambda x: [p * p * p for p in x.unbind(1)],
    "repeat": lambda x: x.repeat(2, 1, 2) ** 3,
    "repeat_interleave": lambda x: x.repeat_interleave(tensorbus.tensor([2, 1]), 0) ** 3,
    "flip": lambda x: x.flip(0, 1) ** 3 * x,
    "roll": lambda x: x.roll(1, 1) ** 3 * x,
    "rot90": lambda x: x.rot90() ** 3,
}


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients(case: str) -> None:
    x = tensorbus.tensor([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3]], dtype=tensorbus.float64)
    x.requires_grad_()
    assert gradcheck(DIFFERENTIABLE[case], (x,)) and gradgradcheck(DIFFERENTIABLE[case], (x,))


def test_cat_gives_each_input_its_own_dtype_of_gradient() -> None:
    a = tensorbus.ones(2, requires_grad=True)
    b = tensorbus.ones(1, dtype=tensorbus.float64, requires_grad=True)
    c = tensorbus.ones(2)
    joined = tensorbus.cat([a, b, c])
    assert joined.dtype == tensorbus.float64
    (joined * tensorbus.arange(5)).sum().backward()
    assert a.grad.tolist() == [0.0, 1.0] and a.grad.dtype == tensorbus.float32
    assert b.grad.tolist() == [2.0] and b.grad.dtype == tensorbus.float64 and c.grad is None
