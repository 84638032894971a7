"""``hash_tensor`` of all dtypes, shapes and dimensions, as PyTorch has it."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tensorbus

A = [[1.1918, -1.1813, 0.3373], [2.0, 3.0, 4.0]]
CALLS = {
    "all": lambda torch, a: torch.hash_tensor(a),
    "none": lambda torch, a: torch.hash_tensor(a, None),
    "empty-dims": lambda torch, a: torch.hash_tensor(a, ()),
    "first": lambda torch, a: torch.hash_tensor(a, 0),
    "last-kept": lambda torch, a: torch.hash_tensor(a, -1, keepdim=True),
    "both": lambda torch, a: a.hash_tensor((1, 0), keepdim=True),
    "transposed": lambda torch, a: a.t().hash_tensor(dim=0, mode=0),
    "special": lambda torch, a: torch.hash_tensor(torch.tensor([math.nan, -0.0, math.inf])),
    "scalar": lambda torch, a: torch.hash_tensor(a[0, 0], 0),
    "no-rows": lambda torch, a: torch.hash_tensor(torch.ones(0, 2), 1),
    "bool": lambda torch, a: torch.hash_tensor(a.bool(), 1),
    "negative": lambda torch, a: torch.hash_tensor(torch.tensor([-1, 2], dtype=torch.int8)),
    "half": lambda torch, a: torch.hash_tensor(a.half(), 0),
    "gradient": lambda torch, a: torch.hash_tensor(a.clone().requires_grad_(), 0),
    "out": lambda torch, a: torch.hash_tensor(a, 0, out=torch.empty(0, dtype=torch.uint64)),
    "mode": lambda torch, a: torch.hash_tensor(a, mode=1),
    "no-elements": lambda torch, a: torch.hash_tensor(torch.ones(0)),
    "no-columns": lambda torch, a: torch.hash_tensor(torch.ones(2, 0), 1),
    "dim": lambda torch, a: torch.hash_tensor(a, 2),
    "twice": lambda torch, a: torch.hash_tensor(a, (0, 0)),
    "complex": lambda torch, a: torch.hash_tensor(a.cfloat()),
}


def answer(torch: Any, call: Any) -> Any:
    try:
        made = call(torch, torch.tensor(A))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return str(made.dtype), made.tolist(), made.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_the_bits_are_pytorchs(name: str, oracle: Any) -> None:
    call = CALLS[name]
    assert answer(tensorbus, call) == oracle(lambda torch: answer(torch, call))
