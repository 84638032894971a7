"""Indexing on a device that takes row-major inputs alone and tells faults late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch


def _laid(device: str) -> Any:
    """A (3, 4) tensor whose columns are dense."""
    return torch.arange(12.0).reshape(4, 3).to(device).t()


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda x, i: x.__setitem__(i, 7.0),
    "columns": lambda x, i: x.__setitem__((slice(None), i), torch.ones(3, 2).to(x.device)),
    "pairs": lambda x, i: x.__setitem__((i, i), 7.0),
    "index_add_": lambda x, i: x.index_add_(0, i, torch.ones(2, 4).to(x.device)),
    "index_fill_": lambda x, i: x.index_fill_(1, i, 7.0),
    "scatter_": lambda x, i: x.scatter_(1, i.expand(3, 2), 7.0),
    "put_": lambda x, i: x.put_(i, torch.ones(2).to(x.device)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_reach_a_tensor_that_is_not_row_major(name: str) -> None:
    there, here = _laid("strict"), _laid("cpu")
    for x in (there, here):
        WRITES[name](x, torch.tensor([2, 0]).to(x.device))
    np.testing.assert_array_equal(there.cpu().numpy(), here.numpy())
    assert not np.array_equal(here.numpy(), _laid("cpu").numpy())


FAULTS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "rows": (lambda x, i: x[i], "index 9 is out of bounds for dimension 0 with size 2"),
    "after an int": (lambda x, i: x[0, i], "index 9 is out of bounds for dimension 1 with size 3"),
    "after None": (lambda x, i: x[None, i], "index 9 is out of bounds for dimension 0 with size 2"),
    "pairs": (lambda x, i: x[[0, 1], :, i], "index 9 is out of bounds for dimension 2 with size 4"),
    "written": (
        lambda x, i: x.index_put((torch.tensor([0, 1]).to(x.device), i), x[0, 0, 0]),
        "index 9 is out of bounds for dimension 1 with size 3",
    ),
    "gather": (
        lambda x, i: x.gather(2, i.expand(2, 3, 2)),
        "index 9 is out of bounds for dimension 2 with size 4",
    ),
    "take": (
        lambda x, i: x.take(i + 20),
        "index 29 is out of bounds for dimension 0 with size 24",
    ),
    "index_add": (
        lambda x, i: x.index_add(1, i, x[:, :2]),
        "index 9 is out of bounds for dimension 1 with size 3",
    ),
}


@pytest.mark.parametrize("device", ["cpu", "strict"])
@pytest.mark.parametrize("name", FAULTS)
def test_an_index_outside_has_one_text_on_every_device(name: str, device: str) -> None:
    call, text = FAULTS[name]
    x = torch.zeros(2, 3, 4).to(device)
    with pytest.raises(IndexError) as raised:
        call(x, torch.tensor([0, 9]).to(device)).cpu()
    assert str(raised.value) == text


NOTHING: dict[str, Callable[[Any], Any]] = {
    "gather": lambda x: x.gather(0, torch.zeros(0, 4, dtype=torch.int64).to(x.device)),
    "index_select": lambda x: x.index_select(1, torch.zeros(0, dtype=torch.int64).to(x.device)),
    "take": lambda x: x.take(torch.zeros(0, dtype=torch.int64).to(x.device)),
    "indices": lambda x: x[torch.zeros(0, dtype=torch.int64).to(x.device)],
    "mask": lambda x: x[x.detach() > 100],
    "masked_select": lambda x: x.masked_select(x.detach() > 100),
    "slice": lambda x: x[2:2],
    "diag": lambda x: torch.diagflat(x[:0]),
    "cat": lambda x: torch.cat([x[:0], x[:0]]),
    "repeat": lambda x: x.repeat(0, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(0, 0),
    "combinations": lambda x: torch.combinations(x[0, :1], 2),
}


@pytest.mark.parametrize("device", ["cpu", "strict"])
@pytest.mark.parametrize("name", NOTHING)
def test_a_choice_of_nothing_still_has_a_gradient(name: str, device: str) -> None:
    x = torch.arange(12.0).reshape(3, 4).to(device).requires_grad_()
    NOTHING[name](x).sum().backward()
    assert x.grad.cpu().tolist() == [[0.0] * 4] * 3
