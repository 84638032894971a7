"""The gradients that one node is asked for are one graph, and the same as its rules'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from graph_interpreter import Interpreter

import tensorbus as torch
from tensorbus import discovery
from tensorbus.graph.verifying import verify
from tensorbus.plugin import Graph

F = torch.nn.functional
Cpu: Any = type(discovery.backend("cpu"))


class Compiling(Cpu):  # type: ignore[misc]
    """The device cpu with a compiler that runs graphs op by op, and notes how many results they
    have; *most* is how many it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.compiled: list[int] = []
        self.ran: list[int] = []
        self.most = 9
        self.late = False
        """Whether its kernels leave what has several results to others."""

    def compile(self, graph: Graph, index: int) -> Any:
        verify(graph)
        results = len(graph.outputs)
        if results > self.most:
            return None
        self.compiled.append(results)
        kernel = Interpreter(self).compile(graph, index)

        def noted(*inputs: Any, out: Any = None) -> Any:
            self.ran.append(results)
            return NotImplemented if self.late and results > 1 else kernel(*inputs, out=out)

        return noted


@pytest.fixture
def backend() -> Compiling:
    return Compiling()


@pytest.fixture
def device(backend: Compiling) -> Iterator[str]:
    with discovery.plugged(backend) as name:
        F.silu(torch.ones(2, device=name))  # from the first op that may be compiled on
        yield name


Program = Callable[..., torch.Tensor]
PROGRAMS: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "mul": (torch.mul, [(3, 4), (3, 4)]),
    "broadcast": (torch.mul, [(3, 4), (4,)]),
    "hypot": (torch.hypot, [(3, 4), (3, 4)]),
    "atan2": (torch.atan2, [(3, 1), (3, 4)]),
    "bce": (lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), [(3, 4), (3, 4)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    "no-bias": (lambda x, w: F.layer_norm(x, (4,), w), [(3, 4), (4,)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        [(5, 3, 2), (3,), (3,)],
    ),
    "inference": (
        lambda x, w, b: F.batch_norm(x, b.detach(), w.detach(), w, b),
        [(5, 3, 2), (3,), (3,)],
    ),
}  # fmt: skip


def operands(name: str) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.rand(shape, generator=generator) * 0.8 + 0.1 for shape in PROGRAMS[name][1]]


def gradients(name: str, given: list[torch.Tensor], wanted: list[int]) -> list[torch.Tensor]:
    leaves = [x.detach().requires_grad_(i in wanted) for i, x in enumerate(given)]
    y = PROGRAMS[name][0](*leaves)
    slope = torch.arange(1.0, y.numel() + 1).reshape(y.shape).to(y.device)
    y.backward(slope)
    assert [i for i, x in enumerate(leaves) if x.grad is not None] == wanted
    return [leaves[i].grad.cpu() for i in wanted]


@pytest.mark.parametrize("most", [9, 1], ids=["together", "each"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradients_are_those_of_the_rules(
    backend: Compiling, device: str, name: str, late: bool, most: int
) -> None:
    backend.late, backend.most = late, most
    given = operands(name)
    moved = [x.to(device) for x in given]
    for count in range(1, len(given) + 1):
        wanted = list(range(len(given)))[-count:]
        for _ in range(4):
            backend.ran.clear()
            ours = gradients(name, moved, wanted)
            for x, y in zip(ours, gradients(name, given, wanted), strict=True):
                torch.testing.assert_close(x, y)
        if count > 1 and most > 1:
            assert count in backend.ran
            assert count in backend.compiled


def test_only_what_is_wanted_is_computed(backend: Compiling, device: str) -> None:
    x, w, b = (t.to(device) for t in operands("layer_norm"))
    for wanted, results in (([0, 1, 2], 3), ([0, 2], 2), ([1], 1)):
        for _ in range(4):
            backend.ran.clear()
            gradients("layer_norm", [x, w, b], wanted)
        assert max(backend.ran[1:]) == results


def test_a_gradient_that_is_handed_on_is_no_result(backend: Compiling, device: str) -> None:
    for _ in range(4):
        x, y = (torch.ones(3, 4, device=device, requires_grad=True) for _ in range(2))
        (x + y).backward(torch.ones(3, 4, device=device))
        torch.testing.assert_close(y.grad.cpu(), torch.ones(3, 4))
        (x - y).backward(torch.ones(3, 4, device=device))
        torch.testing.assert_close(y.grad.cpu(), torch.zeros(3, 4))
    assert 2 not in backend.compiled


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "inference", "hypot"])
def test_second_derivatives(backend: Compiling, device: str, name: str) -> None:
    def second(given: list[torch.Tensor]) -> list[torch.Tensor]:
        leaves = [x.detach().requires_grad_() for x in given]
        y = PROGRAMS[name][0](*leaves)
        slope = torch.arange(1.0, y.numel() + 1).reshape(y.shape).to(y.device)
        first = torch.autograd.grad((y * slope).sum(), leaves, create_graph=True)
        sum((g * g).sum() for g in first).backward()
        return [x.grad.cpu() for x in leaves if x.grad is not None]

    given = operands(name)
    for _ in range(4):
        for x, y in zip(second([x.to(device) for x in given]), second(given), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_a_saved_operand_that_was_written_to_is_refused(backend: Compiling, device: str) -> None:
    for _ in range(4):
        x, w, b = (t.to(device).requires_grad_() for t in operands("layer_norm"))
        y = F.layer_norm(x, (4,), w, b)
        y.sum().backward(retain_graph=True)
        with torch.no_grad():
            w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_complex_numbers_beside_a_compiler(backend: Compiling, device: str) -> None:
    x, y = torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([0.5 - 1j, 2 + 2j])
    for _ in range(4):
        a, b = (t.to(device).requires_grad_() for t in (x, y))
        (a * b).abs().sum().backward()
        c, d = (t.clone().requires_grad_() for t in (x, y))
        (c * d).abs().sum().backward()
        torch.testing.assert_close(a.grad.cpu(), c.grad)
        torch.testing.assert_close(b.grad.cpu(), d.grad)
    assert 2 not in backend.compiled
