"""Indices outside raise what PyTorch raises for each function, with one text on every device."""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus
from tensorbus.plugin.faults import IndexFault, Wording

# fmt: off
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda torch, x, i: x.gather(0, i),
    "scatter": lambda torch, x, i: x.scatter(0, i, 1.0),
    "scatter_add": lambda torch, x, i: x.scatter_add(0, i, x[:2]),
    "scatter_reduce": lambda torch, x, i: x.scatter_reduce(0, i, x[:2], "amax"),
    "index_select": lambda torch, x, i: x.index_select(0, i),
    "index_add": lambda torch, x, i: x.index_add(0, i, x[:2]),
    "index_copy": lambda torch, x, i: x.index_copy(0, i, x[:2]),
    "index_fill": lambda torch, x, i: x.index_fill(0, i, 1.0),
    "index_put": lambda torch, x, i: x.index_put((i,), x[:2]),
    "getitem": lambda torch, x, i: x[i],
    "take": lambda torch, x, i: x.take(i),
    "put_": lambda torch, x, i: x.put_(i, x[:2].clone()),
    "embedding": lambda torch, x, i: torch.nn.functional.embedding(i, x.unsqueeze(1)),
}
# fmt: on


def kind(torch: Any, call: Any) -> str:
    try:
        call(torch, torch.arange(3.0), torch.tensor([0, 5]))
    except (IndexError, RuntimeError) as error:
        return type(error).__name__
    return "nothing"


@pytest.mark.parametrize("name", CALLS)
def test_an_index_outside_raises_pytorchs_exception(name, device, oracle):
    expected = oracle(lambda torch: kind(torch, CALLS[name]))
    x = tensorbus.arange(3.0, device=device)
    with pytest.raises(getattr(builtins, expected)) as raised:
        CALLS[name](tensorbus, x, tensorbus.tensor([0, 5], device=device)).cpu()
    words = "index out of range in self: " if name == "embedding" else ""
    assert str(raised.value) == f"{words}index 5 is out of bounds for dimension 0 with size 3"


def _functional(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
    def call(torch: Any, x: Any, i: Any) -> Any:
        return getattr(torch.nn.functional, name)(x, i, *rest, **named)

    return call


def _bag(mode: str) -> Callable[..., Any]:
    return lambda torch, x, i: torch.nn.functional.embedding_bag(i[None], x[:, :4], mode=mode)


# fmt: off
WORDED: dict[str, tuple[Callable[..., Any], str]] = {
    "nll_loss": (_functional("nll_loss"), "Target 5 is out of bounds."),
    "cross_entropy": (_functional("cross_entropy"), "Target 5 is out of bounds."),
    "smoothed": (_functional("cross_entropy", label_smoothing=0.1), "Target 5 is out of bounds."),
    "not reduced": (_functional("cross_entropy", reduction="none"), "Target 5 is out of bounds."),
    "multi_margin_loss": (_functional("multi_margin_loss"), "target out of range"),
    "multilabel_margin_loss": (
        lambda torch, x, i: torch.nn.functional.multilabel_margin_loss(x[0, :2], i),
        "argument #2 'target' is out of range"),
    "max_unpool1d": (
        lambda torch, x, i: torch.nn.functional.max_unpool1d(x[:1, :2], i[None], 2),
        "Found an invalid max index: 5 (output volumes are of size 4x1)"),
}
BAGS = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 5"
# fmt: on


@pytest.mark.parametrize("name", WORDED)
def test_what_has_words_of_its_own(name, device, oracle):
    call, text = WORDED[name]

    def told(torch: Any, **where: Any) -> tuple[str, str]:
        x = torch.zeros(2, 4, requires_grad=True, **where)
        try:
            made = call(torch, x, torch.tensor([0, 5], **where))
            made.sum().backward()
            made.tolist()
        except (IndexError, RuntimeError) as error:
            return type(error).__name__, str(error)
        return "nothing", ""

    expected = oracle(lambda torch: told(torch))
    assert expected[1] == text
    for _ in range(4):  # from the third call on compositions may be compiled
        assert told(tensorbus, device=device) == tuple(expected)
    x = tensorbus.zeros(2, 4, device=device)  # nothing is left, and other functions have no words
    assert tensorbus.nn.functional.cross_entropy(x, x[:, 0].long()).item() > 0
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 2"):
        x.index_select(0, tensorbus.tensor([9], device=device)).tolist()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_have_words_of_their_own(mode, device):
    x = tensorbus.zeros(2, 4, device=device)
    with pytest.raises(RuntimeError) as raised:
        _bag(mode)(tensorbus, x, tensorbus.tensor([0, 5], device=device)).tolist()
    assert str(raised.value) == BAGS


def test_the_first_words_are_told_where_functions_differ(device):
    x, wrong = tensorbus.zeros(2, 4, device=device), tensorbus.tensor([0, 5], device=device)
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        loss = tensorbus.nn.functional.cross_entropy(x, wrong)
        x.index_select(0, wrong)
        loss.item()
    assert pickle.loads(pickle.dumps(IndexFault(5, 1, 4, Wording("{value} of {n}")))).args
