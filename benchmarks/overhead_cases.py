"""What one op costs on (16, 16) float32: small enough that the frontend is most of it.

Each case is written once, against the module it is given; the harness loads this file once for
each library.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from benchmarks.harness import Case, Loop

CASES: list[Case] = []
SHAPE = (16, 16)
CHAIN = 50


def case(
    name: str, limit: float | None = None, per_call: int = 1
) -> Callable[[Callable[[Any], Loop]], Callable[[Any], Loop]]:
    def register(make: Callable[[Any], Loop]) -> Callable[[Any], Loop]:
        CASES.append(Case(name, limit, make, per_call))
        return make

    return register


@case("a + b", 0.70)
def add(torch: Any) -> Loop:
    a, b = torch.full(SHAPE, 0.5), torch.full(SHAPE, 0.25)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a + b
        return result

    return loop


@case("a + b, parameters under no_grad", 0.80)
def add_no_grad(torch: Any) -> Loop:
    a = torch.nn.Parameter(torch.full(SHAPE, 0.5))
    b = torch.nn.Parameter(torch.full(SHAPE, 0.25))

    def loop(n: int) -> object:
        with torch.no_grad():
            for _ in repeat(None, n):
                result = a + b
        return result

    return loop


@case("a + b, recorded", 0.60)
def add_recorded(torch: Any) -> Loop:
    a, b = torch.full(SHAPE, 0.5, requires_grad=True), torch.full(SHAPE, 0.25)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a + b
        return result

    return loop


@case(f"chain of {CHAIN} mul, add: forward and backward, per op", 0.50, per_call=CHAIN)
def chain(torch: Any) -> Loop:
    x = torch.full(SHAPE, 0.5, requires_grad=True)
    a, b, ones = torch.full(SHAPE, 0.75), torch.full(SHAPE, 0.25), torch.full(SHAPE, 1.0)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            y = x
            for _ in repeat(None, CHAIN // 2):
                y = y * a
                y = y + b
            x.grad = None
            y.backward(ones)
        return x.grad

    return loop


@case("a.view(256)", 0.95)
def view(torch: Any) -> Loop:
    a = torch.full(SHAPE, 0.5)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a.view(256)
        return result

    return loop


@case("a[1:]", 0.60)
def slicing(torch: Any) -> Loop:
    a = torch.full(SHAPE, 0.5)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a[1:]
        return result

    return loop


@case("a.transpose(0, 1)", 0.60)
def transpose(torch: Any) -> Loop:
    a = torch.full(SHAPE, 0.5)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a.transpose(0, 1)
        return result

    return loop


@case("a * 2.0", 0.40)
def scale(torch: Any) -> Loop:
    a = torch.full(SHAPE, 0.5)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            result = a * 2.0
        return result

    return loop


@case("MLP 784-128-10, batch 32, SGD: one step", 0.85)
def mlp_step(torch: Any) -> Loop:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.rand(32, 784), torch.arange(32) % 10

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            optimizer.zero_grad()
            loss = loss_function(model(images), labels)
            loss.backward()
            optimizer.step()
        return loss

    return loop
