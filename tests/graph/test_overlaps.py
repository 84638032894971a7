"""Outputs that overlap inputs, or themselves, give with fusion what they give without: the same
values, or the same error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensorbus as torch

F = torch.nn.functional
Program = Callable[[torch.Tensor], Any]

CALLS = 4
"""More than are composed before a kernel is compiled."""


def square(line: torch.Tensor) -> torch.Tensor:
    return line[:16].reshape(4, 4)


WRITES: dict[str, Program] = {
    "shifted": lambda x: x[1:].xlogy_(x[:-1]),
    "shifted back": lambda x: x[:-1].xlogy_(x[1:]),
    "transposed": lambda x: square(x).xlogy_(square(x).T),
    "itself": lambda x: square(x).xlogy_(square(x)),
    "rows shifted": lambda x: square(x)[1:].xlogy_(square(x)[:-1]),
    "interleaved": lambda x: x[::2].xlogy_(x[1::2]),
    "its row": lambda x: square(x).xlogy_(square(x)[0]),
    "its column": lambda x: square(x).xlogy_(square(x)[:, :1]),
    "its element": lambda x: square(x).xlogy_(x[3]),
    "silu of columns": lambda x: F.silu(square(x).T, inplace=True),
    "out transposed": lambda x: torch.xlogy(square(x), square(x).T, out=square(x)),
    "out shifted": lambda x: torch.xlogy(x[:-1], 2.0, out=x[1:]),
    "out of rows": lambda x: torch.softmax(square(x), 1, out=square(x)),
    "out of columns": lambda x: torch.softmax(square(x), 0, out=square(x).T),
    "out is a column": lambda x: torch.logsumexp(square(x), 1, out=square(x)[:, 1]),
}
REFUSED: dict[str, Program] = {
    "expanded": lambda x: x[:1].expand(4).xlogy_(2.0),
    "expanded rows": lambda x: square(x)[:1].expand(4, 4).xlogy_(square(x)),
    "expanded in place": lambda x: F.silu(x[:1].expand(4), inplace=True),
    "expanded out": lambda x: torch.xlogy(x[:4], 2.0, out=x[:1].expand(4)),
    "expanded parameter": lambda x: stepped("SGD", x[:1].expand(4), x[4:8]),
}


def stepped(optimizer: str, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    p = torch.nn.Parameter(parameter)
    p.grad = gradient
    options = {"momentum": 0.5} if optimizer == "SGD" else {}
    taken = getattr(torch.optim, optimizer)([p], lr=0.25, **options)
    for _ in range(CALLS):
        taken.step()


STEPS: dict[str, Program] = {
    "shifted": lambda x: (x[1:], x[:-1]),
    "shifted back": lambda x: (x[:-1], x[1:]),
    "the same": lambda x: (x, x),
    "the same part": lambda x: (x[1:], x[1:]),
    "transposed": lambda x: (square(x), square(x).T),
}


@pytest.fixture(autouse=True)
def switched_back() -> Iterator[None]:
    before = torch.get_fusion()
    yield
    torch.set_fusion(before)


def ran(program: Program, device: str, fusion: bool) -> list[torch.Tensor]:
    torch.set_fusion(fusion)
    found = []
    for n in range(CALLS):
        line = (torch.arange(24.0) / 7 + n + 0.5).to(device)
        program(line)
        found.append(line.cpu())
    return found


def same(program: Program, device: str) -> None:
    for got, want in zip(ran(program, device, True), ran(program, device, False), strict=True):
        torch.testing.assert_close(got, want)
    torch.testing.assert_close(got, ran(program, "cpu", False)[-1])


@pytest.mark.parametrize("name", WRITES)
def test_rows_that_write_over_their_operands(name: str, device: str) -> None:
    same(WRITES[name], device)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_steps_whose_gradient_lies_in_the_parameter(optimizer: str, name: str, device: str) -> None:
    same(lambda x: stepped(optimizer, *STEPS[name](x)), device)


@pytest.mark.parametrize("fusion", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_outputs_whose_elements_share_memory(name: str, fusion: bool, device: str) -> None:
    torch.set_fusion(fusion)
    for _ in range(CALLS):
        line = torch.arange(24.0).to(device)
        with pytest.raises(RuntimeError, match="single memory location"):
            REFUSED[name](line)
        assert line.cpu().equal(torch.arange(24.0))
