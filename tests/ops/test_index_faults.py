"""Indices outside raise what PyTorch raises for each function, with one text on every device."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus

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
    assert str(raised.value) == "index 5 is out of bounds for dimension 0 with size 3"
