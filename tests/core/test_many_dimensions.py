"""A tensor has at most 64 dimensions, and the error says so on every device and path."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus as torch

MANY = [1] * 65

BEYOND = """
torch.zeros(MANY, device=device)
torch.empty(*MANY, device=device)
torch.full(MANY, 1.0, device=device)
torch.rand(MANY, device=device)
torch.randint(3, MANY, device=device)
torch.empty_strided(MANY, MANY, device=device)
torch.tensor(nested, device=device)
one.view(MANY)
one.reshape(MANY)
one.expand(MANY)
one.broadcast_to(MANY)
one.as_strided(MANY, MANY)
one.unflatten(0, MANY)
one.repeat(MANY)
one.tile(MANY)
one.new_zeros(MANY)
one.clone().resize_(MANY)
most.unsqueeze(0)
most.unsqueeze(-1)
most[None]
most[..., None]
most[[0], None]
most.unfold(0, 1, 1)
most.diag_embed()
most.clone().unsqueeze_(0)
torch.stack([most, most])
torch.nn.functional.one_hot(most.long())
torch.tensordot(half, half, 0)
half[torch.zeros([1] * 40, dtype=torch.int64, device=device)]
torch.meshgrid(*[one] * 65, indexing="ij")
""".split("\n")[1:-1]


def names(device: str) -> dict[str, Any]:
    nested: Any = 1.0
    for _ in range(65):
        nested = [nested]
    return {
        "torch": torch,
        "device": device,
        "MANY": MANY,
        "nested": nested,
        "one": torch.ones(1, device=device),
        "half": torch.ones([1] * 40, device=device),
        "most": torch.ones([1] * 64, device=device),
    }


@pytest.mark.parametrize("program", BEYOND)
def test_more_than_64_dimensions_are_refused(program: str, device: str) -> None:
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        eval(program, names(device))


def test_64_dimensions_compute(device: str) -> None:
    most = names(device)["most"].requires_grad_()
    y = (most * 3 + most).sum(0).unsqueeze(5).exp().log()
    assert y.dim() == 64 and y[(0,) * 64].item() == pytest.approx(4.0)
    y.sum().backward()
    assert most.grad is not None and most.grad.shape == most.shape
    assert most.grad.flatten().tolist() == pytest.approx([4.0])
    assert torch.ones([1] * 60, device=device).repeat([1] * 59 + [2]).shape[-1] == 2
    assert torch.ones([1] * 63, device=device).unsqueeze(0).dim() == 64
