"""The steps of optimizers as rows over lists: what kernels get, and what is done without them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from graph_interpreter import Interpreter

import tensorbus as torch
from tensorbus import discovery
from tensorbus._base.size import SIZES
from tensorbus.graph.list_rows import ListRow
from tensorbus.graph.verifying import verify
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.row_handlers import handling
from tensorbus.plugin import Graph, may_decline
from tensorbus.rows.registry import ROWS, Row

Cpu: Any = type(discovery.backend("cpu"))
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "NAdam": {},
    "RAdam": {}, "Adamax": {}, "Adadelta": {}, "Adagrad": {}, "ASGD": {}, "Rprop": {},
    "RMSprop": {"momentum": 0.9, "centered": True},
}  # fmt: skip


def parameters(device: str = "cpu", **options: Any) -> list[torch.Tensor]:
    """Some of each shape and dtype, with gradients."""
    made = []
    for i, (shape, d) in enumerate(
        [((3, 4), torch.float32), ((2,), torch.float64), ((), torch.float32), ((5,), torch.float32)]
    ):
        values = np.random.default_rng(i).standard_normal((2, *shape))
        p = torch.tensor(values[0], dtype=d, device=device).requires_grad_()
        p.grad = torch.tensor(values[1], dtype=d, device=device)
        made.append(p)
    return made


def steps(name: str, params: list[torch.Tensor], count: int = 4, **options: Any) -> Any:
    optimizer = getattr(torch.optim, name)(params, **OPTIMIZERS[name], **options)
    for _ in range(count):
        optimizer.step()
    return optimizer


def same(ours: list[torch.Tensor], theirs: list[torch.Tensor], rtol: float = 1e-6) -> None:
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().cpu().numpy(), rtol=rtol)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_writes_are_counted_and_not_recorded(name: str) -> None:
    params = parameters()
    optimizer = steps(name, params, 1)
    state = [t for p in params for k, t in optimizer.state[p].items() if t.shape == p.shape]
    before = [t._version for t in (*params, *state)]
    optimizer.step()
    counted = [t._version for t in (*params, *state)]
    assert all(a > b for a, b in zip(counted[: len(params)], before, strict=False))
    moved = ROWS[f"{'adam' if name == 'AdamW' else name.lower()}_step"].written
    assert len(moved) >= 2 - (name == "SGD") and all(
        a > b for t, a, b in zip((*params, *state), counted, before, strict=True) if t.dim()
    )
    assert all(t.grad_fn is None for t in (*params, *state))
    assert all(p.requires_grad for p in params) and not any(t.requires_grad for t in state)


def test_what_a_backward_pass_needs_is_not_overwritten_unseen() -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    steps("Adam", [w], 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_plain_way_gives_the_same(name: str) -> None:
    direct, seen = parameters(), parameters()
    rows = []

    def handler(row: Row, arguments: Any, proceed: Any) -> Any:
        rows.append(row.name)
        return proceed(row, arguments)

    steps(name, direct)
    with handling(handler):
        steps(name, seen)
    assert {"mul", "copy_"} <= set(rows)
    assert not any(row.endswith("_step") for row in rows)
    same(seen, direct)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"])
def test_kernels_get_numbers_for_tensors(backend: Kernels, name: str) -> None:
    params, wanted = parameters(backend.place), parameters()
    betas = (torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.75, dtype=torch.float64))
    lr = torch.tensor(0.125)
    tensors = getattr(torch.optim, name)(params, lr=lr, betas=betas)
    numbers = getattr(torch.optim, name)(wanted, lr=0.125, betas=(0.5, 0.75))
    for _ in range(4):
        tensors.step()
        numbers.step()
    same(params, wanted)
    assert backend.numbers and all(type(x) in (int, float) for x in backend.numbers)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_differentiable_step_is_recorded(name: str) -> None:
    leaves = [torch.ones(3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    given = [x * 1.5 for x in leaves]
    for p in given:
        p.grad = torch.full((3,), 0.5, dtype=torch.float64)
    steps(name, given, 1, differentiable=True)
    assert all(p.grad_fn is not None for p in given)
    (slope,) = torch.autograd.grad(given[0].sum(), leaves[0])
    kept = 1 - 0.01 if name == "AdamW" else 1.0
    kept = 1 - 0.01 * 1e-4 if name == "ASGD" else kept
    decay = getattr(torch.optim, name)([torch.ones(1)]).defaults.get("weight_decay", 0)
    expected = 1.5 * (1 - 1e-3 * decay) if name == "AdamW" else 1.5 * kept
    np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("view", [False, True])
def test_a_gradient_in_the_memory_of_its_parameter_is_read_before_it_is_written(view: bool) -> None:
    own, apart = (torch.tensor([1.0, -2.0, 3.0], requires_grad=True) for _ in range(2))
    own.grad, apart.grad = own.detach(), apart.detach().clone()
    if view:
        own.grad = own.detach().view(3)
    for p in (own, apart):
        torch.optim.AdamW([p], lr=0.5, weight_decay=0.5).step()
    assert torch.equal(own, apart)


def test_gradients_of_another_dtype_take_the_plain_way() -> None:
    p = torch.ones(3, dtype=torch.float32, requires_grad=True)
    p.grad_dtype = torch.float64
    p.grad = torch.full((3,), 0.5, dtype=torch.float64)
    torch.optim.SGD([p], lr=0.5).step()
    assert p.dtype is torch.float32 and p.tolist() == [0.75] * 3


def test_memory_that_is_shared_among_elements_is_refused_and_nothing_counted() -> None:
    first = torch.ones(3, requires_grad=True)
    shared = torch.ones(1).expand(3).requires_grad_()
    first.grad = shared.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.optim.SGD([first, shared], lr=0.5).step()
    assert first.tolist() == [1.0] * 3 and first._version == 0


def test_inference_tensors_are_refused() -> None:
    with torch.inference_mode():
        p = torch.ones(3)
    p.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        torch.optim.SGD([p], lr=0.5).step()


def test_members_of_unlike_shape_are_refused() -> None:
    p = torch.ones(2, 3, requires_grad=True)
    p.grad = torch.ones(2, 3)
    optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.5)
    optimizer.step()
    optimizer.state[p]["momentum_buffer"] = torch.ones(3)
    with pytest.raises(
        RuntimeError, match=r"shape \[3\] doesn't match the broadcast shape \[2, 3\]"
    ):
        optimizer.step()


def test_lists_may_be_empty() -> None:
    nothing = torch.ones(0, 3, requires_grad=True)
    nothing.grad = torch.ones(0, 3)
    idle = torch.ones(2, requires_grad=True)
    for name in OPTIMIZERS:
        steps(name, [nothing, idle], 2)
    assert idle.tolist() == [1.0, 1.0] and idle._version == 0 and nothing._version > 0
    core("sgd_step")([], [], [], 0.1, 0.0, 1.0, 0.0, False, False, False, False, False)


class Kernels(Cpu):  # type: ignore[misc]
    """The device cpu with a kernel of its own for SGD, and a compiler that runs graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, ...]] = []
        self.graphs: list[Graph] = []
        self.numbers: list[Any] = []
        self.runs = 0
        self.declines = False

    def kernel(self, op: str, dtype: Any, index: int) -> Any:
        if op != "sgd_step":
            return super().kernel(op, dtype, index)
        return may_decline(lambda *args: self.sgd(*args))

    def sgd(self, params: Any, grads: Any, velocities: Any, lr: float, *rest: Any) -> Any:
        self.calls.append(([p.shape for p in params], velocities, lr, *rest))
        if self.declines:
            return NotImplemented
        for p, g in zip(params, grads, strict=True):
            p -= lr * g
        return None

    def compile(self, graph: Graph, index: int) -> Any:
        if not graph.writes:
            return None
        verify(graph)
        self.graphs.append(graph)
        kernel = Interpreter(self).compile(graph, index)

        def run(*inputs: Any, out: Any = None) -> Any:
            self.runs += 1
            self.numbers += [x for x in inputs if not isinstance(x, np.ndarray)]
            return NotImplemented if self.declines else kernel(*inputs, out=out)

        return run


@pytest.fixture
def backend() -> Iterator[Kernels]:
    made = Kernels()
    with discovery.plugged(made) as name:
        made.place = name
        yield made


def test_a_kernel_gets_all_members_of_a_kind_at_once(backend: Kernels) -> None:
    params, wanted = parameters(backend.place), parameters()
    torch.optim.SGD(params, lr=0.25, maximize=False).step()
    torch.optim.SGD(wanted, lr=0.25).step()
    same(params, wanted)
    rest = (0, 1, 0, False, False, False, False, False)
    assert [call[0] for call in backend.calls] == [[(3, 4), (), (5,)], [(2,)]]
    assert all(call[1:] == ([], 0.25, *rest) for call in backend.calls)


def test_a_kernel_gets_members_whose_equal_shapes_are_not_one_object(backend: Kernels) -> None:
    """As after ten thousand other shapes, when the table of shapes begins anew."""
    p = torch.ones(2, 3, device=backend.place, requires_grad=True)
    SIZES.clear()
    p.grad = torch.ones(2, 3, device=backend.place)
    assert p.shape is not p.grad.shape
    torch.optim.SGD([p], lr=0.25).step()
    assert [call[0] for call in backend.calls] == [[(2, 3)]]


def test_a_kernel_that_declines_is_followed_by_the_composition(backend: Kernels) -> None:
    backend.declines = True
    params, wanted = parameters(backend.place), parameters()
    steps("SGD", params)
    steps("SGD", wanted)
    same(params, wanted)
    assert len(backend.calls) == 2 * 4


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "SGD"])
def test_a_compiler_gets_a_graph_that_writes(backend: Kernels, name: str) -> None:
    params, wanted = parameters(backend.place), parameters()
    count = 8 if name == "RAdam" else 5
    steps(name, params, count)
    steps(name, wanted, count)
    same(params, wanted)
    assert backend.graphs and backend.runs >= len(params)
    for graph in backend.graphs:
        outputs, inputs = zip(*graph.writes, strict=True)
        assert outputs == tuple(range(len(graph.outputs))) and len(set(inputs)) == len(inputs)
    # Numbers are inputs: the counts of steps, which hang on the call, compile nothing anew.
    graphs = len(backend.graphs)
    steps(name, parameters(backend.place), count)
    assert len(backend.graphs) == graphs


def test_a_compiled_step_may_decline(backend: Kernels) -> None:
    backend.declines = True
    params, wanted = parameters(backend.place), parameters()
    steps("Adam", params)
    steps("Adam", wanted)
    same(params, wanted)
    assert backend.runs > 0


def test_many_elements_are_stepped_by_pieces_to_the_same_bits() -> None:
    count = 800_003
    values = np.random.default_rng(0).standard_normal((2, count)).astype(np.float32)
    whole = torch.tensor(values[0]).requires_grad_()
    parts = [torch.tensor(x).requires_grad_() for x in np.split(values[0], [1000, 300_000])]
    whole.grad = torch.tensor(values[1])
    for p, g in zip(parts, np.split(values[1], [1000, 300_000]), strict=True):
        p.grad = torch.tensor(g)
    for name in OPTIMIZERS:
        steps(name, [whole])
        steps(name, parts)
        assert torch.equal(torch.cat(parts), whole), name


def test_other_warnings_than_before_are_not_shown() -> None:
    p = torch.full((3,), 3e38, requires_grad=True)
    p.grad = torch.full((3,), 3e38)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps("Adam", [p], 1)
    assert torch.isfinite(p).all()


def test_steps_are_rows_that_say_what_they_write() -> None:
    row = ROWS["adam_step"]
    assert row.written == ("p", "m", "v", "largest") and row.sequences == row.tensors
    assert row.numbers[:2] == ("beta1", "rest1")
    assert "p: sequence of tensors, which are written to\ng: sequence of tensors\n" in (
        row.documentation
    )
    entry = torch.ones(2)._k.__dict__["adam_step"]
    assert getattr(entry, "func", None) is not None or isinstance(entry, ListRow)
    with pytest.raises(ValueError, match="writes some"):
        Row("wrong", "x:T*", "list", "Nothing.")
    with pytest.raises(ValueError, match="are for form list"):
        Row("wrong", "x:T*!", "general", "Nothing.")
    with pytest.raises(ValueError, match="come first, then its numbers"):
        Row("wrong", "x:T*!, decays, lr:number", "list", "Nothing.")
