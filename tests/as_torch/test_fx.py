"""``torch.fx``: graphs of programs, which run, change, copy and pickle."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import pytest

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import fx, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scale = nn.Parameter(torch.full((4,), 2.0))
        self.register_buffer("shift", torch.ones(4))
        self.const = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: Any, factor: float = 2.0, *, power: int = 1) -> Any:
        h = self.first(x) * self.scale + self.shift - self.const
        left, right = h.chunk(2, dim=1)
        rows, columns = x.shape
        y = F.relu(torch.cat([left, right], 1)).view(rows, -1) + math.sqrt(columns)
        return {"y": self.rest(y)[:, 1:], "z": (-(x.size(0)) * factor, (-2) ** power)}


@fx.wrap
def wrapped(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def same(got: Any, wanted: Any) -> None:
    assert torch.equal(got["y"], wanted["y"]) and got["z"] == wanted["z"]


@pytest.fixture
def net() -> Net:
    torch.manual_seed(1)
    return Net()


def test_a_traced_module_does_what_the_module_does(net: Net) -> None:
    traced = fx.symbolic_trace(net)
    x = torch.randn(3, 4)
    traced.graph.lint()
    same(traced(x), net(x))
    same(traced(x, 3.0, power=2), net(x, 3.0, power=2))
    same(traced(torch.randn(5, 4) * 0 + x[:1]), net(x[:1].repeat(5, 1)))  # sizes are steps too
    same(fx.Interpreter(traced).run(x), net(x))
    same(fx.Transformer(traced).transform()(x), net(x))
    assert dict(traced.named_parameters()).keys() == dict(net.named_parameters()).keys()
    assert traced.first is net.first and type(traced).__name__ == "Net"
    traced(x)["y"].sum().backward()
    assert net.scale.grad is not None and torch.isfinite(net.scale.grad).all()


def test_copies_and_pickles_run(net: Net) -> None:
    traced = fx.symbolic_trace(net)
    x = torch.randn(2, 4)
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        same(other(x), net(x))
        assert other.code == traced.code and other.graph is not traced.graph
        other.first.weight.data.zero_()
    same(traced(x), net(x))


def test_code_is_python_with_values_let_go_after_their_last_use() -> None:
    traced = fx.symbolic_trace(lambda x, y=1: torch.add(x, y).relu() ** -2)
    assert traced.code.splitlines() == [
        "def forward(self, x, y = 1):",
        "    add = torch.add(x, y);  x = y = None",
        "    relu = add.relu();  add = None",
        "    pow_1 = relu ** (-2);  relu = None",
        "    return pow_1",
    ]
    first, second = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x + 2)
    assert (first(1), second(1)) == (2, 3)  # each instance has a forward of its own


def test_graphs_are_changed() -> None:
    traced = fx.symbolic_trace(lambda x: (x + 1) * (x + 1))
    graph = traced.graph
    for node in graph.find_nodes(op="call_function", target=operator.add):
        with graph.inserting_after(node):
            new = graph.call_function(torch.sub, (node.args[0], 1.0))
        assert node.replace_all_uses_with(new) and not node.users
        graph.erase_node(node)
    traced.recompile()
    assert traced(torch.tensor(5.0)).item() == 16.0
    dead = graph.find_nodes(op="call_function", target=torch.sub)[0]
    with pytest.raises(RuntimeError, match="still had 1 users in the graph"):
        graph.erase_node(dead)
    with graph.inserting_before(graph.output_node()):
        graph.call_function(torch.neg, (dead,))
    count = len(graph.nodes)
    assert graph.eliminate_dead_code() and len(graph.nodes) == count - 1
    assert not graph.eliminate_dead_code()
    assert next(n.name for n in reversed(graph.nodes)) == "output"
    output = graph.output_node()
    dead.append(graph.placeholder("late"))
    dead.prepend(output)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()


def test_wrapped_functions_and_own_tracers(net: Net) -> None:
    traced = fx.symbolic_trace(lambda x: wrapped(x) * 2)
    assert [n.op for n in traced.graph.nodes].count("call_function") == 2
    assert traced(torch.tensor(3.0)).item() == 8.0 and traced(torch.tensor(-3.0)).item() == -8.0
    assert wrapped(torch.tensor(1.0)).item() == 2.0  # as before, outside of tracing

    class Whole(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, nn.Sequential)

    graph = Whole().trace(net)
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["rest"]
    assert "first.weight" in [n.target for n in graph.find_nodes(op="get_attr")]
    x = torch.randn(2, 4)
    same(fx.GraphModule(net, graph)(x), net(x))
    graph = fx.Tracer().trace(lambda x, flag: x if flag else -x, {"flag": False})
    assert [n.name for n in graph.nodes] == ["x", "neg", "output"]


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, ValueError, "inputs to control flow"),
        (lambda x: [y + 1 for y in x], ValueError, "Proxy object cannot be iterated"),
        (lambda x: len(x), RuntimeError, "'len' is not supported in symbolic tracing"),
        (lambda x: range(x), ValueError, "while tracing"),
    ],
)
def test_what_hangs_on_values_is_refused(program: Any, error: type, text: str) -> None:
    call, read = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(error, match=text):
        fx.symbolic_trace(program)
    assert nn.Module.__call__ is call and nn.Module.__getattr__ is read
    assert math.sqrt(4) == 2.0 and type(math.sqrt) is type(len)


def test_graphs_are_made_by_hand() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("inner.weight")
    y = graph.call_module("inner", (graph.call_method("abs", (x,)),))
    graph.output([y, graph.call_function(torch.sum, (weight,), {"dim": -1})])
    inner = nn.Linear(2, 1)
    for root in (nn.ModuleDict({"inner": inner}), {"inner": inner, "inner.weight": inner.weight}):
        made = fx.GraphModule(root, graph)
        x_, (got, total) = torch.tensor([[-1.0, 2.0]]), made(torch.tensor([[-1.0, 2.0]]))
        assert torch.equal(got, inner(x_.abs())) and torch.equal(total, inner.weight.sum(-1))
    with pytest.raises(RuntimeError, match="no key of the given root"):
        fx.GraphModule({"inner": inner}, graph)
    with pytest.raises(RuntimeError, match="but one was not passed in"):
        fx.Interpreter(made).run()


def test_checks_are_steps_of_a_graph() -> None:
    def program(x: Any) -> Any:
        torch._assert(x.shape[0] == 2, "two, please")
        return x + 1

    traced = fx.symbolic_trace(program)
    assert [n.target for n in traced.graph.find_nodes(op="call_function")][-2] is torch._assert
    assert traced(torch.zeros(2)).tolist() == [1, 1]
    with pytest.raises(AssertionError, match="two, please"):
        traced(torch.zeros(3))


def test_proxies_add_to_a_graph_that_is_made_by_hand() -> None:
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x, y = (fx.Proxy(graph.placeholder(name), tracer=tracer) for name in "xy")
    assert isinstance(tracer, fx.proxy.TracerBase) and isinstance(fx.Tracer(), fx.proxy.TracerBase)
    graph.output((torch.einsum("i,i->", (x, y)) + fx.Proxy(x.node).abs().sum()).node)
    assert [n.name for n in graph.nodes] == ["x", "y", "einsum", "abs_1", "sum_1", "add", "output"]
    assert next(n for n in graph.nodes if n.name == "einsum").args == ("i,i->", x.node, y.node)
    made = fx.GraphModule(nn.Module(), graph)
    assert made(torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 4.0])).item() == 8.0
