"""Picking, placing and replacing by index, mask and condition, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.autograd import gradcheck, gradgradcheck


def numbers(lib: Any, *shape: int) -> Any:
    return lib.arange(int(np.prod(shape))).reshape(*shape)


def floats(lib: Any, *shape: int) -> Any:
    return (numbers(lib, *shape) * 7 % 11 - 5).to(lib.float64)


CASES = {
    "where number": lambda t: t.where(numbers(t, 2, 3) % 2 == 0, numbers(t, 3), 1.5),
    "where numbers": lambda t: t.where(t.tensor([True, False]), 1, 2),
    "where float numbers": lambda t: t.where(t.tensor([True, False]), 1.0, 2),
    "where promotes": lambda t: t.where(numbers(t, 2) > 0, numbers(t, 2).float(), numbers(t, 2)),
    "where 0-dim": lambda t: t.where(t.tensor(True), t.tensor(1, dtype=t.int8), t.tensor([1.0])),
    "where method": lambda t: numbers(t, 3).where(numbers(t, 3) > 1, -1),
    "where equal": lambda t: t.where(floats(t, 2, 3) > 0, floats(t, 2, 3), -floats(t, 2, 3)),
    "where alone": lambda t: t.where(numbers(t, 3)),
    "where no bool": lambda t: t.where(numbers(t, 2), numbers(t, 2), numbers(t, 2)),
    "where unfit": lambda t: t.where(numbers(t, 2) > 0, numbers(t, 3), numbers(t, 3)),
    "nonzero": lambda t: t.nonzero(numbers(t, 2, 3) % 2),
    "nonzero tuple": lambda t: t.nonzero(numbers(t, 2, 3, 2) % 2, as_tuple=True),
    "nonzero vector": lambda t: numbers(t, 5).nonzero(),
    "nonzero 0-dim": lambda t: t.tensor(3).nonzero(),
    "nonzero 0-dim tuple": lambda t: t.tensor(3).nonzero(as_tuple=True),
    "nonzero of zero": lambda t: t.tensor(0).nonzero(),
    "nonzero of nothing": lambda t: t.zeros(0, 3).nonzero(),
    "nonzero NaN": lambda t: t.tensor([0.0, -0.0, float("nan")]).nonzero(),
    "argwhere": lambda t: t.argwhere(numbers(t, 2, 2)),
    "masked_fill": lambda t: numbers(t, 2, 3).masked_fill(t.tensor([True, False, True]), 9),
    "masked_fill 0-dim": lambda t: numbers(t, 2, 3).masked_fill(numbers(t, 2, 3) > 2, t.tensor(7)),
    "masked_fill_": lambda t: floats(t, 2, 3).masked_fill_(numbers(t, 2, 3) > 2, float("-inf")),
    "masked_fill_ grows": lambda t: numbers(t, 3).masked_fill_(numbers(t, 2, 3) > 2, 1),
    "masked_fill vector": lambda t: numbers(t, 3).masked_fill(numbers(t, 3) > 2, numbers(t, 3)),
    "masked_select": lambda t: numbers(t, 2, 3).masked_select(t.tensor([True, False, True])),
    "masked_scatter": lambda t: numbers(t, 2, 3).masked_scatter(
        numbers(t, 2, 3) % 2 == 0, t.tensor([10, 11, 12, 13])
    ),
    "gather": lambda t: t.gather(numbers(t, 3, 4), 1, t.tensor([[0, 3], [1, 1]])),
    "gather first": lambda t: numbers(t, 3, 4).gather(0, t.tensor([[2, 0, 1]])),
    "gather 0-dim": lambda t: t.tensor(3).gather(0, t.tensor(0)),
    "gather too large": lambda t: numbers(t, 3, 4).gather(0, t.zeros(1, 5).long()),
    "gather other rank": lambda t: numbers(t, 3, 4).gather(0, t.tensor([1])),
    "gather by floats": lambda t: numbers(t, 3).gather(0, t.tensor([1.0])),
    "take_along_dim": lambda t: t.take_along_dim(numbers(t, 3, 4), t.tensor([[0], [1], [2]]), 1),
    "take_along_dim flat": lambda t: t.take_along_dim(numbers(t, 3, 4), t.tensor([[5, 1]])),
    "take": lambda t: numbers(t, 3, 4).take(t.tensor([[0, -1], [5, 5]])),
    "index_select": lambda t: t.index_select(numbers(t, 3, 4), 1, t.tensor([3, 0, 0])),
    "index_select int32": lambda t: numbers(t, 3).index_select(0, t.tensor([1], dtype=t.int32)),
    "index_select 0-dim": lambda t: t.tensor(4).index_select(0, t.tensor([0])),
    "index_select matrix": lambda t: numbers(t, 3).index_select(0, t.tensor([[1]])),
    "index_add": lambda t: t.index_add(
        floats(t, 3, 2), 0, t.tensor([0, 0, 2]), floats(t, 3, 2), alpha=2
    ),
    "index_add_": lambda t: floats(t, 3, 2).index_add_(1, t.tensor([1]), floats(t, 3, 1)),
    "index_copy": lambda t: floats(t, 3, 2).index_copy(0, t.tensor([2, 0]), floats(t, 2, 2) + 9),
    "index_fill": lambda t: numbers(t, 3, 2).index_fill(1, t.tensor([1]), -7),
    "index_fill_ 0-dim": lambda t: numbers(t, 3, 2).index_fill_(0, t.tensor([1]), t.tensor(-7)),
    "index_put_ accumulates": lambda t: floats(t, 3, 2).index_put_(
        (t.tensor([0, 0]), t.tensor([1, 1])), floats(t, 2), accumulate=True
    ),
    "index_put": lambda t: floats(t, 3, 2).index_put((t.tensor([0, 2]),), floats(t, 2)),
    "index_put mask": lambda t: floats(t, 3, 2).index_put((floats(t, 3, 2) > 0,), floats(t, 1)),
    "put_": lambda t: numbers(t, 2, 3).put_(t.tensor([0, -1]), t.tensor([50, 60])),
    "put_ accumulates": lambda t: (
        numbers(t, 2, 3).t().put_(t.tensor([1, 1]), t.tensor([50, 60]), True)
    ),
    "scatter": lambda t: t.scatter(floats(t, 3, 4), 1, t.tensor([[1], [0]]), floats(t, 2, 2)),
    "scatter_ number": lambda t: floats(t, 3, 4).scatter_(0, t.tensor([[1, 2]]), 9.0),
    "scatter value": lambda t: floats(t, 3, 4).scatter(0, t.tensor([[1, 2]]), value=9.0),
    "scatter adds": lambda t: floats(t, 3, 4).scatter(0, t.tensor([[1, 2]]), 9.0, reduce="add"),
    "scatter multiplies": lambda t: floats(t, 3, 4).scatter(
        0, t.tensor([[1, 2]]), floats(t, 1, 2), reduce="multiply"
    ),
    "scatter nothing": lambda t: floats(t, 3).scatter(0, t.zeros(0).long(), 1.0),
    "scatter 0-dim": lambda t: t.tensor(1.0).scatter(0, t.tensor(0), 5.0),
    "scatter other dtype": lambda t: floats(t, 3).scatter(0, t.tensor([1]), t.tensor([1.0])),
    "scatter unknown": lambda t: floats(t, 3).scatter(0, t.tensor([1]), 1.0, reduce="x"),
    "scatter other rank": lambda t: floats(t, 3).scatter(0, t.tensor([[1]]), 1.0),
    "scatter by floats": lambda t: floats(t, 3).scatter(0, t.tensor([1.0]), 1.0),
    "scatter_add": lambda t: t.scatter_add(
        floats(t, 3, 4), 0, numbers(t, 2, 4) % 3, floats(t, 2, 4)
    ),
    "scatter_add_": lambda t: floats(t, 3, 4).scatter_add_(
        1, numbers(t, 2, 4) % 2, floats(t, 3, 5)
    ),
    "scatter_add unfit": lambda t: t.scatter_add(
        floats(t, 3, 4), 0, numbers(t, 5, 5) % 3, floats(t, 2, 4)
    ),
    "scatter_reduce unknown": lambda t: floats(t, 3).scatter_reduce(
        0, t.tensor([1]), floats(t, 3), "foo"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_as_torch(case: str, agree: Any) -> None:
    agree(CASES[case])


BEYOND = {
    "gather": lambda t: t.zeros(3, 4).gather(0, t.tensor([[3]])),
    "gather negative": lambda t: t.zeros(3, 4).gather(0, t.tensor([[-1]])),
    "take": lambda t: t.zeros(3, 4).take(t.tensor([12])),
    "index_select": lambda t: t.zeros(3, 4).index_select(0, t.tensor([3])),
    "index_select negative": lambda t: t.zeros(3, 4).index_select(0, t.tensor([-1])),
    "index_add": lambda t: t.zeros(3, 4).index_add_(0, t.tensor([5]), t.ones(1, 4)),
    "index_copy": lambda t: t.zeros(3, 4).index_copy_(0, t.tensor([-5]), t.ones(1, 4)),
    "scatter": lambda t: t.zeros(3, 4).scatter(0, t.tensor([[-1]]), 1.0),
}


@pytest.mark.parametrize("case", BEYOND)
def test_out_of_bounds_is_found_at_the_latest_when_read(case: str, device: str) -> None:
    class Here:
        def __getattr__(self, name: str) -> Any:
            return lambda *args: getattr(tensorbus, name)(*args, device=device)

    with pytest.raises((IndexError, RuntimeError), match=r"index -?\d+ is out of bounds|range"):
        BEYOND[case](Here()).cpu()


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce(reduce: str, dtype: str, include: bool, agree: Any) -> None:
    def program(lib: Any) -> Any:
        d = getattr(lib, dtype)
        x, src = floats(lib, 3, 4).to(d) + 1, floats(lib, 4, 4).to(d)
        return x.scatter_reduce(0, numbers(lib, 4, 4) % 2, src, reduce, include_self=include)

    agree(program)


def test_out_of_place_forms_leave_their_input() -> None:
    x = tensorbus.zeros(3)
    i = tensorbus.tensor([0, 2])
    one = tensorbus.ones(2)
    for y in (
        x.scatter(0, i, one), x.index_add(0, i, one), x.index_copy(0, i, one), x.put(i, one),
        x.index_put((i,), one), x.index_fill(0, i, 1.0), x.scatter_add(0, i, one),
    ):  # fmt: skip
        assert y.tolist() == [1.0, 0.0, 1.0]
    assert x.tolist() == [0.0] * 3 and x._version == 0


def test_refused_writes_change_nothing() -> None:
    x = tensorbus.zeros(3)
    one = tensorbus.ones(2)
    beyond = tensorbus.tensor([0, 3])
    for write in (
        lambda: x.scatter_(0, beyond, one),
        lambda: x.index_add_(0, beyond, one),
        lambda: x.index_copy_(0, beyond, one),
        lambda: x.index_fill_(0, beyond, 1.0),
        lambda: x.put_(beyond, one),
        lambda: x.index_put_((beyond,), one),
        lambda: x.scatter_add_(0, beyond, one),
        lambda: x.masked_fill_(tensorbus.tensor([True]), tensorbus.ones(3)),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            write()
    assert x.tolist() == [0.0] * 3 and x._version == 0


I = tensorbus.tensor([[0, 1, 1], [1, 0, 1]])  # noqa: E741
V = tensorbus.tensor([1, 0, 1])
M = tensorbus.tensor([[True, False, True], [False, True, True]])
DIFFERENTIABLE = {
    "where": lambda x, y: tensorbus.where(M, x * y, y) ** 2,
    "where broadcasts": lambda x, y: tensorbus.where(M, x[0], y[:, :1]) ** 3,
    "masked_fill": lambda x, y: (x * y).masked_fill(M, 2.0) ** 2,
    "masked_fill_": lambda x, y: (x * y).masked_fill_(M, y[0, 0] * x[0, 1]) ** 2,
    "masked_select": lambda x, y: (x * y).masked_select(M) ** 2,
    "masked_scatter": lambda x, y: (x * x).masked_scatter(M, y * y) ** 2,
    "gather": lambda x, y: x.gather(0, I) ** 2 * y,
    "gather smaller": lambda x, y: x.gather(1, I[:, :2]) ** 3,
    "take": lambda x, y: x.take(I) ** 2 * y,
    "index_select": lambda x, y: x.index_select(0, V) ** 3,
    "index_add": lambda x, y: (x * x).index_add(1, V, y * y, alpha=2) ** 2,
    "index_copy": lambda x, y: (x * x).index_copy(0, V[:2], y * y) ** 2,
    "index_fill": lambda x, y: (x * x).index_fill(0, V[:1], y[0, 0]) ** 2,
    "index_put": lambda x, y: (x * x).index_put((V, V), y[0], accumulate=True) ** 2,
    "put": lambda x, y: (x * x).put(V[:2], y[0, :2]) ** 2,
    "scatter": lambda x, y: (x * x).scatter(0, I[:1, :2], y * y) ** 2,
    "scatter_": lambda x, y: (x * x).scatter_(1, I[:, :1], y * y) ** 2,
    "scatter_add": lambda x, y: (x * x).scatter_add(0, I, y * y) ** 2,
    "scatter_add narrower": lambda x, y: (x * x).scatter_add(0, I[:1, :2], y * y) ** 2,
    "sum": lambda x, y: x.scatter_reduce(0, I, y, "sum", include_self=False) ** 2,
    "prod": lambda x, y: x.scatter_reduce(0, I, y, "prod") ** 2,
    "mean": lambda x, y: x.scatter_reduce(0, I, y, "mean") ** 2,
    "amax": lambda x, y: x.scatter_reduce(0, I, y, "amax") ** 2,
    "amin": lambda x, y: x.scatter_reduce(1, I, y, "amin", include_self=False) ** 2,
}


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients(case: str) -> None:
    double = {"dtype": tensorbus.float64, "requires_grad": True}
    x = tensorbus.tensor([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3]], **double)
    y = tensorbus.tensor([[0.9, 1.1, -2.5], [-0.4, 0.6, 1.3]], **double)
    f = DIFFERENTIABLE[case]
    assert gradcheck(f, (x, y)) and gradgradcheck(f, (x, y))


@pytest.mark.parametrize("reduce", ["prod", "amax", "amin"])
def test_scatter_reduce_gradient_with_zeros_and_ties(reduce: str, agree: Any) -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([2.0, 0.0, 3.0, 1.0]).requires_grad_()
        y = lib.tensor([0.0, 2.0, 0.0, 0.0, 1.0]).requires_grad_()
        i = lib.tensor([0, 0, 2, 2, 3])
        x.scatter_reduce(0, i, y, reduce).sum().backward()
        return x.grad, y.grad

    agree(program)
