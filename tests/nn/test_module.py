"""Module: members, traversal, conversion, copying, printing."""

import copy
import pickle

import numpy as np
import pytest

import tensorbus
from tensorbus import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias=False)
        self.register_buffer("scale", tensorbus.ones(2))
        self.register_buffer("scratch", tensorbus.zeros(1), persistent=False)
        self.gain = nn.Parameter(tensorbus.ones(2))

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale * self.gain


def values(tensor):
    return tensor.detach().numpy()


def test_call_runs_forward_with_all_arguments():
    class Adder(nn.Module):
        def forward(self, x, y, *, times=1):
            return (x + y) * times

    result = Adder()(tensorbus.tensor([1.0]), tensorbus.tensor([2.0]), times=3)
    assert values(result).tolist() == [9.0]


def test_forward_that_is_missing_is_an_error_that_names_the_class():
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match=r'Module \[Empty\] is missing the required "for'):
        Empty()(1)


def test_members_are_found_by_kind_and_in_order():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "gain",
        "first.weight",
        "first.bias",
        "second.weight",
    ]
    assert [name for name, _ in net.named_buffers()] == ["scale", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["gain"]
    assert [name for name, _ in net.named_parameters(prefix="net")][1] == "net.first.weight"
    assert len(list(net.parameters())) == 4
    assert len(list(net.buffers())) == 2


def test_a_shared_module_is_visited_once_unless_asked_otherwise():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, nn.ReLU(), layer)
    assert len(list(net.parameters())) == 2
    assert len(list(net.modules())) == 3
    assert len(list(net.children())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]


def test_a_module_may_be_used_many_times_in_one_forward():
    layer = nn.Linear(1, 1, bias=False)
    with tensorbus.no_grad():
        layer.weight.fill_(3.0)
    layer(layer(layer(tensorbus.ones(1)))).sum().backward()
    assert values(layer.weight.grad).tolist() == [[27.0]]


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (lambda m, n: m.add_module(n, nn.ReLU()), "module name can't"),
        (lambda m, n: m.register_module(n, nn.ReLU()), "module name can't"),
        (lambda m, n: setattr(m, n, nn.ReLU()), "module name can't"),
        (lambda m, n: m.register_parameter(n, None), "parameter name can't"),
        (lambda m, n: setattr(m, n, nn.Parameter(tensorbus.ones(1))), "parameter name can't"),
        (lambda m, n: m.register_buffer(n, None), "buffer name can't"),
    ],
)
def test_names_are_neither_empty_nor_dotted(register, text):
    with pytest.raises(KeyError) as empty:
        register(nn.Module(), "")
    assert empty.value.args[0] == f'{text} be empty string ""'
    with pytest.raises(KeyError) as dotted:
        register(nn.Module(), "a.b")
    assert dotted.value.args[0].startswith(f'{text} contain "."')


def test_a_name_that_is_taken_is_refused():
    module = nn.Module()
    module.taken = 1
    for register in (module.register_buffer, module.register_parameter, module.add_module):
        with pytest.raises(KeyError, match="attribute 'taken' already exists"):
            register("taken", None)
    with pytest.raises(KeyError, match="attribute 'forward' already exists"):
        module.register_buffer("forward", None)


def test_registering_the_wrong_type_says_what_was_given():
    module = nn.Module()
    with pytest.raises(TypeError, match=r"cannot assign 'int' object to parameter 'p' \(torch.nn"):
        module.register_parameter("p", 3)
    with pytest.raises(TypeError, match="cannot assign 'list' object to buffer 'b'"):
        module.register_buffer("b", [1])
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        module.add_module("m", 3)
    with pytest.raises(TypeError, match=r"module name should be a string. Got int"):
        module.add_module(3, nn.ReLU())


def test_a_result_of_an_operation_is_no_parameter():
    leaf = nn.Parameter(tensorbus.ones(2))
    module = nn.Module()
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' object to parameter"):
        module.register_parameter("p", leaf * 2)


def test_assignment_moves_a_name_between_kinds():
    module = nn.Module()
    module.thing = 5
    module.thing = nn.Parameter(tensorbus.ones(1))
    assert list(dict(module.named_parameters())) == ["thing"]
    assert "thing" not in module.__dict__
    with pytest.raises(TypeError, match=r"ReLU' as parameter 'thing' \(torch.nn.Parameter or None"):
        module.thing = nn.ReLU()
    del module.thing
    assert list(module.parameters()) == []
    module.register_buffer("thing", tensorbus.ones(1), persistent=False)
    module.thing = nn.ReLU()
    assert list(module.buffers()) == []
    assert isinstance(module.thing, nn.ReLU)
    with pytest.raises(TypeError, match=r"cannot assign 'str' as child module 'thing' \(torch.nn"):
        module.thing = "text"
    module.thing = None
    assert module.thing is None
    del module.thing
    assert not hasattr(module, "thing")


def test_a_parameter_takes_only_parameters_or_none():
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'weight'"):
        layer.weight = tensorbus.ones(2, 2)
    layer.bias = None
    assert layer.bias is None
    assert "bias" in layer._parameters


def test_a_buffer_takes_tensors_and_keeps_being_one():
    net = Net()
    net.scale = tensorbus.zeros(2)
    assert values(dict(net.named_buffers())["scale"]).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="cannot assign 'int' as buffer 'scale'"):
        net.scale = 3


def test_buffer_objects_register_themselves():
    module = nn.Module()
    module.kept = nn.Buffer(tensorbus.ones(1))
    module.left_out = nn.Buffer(tensorbus.ones(1), persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["kept", "left_out"]
    assert list(module.state_dict()) == ["kept"]


def test_assigning_before_init_is_an_error():
    class Early(nn.Module):
        def __init__(self, value):
            self.member = value
            super().__init__()

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\)"):
        Early(nn.ReLU())
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__"):
        Early(nn.Parameter(tensorbus.ones(1)))


def test_a_missing_attribute_names_the_class():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        _ = nn.Linear(1, 1).wieght


def test_dir_lists_members_but_no_numbers():
    names = dir(nn.Sequential(nn.Linear(1, 1)))
    assert "0" not in names
    assert {"weight", "bias", "forward"} <= set(dir(nn.Linear(1, 1)))


def test_dotted_access():
    net = nn.Sequential(Net(), nn.BatchNorm1d(2))
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_submodule("") is net
    assert net.get_parameter("0.first.weight") is net[0].first.weight
    assert net.get_buffer("1.running_mean") is net[1].running_mean
    with pytest.raises(AttributeError, match="Net has no attribute `third`"):
        net.get_submodule("0.third")
    with pytest.raises(AttributeError, match=r"`gain` is not an nn.Module"):
        net.get_submodule("0.gain")
    with pytest.raises(AttributeError, match=r"`first` is not an nn.Parameter"):
        net.get_parameter("0.first")
    with pytest.raises(AttributeError, match="`gain` is not a buffer"):
        net.get_buffer("0.gain")
    net.set_submodule("0.first", nn.Identity())
    assert isinstance(net[0].first, nn.Identity)
    with pytest.raises(ValueError, match="without a target name"):
        net.set_submodule("", nn.Identity())


def test_train_and_eval_reach_all_modules():
    net = nn.Sequential(Net(), nn.Dropout())
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train(1)


def test_apply_visits_children_first():
    seen = []
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "ReLU", "Sequential"]


def test_requires_grad_and_zero_grad():
    net = Net()
    net(tensorbus.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all((values(p.grad) == 0).all() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    assert not net(tensorbus.ones(1, 3)).requires_grad


def test_conversion_keeps_parameters_the_same_objects():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = list(net.parameters())
    net(tensorbus.ones(3, 2)).sum().backward()
    assert net.double() is net
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert {p.dtype for p in net.parameters()} == {tensorbus.float64}
    assert {p.grad.dtype for p in net.parameters()} == {tensorbus.float64}
    assert net[1].running_mean.dtype == tensorbus.float64
    assert net[1].num_batches_tracked.dtype == tensorbus.int64
    assert net(tensorbus.ones(3, 2).double()).dtype == tensorbus.float64
    net.to(tensorbus.float16)
    assert net[0].weight.dtype == tensorbus.float16
    net.to(tensorbus.zeros(1))
    assert net[0].weight.dtype == tensorbus.float32
    net.half().float()
    assert net[0].weight.dtype == tensorbus.float32
    net.to("cpu", tensorbus.float64)
    assert net[0].weight.dtype == tensorbus.float64
    net.to(device="cpu", dtype=tensorbus.float32)
    assert net[0].weight.dtype == tensorbus.float32
    assert net.cpu() is net


def test_to_takes_no_integer_dtype():
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes, but got"):
        nn.Linear(1, 1).to(tensorbus.int32)


def test_repr_nests_and_indents():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )

    class WithExtra(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(WithExtra()) == "WithExtra(\n  one\n  two\n)"


def test_deepcopy_is_independent_and_keeps_sharing():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    twin = copy.deepcopy(net)
    assert twin[0] is twin[1]
    assert twin[0].weight is not layer.weight
    assert isinstance(twin[0].weight, nn.Parameter)
    with tensorbus.no_grad():
        twin[0].weight.fill_(7.0)
    assert not (values(layer.weight) == 7.0).any()


def test_pickle_round_trip():
    layer = nn.BatchNorm1d(3).eval()
    again = pickle.loads(pickle.dumps(layer))
    assert not again.training
    assert repr(again) == repr(layer)
    for (name, a), (other, b) in zip(
        layer.state_dict().items(), again.state_dict().items(), strict=True
    ):
        assert name == other
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_module_without_hooks_makes_no_hook_tables():
    layer = nn.Linear(1, 1)
    layer(tensorbus.ones(1))
    assert layer._hooks is None
