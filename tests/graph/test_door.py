"""What a compiled kernel is given, and who is asked after a kernel that declines."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from graph_interpreter import Interpreter  # type: ignore[import-not-found]

import tensorbus as torch
from tensorbus import discovery
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import kind_of
from tensorbus._dispatch.suit_kernels import suit_traits
from tensorbus.plugin import Graph, may_decline
from tensorbus.rows.registry import ROWS
from tensorbus_conformance.devices.strict import StrictArray, StrictBackend

F = torch.nn.functional
Cpu: Any = type(discovery.backend("cpu"))


class Noting(Cpu):  # type: ignore[misc]
    """The device cpu with a compiler whose kernels note what they are called with."""

    def __init__(self, **traits: Any) -> None:
        super().__init__()
        self.traits = dataclasses.replace(Cpu.traits, **traits)
        self.given: list[tuple[tuple[Any, ...], Any]] = []
        self.own: Any = None
        """A kernel of the backend's own for softmax."""

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        if op == "softmax":
            return self.own
        return None if op in ("gelu", "mean") else super().kernel(op, dtype, index)

    def compile(self, graph: Graph, index: int) -> Any:
        kernel = Interpreter(self).compile(graph, index)

        def noting(*inputs: Any, out: Any = None) -> Any:
            self.given.append((inputs, out))
            return kernel(*inputs, out=out)

        return noting


@pytest.fixture
def backend() -> Noting:
    return Noting()


@pytest.fixture
def device(backend: Noting) -> Iterator[str]:
    with discovery.plugged(backend) as name:
        yield name


def rows(*shape: int) -> torch.Tensor:
    return torch.arange(float(np.prod(shape))).reshape(shape) / 7 + 0.5


def steps(x: Any) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides)


def test_operands_come_as_they_are_with_their_strides(backend: Noting, device: str) -> None:
    x, y = rows(3, 4).to(device), rows(4).to(device)
    for _ in range(2):
        torch.xlogy(x, y)
        torch.xlogy(x[:1].expand(3, 4), y)
    torch.xlogy(x, y)
    torch.xlogy(rows(3, 8).to(device)[:, ::2], y)
    torch.xlogy(rows(4, 3).to(device).T, y)
    torch.xlogy(rows(1, 4).to(device).expand(3, 4), y)
    found = [tuple((a.shape, steps(a)) for a in inputs) for inputs, _ in backend.given]
    # The pattern is that of shapes alone: one kernel serves every layout, and *y* never expanded.
    second = ((4,), (1,))
    assert found == [
        (((3, 4), (4, 1)), second),
        (((3, 4), (0, 1)), second),
        (((3, 4), (4, 1)), second),
        (((3, 4), (8, 2)), second),
        (((3, 4), (1, 3)), second),
        (((3, 4), (0, 1)), second),
    ]


def test_out_is_where_the_result_belongs(backend: Noting, device: str) -> None:
    x = rows(3, 4)
    for _ in range(3):
        torch.xlogy(x.to(device), 2.0)
    target = x.to(device)
    target.xlogy_(2.0)
    (_, none), ((first, _), (out,)) = backend.given[0], backend.given[-1]
    assert none is None and out is target._a and first is target._a  # exactly one of the inputs
    torch.testing.assert_close(target.cpu(), torch.xlogy(x, 2.0))
    # What overlaps itself or an input in another way is refused, or copied, before a kernel runs.
    line = rows(8).to(device)
    with pytest.raises(RuntimeError, match="single memory location"):
        line[:1].expand(4).xlogy_(2.0)
    for _ in range(4):
        line = rows(8).to(device)
        line[1:].xlogy_(line[:-1])
        torch.testing.assert_close(line[1:].cpu(), torch.xlogy(rows(8)[1:], rows(8)[:-1]))
    for inputs, out in backend.given:
        for x in inputs:
            if out is not None and x is not out[0] and isinstance(x, np.ndarray):
                assert not np.shares_memory(x, out[0])


def test_arrays_without_elements_never_come(backend: Noting, device: str) -> None:
    for _ in range(4):
        for shape in ((0,), (3, 0), (0, 1), (2, 0, 4)):
            assert F.gelu(torch.zeros(shape, device=device)).shape == shape
    assert backend.given == []


def test_numbers_are_what_the_backend_makes_of_them(backend: Noting, device: str) -> None:
    for _ in range(4):
        torch.xlogy(rows(3).to(device), 2.5)
    assert [(x.shape, x.item()) for _, x in (given for given, _ in backend.given)] == [
        ((), 2.5)
    ] * 2
    for _ in range(4):
        rows(3, 5).to(device).mean(1)
    assert [given[1] for given, _ in backend.given[2:]] == [5, 5]  # what sizes make is a number


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("which", ["x", "w", "xw"])
def test_shapes_that_a_derivative_does_not_need(which: str, with_bias: bool, device: str) -> None:
    for _ in range(4):
        found = []
        for where in ("cpu", device):
            x, w = rows(2, 3, 6, 6).to(where), rows(4, 3, 3, 3).to(where)
            bias = rows(4).to(where).requires_grad_() if with_bias else None
            for name, t in (("x", x), ("w", w)):
                t.requires_grad_(name in which)
            F.conv2d(x, w, bias).sum().backward()
            grads = [t.grad for t in (x, w, bias) if t is not None]
            found.append([g.cpu() for g in grads if g is not None])
        assert len(found[0]) == len(which) + with_bias
        torch.testing.assert_close(found[1], found[0])


# -- traits ----------------------------------------------------------------------------------
def test_traits_are_kept_for_compiled_kernels() -> None:
    backend = Noting(contiguous_inputs=True, strided_out=False)
    with discovery.plugged(backend) as device:
        for n in (3, 4, 5, 6):
            x, y = rows(n, 2), rows(2)
            got = torch.xlogy(rows(2, n).to(device).T, y.to(device))
            torch.testing.assert_close(got.cpu(), torch.xlogy(rows(2, n).T, y))
            whole = torch.zeros(n, 4, device=device)
            part = whole[:, ::2].copy_(x)
            part.xlogy_(y.to(device))
            torch.testing.assert_close(whole[:, ::2].cpu(), torch.xlogy(x, y))
            assert not whole[:, 1::2].cpu().any()
    assert len(backend.given) >= 4
    for inputs, out in backend.given:
        assert all(a.flags.c_contiguous for a in inputs)
        assert out is None or out[0].flags.c_contiguous


class Strict(StrictBackend):
    """The device strict with a compiler: its arrays, kernels and numbers are opaque to it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.numbers: list[Any] = []

    def compile(self, graph: Graph, index: int) -> Any:
        kernel = Interpreter(self._host).compile(graph, index)

        def call(*inputs: Any, out: Any = None) -> Any:
            self.calls += 1
            arrays = [x for x in inputs if isinstance(x, StrictArray)]
            self._check("compiled", arrays, None if out is None else out[0])
            opened = [x._data if isinstance(x, StrictArray) else x for x in inputs]
            self.numbers += [x for x in opened if not isinstance(x, np.ndarray)]
            if out is None:
                return StrictArray(kernel(*opened))
            kernel(*opened, out=(out[0]._data,))
            return out[0]

        return call


def test_a_strict_device_runs_what_is_compiled() -> None:
    backend = Strict()
    with discovery.plugged(backend) as device:
        for n in (3, 4, 5, 6):
            x = rows(2, 3, n).requires_grad_()
            y = x.detach().to(device).requires_grad_()
            for function in (F.gelu, lambda t: torch.softmax(t, 1), torch.logsumexp, F.softplus):
                for t in (x, y):
                    arguments = (t.mT, 2) if function is torch.logsumexp else (t.mT,)
                    function(*arguments).square().sum().backward()
            assert y.grad is not None
            torch.testing.assert_close(y.grad.cpu(), x.grad)
            torch.testing.assert_close(
                torch.xlogy(y.detach(), 2.5).cpu(), torch.xlogy(x.detach(), 2.5)
            )
    assert backend.calls >= 8
    # Numbers that this backend makes objects of come as Python numbers.
    assert {type(x) for x in backend.numbers} <= {int, float} and 2.5 in backend.numbers


# -- declining -------------------------------------------------------------------------------
def test_what_declines_late_is_followed_by_what_is_compiled_and_composed(
    backend: Noting, device: str
) -> None:
    asked = []

    @may_decline
    def softmax(x: Any, dim: int) -> Any:
        asked.append(dim)
        return NotImplemented if dim else np.full(x.shape, 7, x.dtype)

    backend.own = softmax
    x = rows(3, 4)
    for n in range(1, 5):
        torch.testing.assert_close(torch.softmax(x.to(device), 1).cpu(), torch.softmax(x, 1))
        assert asked == [1] * n  # the own kernel first, each time
    assert len(backend.given) == 2  # then the compiled one, from the third call on
    assert (torch.softmax(x.to(device), 0) == 7).all()


@pytest.mark.parametrize("rank", [2, 5])
@pytest.mark.parametrize("op", ["add", "sum", "cumsum", "take", "put"])
def test_an_overlays_kernel_declines_under_any_traits(op: str, rank: int) -> None:
    """What stands before a kernel for the sake of traits lets NotImplemented through."""
    with discovery.plugged(StrictBackend()) as name:
        kind = kind_of(Device(name), torch.float32)
        entry = suit_traits(kind, ROWS[op], lambda *args, out=None: NotImplemented)
        x = kind.full((2,) * rank, 1)
        index = kind.i64.zeros((2,))
        operands: dict[str, tuple[Any, ...]] = {
            "add": (x, x),
            "sum": (x, (0,), kind.token),
            "cumsum": (x, 1, kind.token),
            "take": (x, 1, index, False),
            "put": (x, 1, index, x, "set", False),
        }
        assert entry(*operands[op]) is NotImplemented
        if op == "add":
            target = kind.permute(kind.full((2,) * rank, 0), (*range(1, rank), 0))
            assert entry(x, x, out=target) is NotImplemented


# -- faults ----------------------------------------------------------------------------------
def test_an_interrupt_while_compiling_leaves_things_whole(
    backend: Noting, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    compile = Noting.compile

    def interrupted(graph: Graph, index: int) -> Any:
        asked.append(graph)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return compile(backend, graph, index)

    monkeypatch.setattr(backend, "compile", interrupted)
    x = rows(3, 4)
    for _ in range(2):
        F.gelu(x.to(device))
    with pytest.raises(KeyboardInterrupt):
        F.gelu(x.to(device))
    for n in (1, 2):
        torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
        assert len(asked) == 2 and len(backend.given) == n  # asked again at once, then kept


def test_sizes_of_one_are_another_pattern_than_others(backend: Noting, device: str) -> None:
    shapes = [(3, 1), (1, 3), (1, 1), (1,), (), (3, 3)]
    for _ in range(4):
        for shape in shapes:
            x = rows(*shape)
            torch.testing.assert_close(F.gelu(x.to(device)).cpu(), F.gelu(x))
            torch.testing.assert_close(torch.softmax(x.to(device), -1).cpu(), torch.softmax(x, -1))
    given = {inputs[0].shape for inputs, _ in backend.given}
    assert given == set(shapes)


def test_threads_that_compile_the_same_graph_at_once_agree(backend: Noting, device: str) -> None:
    x = rows(3, 4)
    want = F.gelu(x)
    both = threading.Barrier(2)
    compile = Noting.compile
    found: list[torch.Tensor] = []

    def slow(graph: Graph, index: int) -> Any:
        both.wait(60)  # both threads are inside before either goes on
        return compile(backend, graph, index)

    for _ in range(2):
        F.gelu(x.to(device))
    backend.compile = slow  # type: ignore[method-assign]
    kind: Any = torch.empty(0, device=device)._k
    kind.add_row(ROWS["gelu"])  # found anew, with the slow compiler
    for _ in range(2):
        F.gelu(x.to(device))

    def call() -> None:
        found.append(F.gelu(x.to(device)).cpu())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(found) == 2
    for got in found:
        torch.testing.assert_close(got, want)
