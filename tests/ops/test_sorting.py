"""Sorting, extremes with their indices, medians and counts, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.autograd import gradcheck, gradgradcheck

NAN = float("nan")


def numbers(lib: Any, *shape: int) -> Any:
    return lib.arange(int(np.prod(shape))).reshape(*shape)


def floats(lib: Any, *shape: int) -> Any:
    return (numbers(lib, *shape) * 7 % 11 - 5).to(lib.float64)


INPUTS = {
    "floats": lambda t: floats(t, 5, 4),
    "ints with ties": lambda t: numbers(t, 5, 4) * 7 % 5,
    "NaN": lambda t: t.tensor([[1.0, NAN, 3], [NAN, NAN, 2], [0, 1, NAN], [5, 5, 1]]),
    "transposed": lambda t: floats(t, 4, 5).t(),
    "bools": lambda t: numbers(t, 5, 4) % 3 == 0,
}
# Which of equal elements a median names is not promised, and NaN is equal to nothing in ours' mode.
NAMES = {
    "sort": INPUTS, "max": INPUTS, "min": INPUTS, "cummax": INPUTS, "cummin": INPUTS,
    "mode": [n for n in INPUTS if n != "NaN"],
    "median": ["floats", "NaN", "transposed"], "nanmedian": ["floats", "NaN", "transposed"],
}  # fmt: skip


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, inputs in NAMES.items() for given in inputs]
)
def test_along_a_dimension(name: str, given: str, dim: int, agree: Any) -> None:
    more = {"stable": True} if name == "sort" else {}
    agree(lambda t: getattr(t, name)(INPUTS[given](t), dim=dim, **more))
    if name not in ("sort", "cummax", "cummin"):
        agree(lambda t: getattr(INPUTS[given](t), name)(dim, keepdim=True))


CASES = {
    "sort down": lambda t: t.sort(t.tensor([3.0, NAN, 1, 3, 2]), descending=True, stable=True),
    "sort 0-dim": lambda t: t.tensor(3.0).sort(),
    "sort nothing": lambda t: t.zeros(0, 2).sort(0),
    "argsort": lambda t: t.argsort(t.tensor([3, 1, 2]), descending=True),
    "msort": lambda t: t.msort(floats(t, 3, 4)),
    "topk": lambda t: floats(t, 3, 7).topk(3),
    "topk smallest": lambda t: floats(t, 7, 3).topk(2, 0, largest=False),
    "topk 0-dim": lambda t: t.tensor(3.0).topk(1),
    "topk none": lambda t: floats(t, 3).topk(0),
    "topk too many": lambda t: floats(t, 3).topk(4),
    "kthvalue": lambda t: floats(t, 3, 5).kthvalue(2),
    "kthvalue keepdim": lambda t: floats(t, 3, 5).kthvalue(2, 0, keepdim=True),
    "kthvalue zero": lambda t: floats(t, 3).kthvalue(0),
    "median": lambda t: floats(t, 3, 4).median(),
    "median NaN": lambda t: t.tensor([1, NAN, 2.0]).median(),
    "nanmedian": lambda t: t.tensor([1, NAN, 2.0]).nanmedian(),
    "median of nothing": lambda t: t.zeros(0).median(),
    "median dim of nothing": lambda t: t.zeros(0, 2).median(0),
    "mode 0-dim": lambda t: t.tensor(3.0).mode(),
    "mode of nothing": lambda t: t.zeros(0, 2).mode(0),
    "max": lambda t: floats(t, 3, 2).max(),
    "max NaN": lambda t: t.tensor([1.0, NAN]).max(),
    "max of nothing": lambda t: t.zeros(0).max(),
    "max dim of nothing": lambda t: t.zeros(0, 2).max(0),
    "max of two": lambda t: t.max(t.tensor([1, 5]), t.tensor([3.0, 2])),
    "min of two": lambda t: t.tensor([1, 5]).min(t.tensor([3, 2])),
    "max 0-dim": lambda t: t.tensor(3.0).max(0),
    "max of unfit": lambda t: floats(t, 3).max(t.zeros(2)),
    "max wrong dim": lambda t: floats(t, 3).max(4),
    "cummax 0-dim": lambda t: t.tensor(3.0).cummax(0),
    "aminmax": lambda t: t.aminmax(floats(t, 3, 3)),
    "aminmax dim": lambda t: floats(t, 3, 3).aminmax(dim=1, keepdim=True),
    "aminmax of nothing": lambda t: t.zeros(0).aminmax(),
    "unique": lambda t: t.unique(numbers(t, 3, 4) * 7 % 5, return_inverse=True, return_counts=True),
    "unique plain": lambda t: t.tensor([3, 1, 3]).unique(),
    "unique nothing": lambda t: t.zeros(0).unique(return_inverse=True, return_counts=True),
    "unique 0-dim": lambda t: t.tensor(2.0).unique(return_inverse=True),
    "unique bools": lambda t: t.tensor([True, False, True]).unique(),
    "unique NaN": lambda t: t.tensor([NAN, 1.0, NAN]).unique(return_counts=True),
    "unique rows": lambda t: t.unique(
        t.tensor([[3, 1], [2, 5], [3, 1], [2, 4]]), dim=0, return_inverse=True, return_counts=True
    ),
    "unique columns": lambda t: t.tensor([[3, 3, 1], [2, 2, 1]]).unique(dim=1),
    "unique_consecutive": lambda t: t.unique_consecutive(
        t.tensor([1, 1, 2, 1, 1, 1]), return_inverse=True, return_counts=True
    ),
    "unique_consecutive rows": lambda t: t.tensor(
        [[1, 2], [1, 2], [3, 4], [1, 2]]
    ).unique_consecutive(dim=0, return_inverse=True, return_counts=True),
    "searchsorted": lambda t: t.searchsorted(
        t.tensor([1, 3, 3, 5, 9]), t.tensor([[0, 3, 4], [9, 10, 1]])
    ),
    "searchsorted right": lambda t: t.searchsorted(
        t.tensor([1, 3, 3, 5, 9]), t.tensor([[0, 3, 4], [9, 10, 1]]), right=True
    ),
    "searchsorted rows": lambda t: t.searchsorted(
        t.tensor([[1.0, 2, 3], [4, 5, 6]]), t.tensor([[2.0, NAN], [5, 7]]), side="right"
    ),
    "searchsorted number": lambda t: t.searchsorted(t.tensor([1, 3, 5]), 4),
    "searchsorted sorter": lambda t: t.searchsorted(
        t.tensor([5, 1, 3]), t.tensor([2, 3]), sorter=t.tensor([1, 2, 0]), out_int32=True
    ),
    "searchsorted unfit": lambda t: t.searchsorted(t.zeros(2, 3), t.zeros(3, 3)),
    "searchsorted in nothing": lambda t: t.searchsorted(t.zeros(0), t.tensor([1.0])),
    "bucketize": lambda t: t.bucketize(t.tensor([[3, 6], [9, 10]]), t.tensor([1, 3, 5, 7, 9])),
    "bucketize number": lambda t: t.bucketize(2.0, t.tensor([1.0, 2.0, 3.0]), right=True),
    "bucketize matrix": lambda t: t.bucketize(t.tensor([1]), t.zeros(2, 2)),
    "isin": lambda t: t.isin(t.tensor([[1, 2], [3, 4]]), t.tensor([2, 3])),
    "isin invert": lambda t: t.isin(t.tensor([1, 2, 3]), 2, invert=True),
    "isin number": lambda t: t.isin(1, t.tensor([1, 2])),
    "isin nothing": lambda t: t.isin(t.tensor([1, 2]), t.tensor([])),
    "isin NaN": lambda t: t.isin(t.tensor([1.0, NAN]), t.tensor([NAN, 1])),
    "bincount": lambda t: t.bincount(t.tensor([1, 1, 4])),
    "bincount weights": lambda t: t.tensor([1, 1, 4]).bincount(t.tensor([0.5, 1.0, 2.0])),
    "bincount int weights": lambda t: t.tensor([1, 2]).bincount(t.tensor([1, 2])),
    "bincount minlength": lambda t: t.tensor([1]).bincount(minlength=5),
    "bincount nothing": lambda t: t.tensor([], dtype=t.int64).bincount(minlength=2),
    "bincount negative": lambda t: t.tensor([-1]).bincount(),
    "bincount matrix": lambda t: t.tensor([[1]]).bincount(),
    "histc": lambda t: t.histc(t.tensor([1.0, 2, 1]), 4, 0, 3),
    "histc range": lambda t: floats(t, 30).histc(7),
    "histc one value": lambda t: t.tensor([2.0, 2]).histc(3),
    "histc outside": lambda t: t.tensor([NAN, -5.0, 0.5, 1]).histc(2, 0, 1),
    "histc crossed": lambda t: t.tensor([1.0]).histc(2, 3, 1),
    "count_nonzero": lambda t: t.count_nonzero(floats(t, 3, 4)),
    "count_nonzero dim": lambda t: floats(t, 3, 4).count_nonzero(0),
    "count_nonzero dims": lambda t: floats(t, 3, 4).count_nonzero((0, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_as_torch(case: str, agree: Any) -> None:
    agree(CASES[case])


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(descending: bool, device: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (7, 50))
    ours = tensorbus.tensor(x.tolist(), device=device).sort(1, descending=descending)
    order = np.argsort(-x if descending else x, axis=1, kind="stable")
    np.testing.assert_array_equal(ours.indices.cpu().numpy(), order)
    np.testing.assert_array_equal(ours.values.cpu().numpy(), np.take_along_axis(x, order, 1))


def test_searchsorted_needs_values() -> None:
    with pytest.raises(TypeError, match="searchsorted"):
        tensorbus.searchsorted(tensorbus.zeros(2))


def test_results_have_names() -> None:
    made = tensorbus.tensor([3, 1, 2]).sort()
    assert made._fields == ("values", "indices") and made[0] is made.values
    assert repr(made) == (
        "torch.return_types.sort(\nvalues=tensor([1, 2, 3]),\nindices=tensor([1, 2, 0]))"
    )
    assert tensorbus.tensor([3, 1]).aminmax().min.item() == 1


def test_out_receives_both_results() -> None:
    values, indices = tensorbus.zeros(2), tensorbus.zeros(2, dtype=tensorbus.int64)
    made = tensorbus.max(tensorbus.tensor([[1.0, 5.0], [4.0, 2.0]]), 1, out=(values, indices))
    assert values.tolist() == [5.0, 4.0] and indices.tolist() == [1, 0]
    assert made.values is values and made.indices is indices


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x, v: tensorbus.sort(x, out=v), "argument 'out' must be tuple of Tensors"),
        (lambda x, v: tensorbus.sort(x, out=(v,)), "expected tuple of 2 elements but got 1"),
        (lambda x, v: tensorbus.sort(x, out=(v, 3)), "argument 'out' must be Tensor, not int"),
        (lambda x, v: tensorbus.sum(x, 0, out=(v,)), "argument 'out' must be Tensor, not tuple"),
    ],
)
def test_out_of_another_structure_is_refused_before_anything_is_written(
    make: Any, text: str
) -> None:
    values = tensorbus.full((3,), 7.0)
    with pytest.raises(TypeError, match=text):
        make(tensorbus.tensor([3.0, 1.0, 2.0]), values)
    assert values.tolist() == [7.0, 7.0, 7.0]


DIFFERENTIABLE = {
    "sort": lambda x: x.sort(1).values ** 3 * x,
    "sort down": lambda x: x.sort(0, descending=True)[0] ** 3 * x,
    "topk": lambda x: x.topk(2, 1).values ** 3,
    "kthvalue": lambda x: x.kthvalue(2, 1).values ** 3,
    "median": lambda x: x.median() ** 3 * x,
    "median dim": lambda x: x.median(1).values ** 3,
    "mode": lambda x: x.mode(1).values ** 3,
    "max": lambda x: x.max() ** 3 * x,
    "max dim": lambda x: x.max(0).values ** 3,
    "min keepdim": lambda x: x.min(1, keepdim=True).values ** 3 * x,
    "cummax": lambda x: x.cummax(1).values ** 3 * x,
    "aminmax": lambda x: x.aminmax().max ** 3 - x.aminmax().min ** 3,
}


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients(case: str) -> None:
    x = tensorbus.tensor([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3]], dtype=tensorbus.float64)
    x.requires_grad_()
    assert gradcheck(DIFFERENTIABLE[case], (x,)) and gradgradcheck(DIFFERENTIABLE[case], (x,))


def test_gradient_goes_to_the_first_of_equals_along_a_dimension_and_to_all_without() -> None:
    x = tensorbus.tensor([2.0, 2.0, 1.0], requires_grad=True)
    x.max(0).values.backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0]
    x.grad = None
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_no_integers_is_pytorchs(name: str) -> None:
    found = {
        d.name: getattr(tensorbus, name)(tensorbus.zeros(0, dtype=d)).item()
        for d in (tensorbus.int64, tensorbus.int32, tensorbus.int16, tensorbus.uint8)
    }
    assert found == {"int64": -(2**63), "int32": -(2**31), "int16": 0, "uint8": 0}
