"""The switch of fusion: off, on, by a variable, and nothing at a call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from graph_interpreter import Interpreter  # type: ignore[import-not-found]

import tensorbus as torch
from tensorbus import discovery
from tensorbus._dispatch import fusion
from tensorbus.graph import emitting, list_rows
from tensorbus.graph.compiled_rows import Compiled
from tensorbus.plugin import PRIMITIVES, Graph

F = torch.nn.functional
Cpu: Any = type(discovery.backend("cpu"))


class Counting(Cpu):  # type: ignore[misc]
    """The device cpu with a compiler that counts what it compiles, and the calls of that."""

    def __init__(self) -> None:
        super().__init__()
        self.compiled = self.calls = 0
        self.asked: list[str] = []

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        self.asked.append(f"{op}/{dtype.name}")
        return None if op in ("silu", "gelu") else super().kernel(op, dtype, index)

    def compile(self, graph: Graph, index: int) -> Any:
        self.compiled += 1
        kernel = Interpreter(self).compile(graph, index)

        def counted(*inputs: Any, out: Any = None) -> Any:
            self.calls += 1
            return kernel(*inputs, out=out)

        return counted


@pytest.fixture
def backend() -> Iterator[Counting]:
    before = torch.get_fusion()
    yield Counting()
    torch.set_fusion(before)


@pytest.fixture
def device(backend: Counting) -> Iterator[str]:
    with discovery.plugged(backend) as name:
        yield name


def step(device: str) -> tuple[torch.Tensor, Any]:
    x = torch.linspace(-2, 2, 12).reshape(3, 4).to(device).requires_grad_()
    y = F.silu(x)
    y.sum().backward()
    assert x.grad is not None
    return y.detach().cpu(), x.grad.cpu()


def test_off_composes_and_on_compiles(backend: Counting, device: str) -> None:
    want = step("cpu")
    counts = []
    for enabled in (True, False, True):
        torch.set_fusion(enabled)
        assert torch.get_fusion() is enabled
        before = backend.compiled, backend.calls
        for _ in range(5):
            torch.testing.assert_close(step(device), want)
        counts.append((backend.compiled - before[0], backend.calls - before[1]))
    assert counts[0] == counts[2] and counts[1] == (0, 0)
    assert counts[0][0] >= 2 and counts[0][1] >= 6  # silu and its derivative, from the third call


def test_the_switch_is_no_question_at_a_call(backend: Counting, device: str) -> None:
    torch.set_fusion(False)
    step(device)
    kind: Any = torch.empty(0, device=device)._k
    assert not isinstance(kind.__dict__["silu"], Compiled)
    plain = kind.__dict__["add"], kind.__dict__["exp"]
    backend.asked.clear()
    torch.set_fusion(True)
    step(device)
    assert isinstance(kind.__dict__["silu"], Compiled)
    assert (kind.__dict__["add"], kind.__dict__["exp"]) == plain  # primitives are left alone
    assert not {name.partition("/")[0] for name in backend.asked} & {*PRIMITIVES}


def test_the_switch_governs_generated_python(
    backend: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On ``cpu``, which compiles nothing and takes large arrays by pieces."""
    emitted, lines = [], []
    emit, line = emitting.emit, list_rows.straight_line
    monkeypatch.setattr(emitting, "emit", lambda *a: emitted.append(1) or emit(*a))
    monkeypatch.setattr(list_rows, "straight_line", lambda *a: lines.append(1) or line(*a))
    x = torch.linspace(-2, 2, 6 * discovery.backend("cpu").traits.piece)
    found = []
    for enabled in (True, False, True):
        torch.set_fusion(enabled)
        emitted.clear(), lines.clear()
        p, point = torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.tensor(2.0))
        optimizer = torch.optim.Adam([p, point], lr=0.1)
        for _ in range(4):
            y = F.softplus(x)
            optimizer.zero_grad()
            ((p * p).sum() + point * point).backward()
            optimizer.step()
        assert (bool(emitted), bool(lines)) == (enabled, enabled)
        found.append((y, p.detach(), point.detach()))
    for one in found[1:]:
        assert all(a.equal(b) for a, b in zip(found[0], one, strict=True))


PROGRAM = """
import tensorbus as torch
print(torch.get_fusion())
torch.set_fusion(True)
print(torch.get_fusion())
"""


@pytest.mark.parametrize(("text", "first"), [("0", "False"), ("1", "True"), (None, "True")])
def test_the_variable_says_how_a_program_begins(text: str | None, first: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != fusion.VARIABLE}
    environment |= {} if text is None else {fusion.VARIABLE: text}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.stdout.split() == [first, "True"], run.stderr


def test_what_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"set_fusion\(\): argument must be bool, not str"):
        torch.set_fusion("off")  # type: ignore[arg-type]
    monkeypatch.setattr(fusion, "_on", None)
    monkeypatch.setenv(fusion.VARIABLE, "off")
    with pytest.raises(ValueError, match="TENSORBUS_FUSION is 0 or 1, not 'off'"):
        torch.get_fusion()
