"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from collections import OrderedDict

import pytest

import tensorbus
from tensorbus import nn


class Add(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return x + self.amount


def amounts(modules):
    return [module.amount for module in modules]


def test_sequential_runs_in_order():
    net = nn.Sequential(Add(1), Add(2))
    assert net(tensorbus.tensor(0.0)).item() == 3.0
    assert len(net) == 2
    assert nn.Sequential()(5) == 5


def test_sequential_with_names():
    net = nn.Sequential(OrderedDict(first=Add(1), second=Add(2)))
    assert net.first is net[0]
    assert net[-1] is net.second
    part = net[1:]
    assert isinstance(part, nn.Sequential)
    assert [name for name, _ in part.named_children()] == ["second"]


def test_sequential_changes():
    net = nn.Sequential(Add(1), Add(2), Add(3))
    net[1] = Add(20)
    net.append(Add(4)).extend([Add(5)])
    net.insert(0, Add(0))
    assert amounts(net) == [0, 1, 20, 3, 4, 5]
    assert net.pop(2).amount == 20
    del net[-1]
    del net[:2]
    assert amounts(net) == [3, 4]
    assert [name for name, _ in net.named_children()] == ["0", "1"]
    with pytest.raises(IndexError, match="index 2 is out of range"):
        _ = net[2]
    with pytest.raises(IndexError, match="Index out of range: 5"):
        net.insert(5, Add(1))


def test_sequential_arithmetic():
    a, b = nn.Sequential(Add(1)), nn.Sequential(Add(2))
    assert amounts(a + b) == [1, 2]
    assert amounts(b * 2) == [2, 2]
    assert amounts(2 * b) == [2, 2]
    a += b
    a *= 2
    assert amounts(a) == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
        a.__add__([Add(1)])
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        a * 0
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*"):
        a * 1.5


def test_module_list():
    modules = nn.ModuleList([Add(0), Add(1)])
    modules.append(Add(2)).extend(Add(i) for i in (3, 4))
    modules += [Add(5)]
    modules.insert(1, Add(10))
    assert amounts(modules) == [0, 10, 1, 2, 3, 4, 5]
    assert amounts(modules[-2:]) == [4, 5]
    assert amounts(modules + nn.ModuleList([Add(6)]))[-1] == 6
    modules[0] = Add(-1)
    del modules[1]
    assert modules.pop(-1).amount == 5
    assert amounts(modules) == [-1, 1, 2, 3, 4]
    assert [name for name, _ in modules.named_children()] == list("01234")
    with pytest.raises(IndexError, match="index -6 is out of range"):
        _ = modules[-6]
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but"):
        modules.extend(3)
    with pytest.raises(NotImplementedError):
        modules(1)


def test_module_list_shows_equal_neighbours_once():
    modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    assert repr(modules) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_parameters_of_containers_belong_to_their_owner():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(1, 1)])
            self.heads = nn.ModuleDict({"a": nn.Linear(1, 1, bias=False)})
            self.free = nn.ParameterList([tensorbus.ones(1)])
            self.named = nn.ParameterDict({"p": tensorbus.ones(1)})

    assert [name for name, _ in Net().named_parameters()] == [
        "layers.0.weight",
        "layers.0.bias",
        "heads.a.weight",
        "free.0",
        "named.p",
    ]


def test_module_dict():
    modules = nn.ModuleDict({"one": Add(1), "two": Add(2)})
    modules.update([("three", Add(3))])
    modules["four"] = Add(4)
    assert list(modules) == ["one", "two", "three", "four"]
    assert "two" in modules
    assert modules.pop("two").amount == 2
    del modules["one"]
    assert list(modules.keys()) == ["three", "four"]
    assert amounts(modules.values()) == [3, 4]
    assert dict(modules.items())["four"].amount == 4
    modules.clear()
    assert len(modules) == 0
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        modules.update(3)
    with pytest.raises(ValueError, match="element #0 has length 3; 2 is required"):
        modules.update([(1, 2, 3)])
    with pytest.raises(KeyError):
        modules["a.b"] = Add(1)


def test_parameter_list():
    params = nn.ParameterList([nn.Parameter(tensorbus.ones(2)), tensorbus.zeros(3)])
    params.append("text").extend([tensorbus.ones(1)])
    assert len(params) == 4
    assert isinstance(params[1], nn.Parameter)
    assert params[2] == "text"
    assert len(params[::2]) == 2
    assert [name for name, _ in params.named_parameters()] == ["0", "1", "3"]
    params[0] = tensorbus.zeros(5)
    assert params[0].shape == (5,)
    with pytest.raises(IndexError, match="index 4 is out of range"):
        _ = params[4]
    with pytest.raises(RuntimeError, match="ParameterList should not be called"):
        params(1)
    assert repr(nn.ParameterList([tensorbus.zeros(2, 3)])) == (
        "ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])"
    )


def test_parameter_dict():
    params = nn.ParameterDict({"a": tensorbus.ones(1)})
    params.update({"b": tensorbus.zeros(2)})
    params["c"] = 5
    assert list(params) == ["a", "b", "c"]
    assert isinstance(params["b"], nn.Parameter)
    assert params.get("z", 1) == 1
    assert params.setdefault("d", 4) == 4
    assert params.popitem() == ("d", 4)
    assert params.pop("c") == 5
    assert list((params | nn.ParameterDict({"e": tensorbus.ones(1)})).keys()) == ["a", "b", "e"]
    twin = params.copy()
    assert twin["a"] is params["a"]
    del twin["a"]
    assert "a" in params
    assert list(reversed(params)) == ["b", "a"]
    assert list(params.fromkeys(["x", "y"], 0).values()) == [0, 0]
    with pytest.raises(TypeError, match=r"not a string \(type is 'int'\)"):
        params[1] = 2
    params.clear()
    assert list(params.parameters()) == []


def test_a_parameter_dict_sorts_what_a_dict_brings():
    """As PyTorch's does: an optimizer's state goes by the order of parameters."""
    given = {"b": tensorbus.ones(1), "a": tensorbus.ones(2)}
    assert [*nn.ParameterDict(given)] == ["a", "b"]
    assert [*nn.ParameterDict(list(given.items()))] == ["b", "a"]
    assert [*nn.ParameterDict(OrderedDict(given))] == ["b", "a"]
    ordered = nn.ParameterDict(list(given.items()))
    assert [*nn.ParameterDict(ordered)] == ["b", "a"]
    ordered.update({"d": 1, "c": 2})
    assert [*ordered] == ["b", "a", "c", "d"]
    later = nn.ParameterDict({"a": tensorbus.zeros(3), "z": 1})
    merged = later.__ror__(ordered)
    assert [*merged] == ["b", "a", "c", "d", "z"] and merged["a"] is later["a"]
    assert [*ordered] == ["b", "a", "c", "d"]
