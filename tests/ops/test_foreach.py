"""``torch._foreach_*``: PyTorch's results and errors for lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorbus
from tensorbus.ops.tensor.foreach import NAMES


def lists(torch: Any) -> tuple[list[Any], list[Any]]:
    return (
        [torch.tensor([0.25, 0.5]), torch.tensor([[0.75], [0.125]])],
        [torch.tensor([2.0, -3.0]), torch.tensor([[0.5], [1.5]])],
    )


def arguments(torch: Any, name: str) -> list[tuple[Any, ...]]:
    """What a function is called with after its list, once for each way."""
    op = name.removeprefix("_foreach_").removesuffix("_")
    x, y = lists(torch)
    if op in ("add", "sub"):
        return [(y,), (2.0,), ([2.0, 3.0],)]
    if op in ("mul", "div", "maximum", "minimum", "clamp_max", "clamp_min"):
        return [(y,), (0.3,), ([0.5, 0.3],)]
    if op == "pow":
        return [(y,), (2.0,), ([2.0, 3.0],)]
    if op in ("addcmul", "addcdiv"):
        return [(x, y), (x, y, 0.5), (x, y, [0.5, 2.0]), (x, y, torch.tensor([0.5, 2.0]))]
    if op == "lerp":
        return [(y, 0.25), (y, x)]
    return [(y,)] if op == "copy" else [()]


@pytest.mark.parametrize("name", NAMES)
def test_lists_give_what_pytorch_gives(name: str, like_torch: Callable[..., None]) -> None:
    def program(torch: Any) -> Any:
        results = []
        for given in arguments(torch, name):
            x = lists(torch)[0]
            out = getattr(torch, name)(x, *given)
            results += [*out, *x]
        return results

    like_torch(program, strides=False)


def test_in_place_functions_write_to_the_list_itself() -> None:
    x, y = lists(tensorbus)
    assert tensorbus._foreach_add_(x, y, alpha=2) is x and x[0].tolist() == [4.25, -5.5]
    doubled = tensorbus._foreach_mul(x, 2)
    assert isinstance(doubled, tuple) and doubled[0] is not x[0]
    leaf = tensorbus.tensor([3.0], requires_grad=True)
    tensorbus._foreach_mul([leaf], 5.0)[0].backward()
    assert leaf.grad is not None and leaf.grad.item() == 5.0
    powers = tensorbus._foreach_pow(2.0, [tensorbus.tensor(3.0)])
    assert [p.item() for p in powers] == [8.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t, x: t._foreach_add(x, x[:1]), RuntimeError, "same number of tensors, got 2 and"),
        (lambda t, x: t._foreach_add([], 1), RuntimeError, "must have at least one tensor"),
        (lambda t, x: t._foreach_add(x, [1.0]), RuntimeError, "number of elements as scalar list"),
        (
            lambda t, x: t._foreach_sqrt([1]),
            TypeError,
            "expected Tensor as element 0 in argument 0",
        ),
        (lambda t, x: t._foreach_addcmul(x, x, x[:1]), RuntimeError, "tensors, got 2 and 1"),
    ],
)
def test_errors_are_pytorchs(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(tensorbus, lists(tensorbus)[0])


def test_tensors_are_grouped_by_device_and_dtype() -> None:
    from tensorbus.utils._foreach_utils import _group_tensors_by_device_and_dtype as group

    a, b, c = tensorbus.ones(1), tensorbus.ones(2, dtype=tensorbus.float64), tensorbus.ones(3)
    groups = group([[a, b, c], [None, None, a], []], with_indices=True)
    assert list(groups) == [(a.device, a.dtype), (b.device, b.dtype)]
    lists, places = groups[a.device, a.dtype]
    assert lists[0][0] is a and lists[0][1] is c and lists[1] == [None, a] and places == [0, 2]
    assert groups[b.device, b.dtype] == ([[b], [None], []], [1])
