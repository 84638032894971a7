"""Programs whose results on a device are the cpu's: ``python -m gpu_session.smoke``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorbus as torch
from tensorbus import nn
from tensorbus.nn import functional as F

Program = Callable[[str], list[Any]]
PROGRAMS: list[Program] = []


def program(made: Program) -> Program:
    """Adds a program to the list; it takes a device and gives tensors."""
    PROGRAMS.append(made)
    return made


@program
def random_numbers(device: str) -> list[Any]:
    return [
        torch.rand(1001, device=device), torch.randn(1001, device=device),
        torch.rand(5, dtype=torch.float64, device=device),
        torch.randint(-5, 1 << 40, (1001,), device=device), torch.randperm(100, device=device),
        F.dropout(torch.ones(64, 64, device=device)), torch.rand(9, device=device).half(),
    ]  # fmt: skip


@program
def integers(device: str) -> list[Any]:
    x = torch.tensor([-(2**63), -7, -1, 0, 1, 7, 2**53 + 1, 2**63 - 1], device=device)
    return [x % 3, x // -2, torch.fmod(x, 5), x >> 2, x << 1, x**2, x & 12345, x.abs(), x * x]


@program
def floats(device: str) -> list[Any]:
    x = torch.linspace(-9, 9, 4001, device=device)
    return [x // 0.3, x % 0.3, x.exp(), x.sin(), x.tanh(), x.round(), F.gelu(x), F.silu(x),
            x.clamp(-1, 2), x.abs().sqrt(), (x.abs() + 1).log(), x.sign(), x > 0.5]  # fmt: skip


@program
def reductions(device: str) -> list[Any]:
    x = (torch.arange(6000, device=device).reshape(20, 300) * 7919 % 997).float() / 100
    y = x.t()
    return [x.sum(), x.sum(0), y.sum(1), x.mean(1), x.amax(1), y.argmax(0), x.argmin(), x.var(0),
            x.cumsum(1), x.sort(1)[0], x.sort(0)[1], x.topk(3)[0], x.softmax(1), x.prod(0),
            x.half().sum(0), (x > 3).any(1), x.long().sum(1)]  # fmt: skip


@program
def products(device: str) -> list[Any]:
    x = torch.linspace(-1, 1, 24 * 36, device=device).reshape(24, 36)
    b = x.reshape(4, 6, 36)
    z = torch.complex(x, x.flip(0))
    return [x @ x.t(), x.t() @ x, b @ b.transpose(1, 2), x[:, ::2] @ x.t()[::2], x @ x[0],
            x.half() @ x.t().half(), x.double() @ x.t().double(), z @ z.t(),
            (x * 10).int() @ (x.t() * 10).int()]  # fmt: skip


@program
def indices(device: str) -> list[Any]:
    x = torch.arange(40.0, device=device).reshape(8, 5).requires_grad_()
    i = torch.tensor([0, 3, 3, -1], device=device)
    y = x * 1
    y[i] = torch.ones(4, 5, device=device)
    (y * y).sum().backward()
    base, ones = torch.zeros(8, 5, device=device), torch.ones(4, 5, device=device)
    row = torch.tensor([[0, 1, 1, 1, 4]], device=device)
    small = torch.zeros(9, dtype=torch.int8, device=device)
    same = torch.tensor([1, 1, 1, 0], device=device)
    return [x.detach()[i], x.grad, base.index_add(0, same, ones),
            base.scatter_reduce(0, row, ones[:1] * 3, "prod"), base.scatter_add(1, row, ones[:1]),
            small.index_add(0, row[0] + 3, torch.full((5,), 3, dtype=torch.int8, device=device)),
            x.detach().gather(1, row.expand(8, 5)), x.detach()[x.detach() > 7]]  # fmt: skip


@program
def training(device: str) -> list[Any]:
    torch.manual_seed(7)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8),
        nn.LayerNorm(8), nn.Linear(8, 3),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.linspace(0, 1, 6 * 64, device=device).reshape(6, 1, 8, 8)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), torch.arange(6, device=device) % 3).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


@program
def storages(device: str) -> list[Any]:
    x = torch.arange(12.0, device=device).reshape(3, 4)
    size = x.untyped_storage().nbytes()
    view = x.as_strided((2, 2), (4, 2), 1)
    view += 1
    return [torch.tensor([size]), x, view, torch.empty(0, 3, device=device), x.view(torch.int32)]


@program
def faults(device: str) -> list[Any]:
    x = torch.zeros(3, device=device)
    try:
        x[torch.tensor([1, 7], device=device)].cpu()
    except IndexError as error:
        assert "7" in str(error), error
    else:
        raise AssertionError("an index outside the dimension was taken")
    return [x + 1]


def differences(made: Program, device: str) -> list[str]:
    """What a program gives otherwise on *device* than on the cpu."""
    found = []
    results = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        results.append([np.asarray(t.cpu()) for t in made(place)])
    for number, (want, got) in enumerate(zip(*results, strict=True)):
        if got.dtype != want.dtype or got.shape != want.shape:
            found.append(f"result {number}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}")
            continue
        exact = want.dtype.kind in "biu"
        near = np.array_equal(got, want) if exact else np.allclose(
            got, want, rtol=2e-3 if want.itemsize == 2 else 2e-4, atol=1e-5, equal_nan=True
        )  # fmt: skip
        if not near:
            with np.errstate(all="ignore"):
                apart = np.flatnonzero(~np.isclose(got, want, rtol=1e-4, equal_nan=True))
            at = int(apart[0]) if apart.size else 0
            pair = f"{got.reshape(-1)[at]!r}, not {want.reshape(-1)[at]!r}"
            found.append(f"result {number} differs at {apart.size} places; at {at}: {pair}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    failed = 0
    for made in PROGRAMS:
        try:
            found = differences(made, args.device)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        failed += bool(found)
        print(f"{'fail' if found else 'ok  '} {made.__name__}", *found, sep="\n     ", flush=True)
    print(f"{len(PROGRAMS) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
