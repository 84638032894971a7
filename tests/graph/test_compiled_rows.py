"""What a plugin compiles of a composition runs in its place, and never in a wrong one."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_interpreter import Interpreter

import tensorbus as torch
from tensorbus import discovery
from tensorbus._base import warning
from tensorbus.graph import compiled_rows
from tensorbus.graph.printing import printed
from tensorbus.graph.verifying import verify
from tensorbus.plugin import Graph, may_decline

F = torch.nn.functional
Cpu: Any = type(discovery.backend("cpu"))


class Compiling(Cpu):  # type: ignore[misc]
    """The device cpu with a compiler that runs graphs op by op, and notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[Graph] = []
        self.calls = 0
        self.answer: Any = None
        """What a kernel answers in place of its result, or raises."""

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        return (
            None if op in ("gelu", "softmax", "silu", "mean") else super().kernel(op, dtype, index)
        )

    def compile(self, graph: Graph, index: int) -> Any:
        verify(graph)
        self.graphs.append(graph)
        kernel = Interpreter(self).compile(graph, index)

        def counted(*inputs: Any, out: Any = None) -> Any:
            self.calls += 1
            return kernel(*inputs, out=out) if self.answer is None else self.answer

        return counted


@pytest.fixture
def backend() -> Compiling:
    return Compiling()


@pytest.fixture
def device(backend: Compiling) -> Iterator[str]:
    with discovery.plugged(backend) as name:
        yield name


def rows(*shape: int) -> torch.Tensor:
    return torch.arange(float(np.prod(shape))).reshape(shape) / 7 - 1


def test_a_kernel_is_compiled_at_the_third_call_and_serves_all_sizes(
    backend: Compiling, device: str
) -> None:
    for n in (3, 4, 5, 6, 7):
        x = rows(n, 2)
        torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
    assert len(backend.graphs) == 1 and backend.calls == 3
    assert "gelu" not in printed(backend.graphs[0])
    F.gelu(rows(2, 2).to(device))  # equal sizes are another pattern, seen once
    F.gelu(rows(0, 2).to(device))
    assert len(backend.graphs) == 1 and backend.calls == 3


def test_parameters_and_sizes_reach_the_kernel(backend: Compiling, device: str) -> None:
    for n in (3, 4, 7, 6):
        x = rows(n, 2, 5)
        for dim in (0, 1, 2):
            torch.testing.assert_close(
                torch.softmax(x.to(device), dim).cpu(), torch.softmax(x, dim)
            )
        torch.testing.assert_close(x.to(device).mean((0, 2)).cpu(), x.mean((0, 2)))
    assert backend.calls == 2 * 4
    # A mean is a sum over as many elements as the sizes say: an input, not a constant.
    assert any(v.name == "s0*s2" for g in backend.graphs for v in g.inputs)


def test_the_page_shows_the_graph_of_softmax(backend: Compiling, device: str) -> None:
    for _ in range(3):
        torch.softmax(rows(3, 4).to(device), 1)
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text("utf-8")
    assert printed(backend.graphs[-1]) in page


def test_numbers_broadcasts_and_out(backend: Compiling, device: str) -> None:
    x, y = rows(3, 4), rows(4) + 2
    for number in (2.0, 3.0, 4.5, 5.5):
        torch.testing.assert_close(torch.xlogy(x.to(device), number).cpu(), torch.xlogy(x, number))
    for _ in range(4):
        torch.testing.assert_close(torch.xlogy(x.to(device), y.to(device)).cpu(), torch.xlogy(x, y))
        out = torch.empty(4, 3, device=device).T
        assert torch.xlogy(x.to(device), y.to(device), out=out) is out
        torch.testing.assert_close(out.cpu(), torch.xlogy(x, y))
    assert backend.calls == 2 + 6


def test_half_precision_is_rounded_once(backend: Compiling, device: str) -> None:
    x = rows(3, 4).to(torch.bfloat16)
    for _ in range(4):
        assert torch.equal(F.silu(x.to(device)).cpu(), F.silu(x))
    assert backend.calls == 2
    assert printed(backend.graphs[0]).count("cast(") == 2


def test_a_kernel_may_decline_late(backend: Compiling, device: str) -> None:
    backend.answer = NotImplemented
    x = rows(3, 4)
    for _ in range(4):
        torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
    assert backend.calls >= 2  # what gelu is composed of may be compiled too


def test_a_compiler_that_raises_is_named_once_and_left(
    backend: Compiling, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warning, "_SHOWN", set())

    def compile(graph: Graph, index: int) -> Any:
        backend.graphs.append(graph)
        raise OSError("no compiler")

    backend.compile = compile  # type: ignore[method-assign]
    x = rows(3, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
            torch.testing.assert_close(F.silu(x.to(device)).cpu(), F.silu(x))
    assert len(backend.graphs) >= 2
    texts = [str(w.message) for w in caught if "failed to compile" in str(w.message)]
    assert len(texts) == 1 and "OSError: no compiler" in texts[0]


def test_a_backends_own_kernel_may_decline_too(
    backend: Compiling, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel(op: str, dtype: Any, index: int) -> Any:
        if op in ("gelu", "softmax"):
            return may_decline(lambda *args, out=None: NotImplemented)
        return Cpu.kernel(backend, op, dtype, index)

    monkeypatch.setattr(backend, "kernel", kernel)
    x = rows(3, 4)
    torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
    torch.testing.assert_close(torch.softmax(x.to(device), 1).cpu(), torch.softmax(x, 1))


@pytest.mark.parametrize("function", [
    F.silu, F.softplus, torch.logsumexp, torch.softmax, torch.hypot, torch.xlogy, torch.std,
])  # fmt: skip
def test_derivatives_are_compiled_too(backend: Compiling, device: str, function: Any) -> None:
    def given(*operands: torch.Tensor) -> Any:
        if function in (torch.logsumexp, torch.softmax, torch.std):
            return function(operands[0], 1)
        return function(*operands[: 2 if function in (torch.hypot, torch.xlogy) else 1])

    here = [rows(3, 4) + 3, (rows(4) + 2)]
    for _ in range(4):
        operands = [x.clone().requires_grad_() for x in here]
        moved = [x.to(device).detach().requires_grad_() for x in here]
        given(*operands).square().sum().backward()
        given(*moved).square().sum().backward()
        for x, y in zip(moved, operands, strict=True):
            if y.grad is not None:
                torch.testing.assert_close(x.grad.cpu(), y.grad)
    # The derivative's graph has the gradient as an input, and so one more than the op's own.
    inputs = {len(graph.inputs) for graph in backend.graphs}
    assert max(inputs) >= 2 and backend.calls >= 4


def test_second_derivatives_go_through_tensors(backend: Compiling, device: str) -> None:
    for _ in range(4):
        x, y = rows(3, 4).to(device).requires_grad_(), rows(3, 4).requires_grad_()
        for t in (x, y):
            (g,) = torch.autograd.grad(F.silu(t).sum(), t, create_graph=True)
            g.square().sum().backward()
        torch.testing.assert_close(x.grad.cpu(), y.grad)


def test_signs_of_zero_and_types_of_parameters_are_told_apart(
    backend: Compiling, device: str
) -> None:
    x = rows(3, 4)
    for _ in range(4):
        for value in (0.0, -0.0, 1, True):
            ours = F.threshold(x.to(device), 0.1, value).cpu()
            assert torch.equal(torch.signbit(ours), torch.signbit(F.threshold(x, 0.1, value)))


def test_a_program_without_a_compiler_never_imports_graphs() -> None:
    program = (
        "import sys, tensorbus as torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "torch.nn.functional.gelu(x).sum().backward()\n"
        "print([name for name in sys.modules if name.startswith('tensorbus.graph')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_a_backend_without_a_compiler_is_asked_nothing() -> None:
    assert discovery.offered(discovery.backend("cpu"), "compile") is None
    kind = torch.ones(2)._k
    kind.gelu(np.ones((2, 2), "float32"))
    assert not isinstance(kind.__dict__["gelu"], compiled_rows.Compiled)
