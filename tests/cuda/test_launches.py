"""How many kernels common programs launch, and that a training step waits for none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuda_host
import pytest

import tensorbus as torch
from tensorbus import nn
from tensorbus.nn import functional as F

DEVICE = "cuda"


class Programs:
    """One method for each program; it is run twice before it is counted."""

    def __init__(self) -> None:
        self.x = torch.rand(3, 8, device=DEVICE)
        self.ids = torch.arange(10, device=DEVICE).reshape(2, 5)
        self.table = nn.Embedding(10, 8, device=DEVICE)

    def gelu(self) -> Any:
        return F.gelu(self.x)

    def silu(self) -> Any:
        return F.silu(self.x)

    def softmax(self) -> Any:
        return F.softmax(self.x, 1)

    def log_softmax_backward(self) -> Any:
        x = self.x.detach().requires_grad_()
        return torch.autograd.grad(F.log_softmax(x, 1), x, torch.ones_like(x))

    def rand(self) -> Any:
        return torch.rand(100, device=DEVICE)

    def randn(self) -> Any:
        return torch.randn(100, device=DEVICE)

    def randint(self) -> Any:
        return torch.randint(0, 5, (100,), device=DEVICE)

    def dropout(self) -> Any:
        return F.dropout(self.x)

    def embedding(self) -> Any:
        return self.table(self.ids)

    def linear_initial_values(self) -> Any:
        return nn.Linear(8, 8, device=DEVICE)

    def integer_remainder(self) -> Any:
        return self.ids % 3

    def integer_quotient(self) -> Any:
        return self.ids // 3

    def float_quotient(self) -> Any:
        return self.x // 0.3

    def shift(self) -> Any:
        return self.ids >> 1

    def index_add(self) -> Any:
        return self.x.index_add_(0, self.ids[0, :3], self.x)

    def products_of_duplicates(self) -> Any:
        return self.x.scatter_reduce_(0, self.ids[:, :5] % 3, self.x[:2, :5], "prod")

    def argmax(self) -> Any:
        return self.x.argmax(1)


LIMITS = {
    "gelu": 1, "silu": 1, "softmax": 2, "log_softmax_backward": 5, "rand": 1, "randn": 1,
    "randint": 1, "dropout": 5, "embedding": 1,
    "linear_initial_values": 10, "integer_remainder": 1, "integer_quotient": 1,
    "float_quotient": 1, "shift": 1, "index_add": 1, "products_of_duplicates": 2, "argmax": 2,
}  # fmt: skip


def counted(program: Callable[[], Any]) -> cuda_host.Counts:
    for _ in range(2):
        program()
    with cuda_host.counting() as counts:
        program()
    return counts


@pytest.fixture(scope="module")
def programs() -> Programs:
    return Programs()


@pytest.mark.parametrize("name", LIMITS)
def test_launches_of_a_call(programs: Programs, name: str) -> None:
    counts = counted(getattr(programs, name))
    assert counts.launches <= LIMITS[name], counts.names
    assert (counts.waits, counts.to_host, counts.to_device) == (0, 0, 0), counts.names


class Language(nn.Module):
    """Embedding, normalisation, a layer: the least of a language model."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 10)

    def forward(self, ids: Any) -> Any:
        return self.head(self.norm(self.table(ids)))


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


STEPS = [
    ("perceptron", "SGD", 49), ("perceptron", "Adam", 89), ("perceptron", "AdamW", 93),
    ("language", "SGD", 81), ("convolution", "SGD", 73),
]  # fmt: skip


@pytest.mark.parametrize(("model", "optimizer", "limit"), STEPS)
def test_a_training_step_waits_for_nothing(model: str, optimizer: str, limit: int) -> None:
    ids = torch.arange(10, device=DEVICE).reshape(2, 5)
    if model == "perceptron":
        net, given, wanted = perceptron(), torch.rand(3, 8, device=DEVICE), ids[0, :3] % 4
    elif model == "language":
        net, given, wanted = Language(), ids, ids.reshape(-1)
    else:
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(8, 4))  # fmt: skip
        given, wanted = torch.rand(3, 1, 6, 6, device=DEVICE), ids[0, :3] % 4
    net = net.to(DEVICE)
    steps = getattr(torch.optim, optimizer)(net.parameters(), lr=0.1)

    def step() -> None:
        steps.zero_grad()
        scores = net(given)
        F.cross_entropy(scores.reshape(-1, scores.shape[-1]), wanted).backward()
        steps.step()

    counts = counted(step)
    assert counts.launches <= limit, counts.names
    assert (counts.waits, counts.to_host, counts.to_device) == (0, 0, 0), counts.names
