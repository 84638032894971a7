"""Tables of hooks under PyTorch's private names, the older hooks, and hooks of registration."""

import copy
import pickle
import warnings

import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn.modules import module as registering
from tensorbus.nn.modules._hooks import EVERYWHERE

TABLES = [
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
]


def plus_one(module, args, output):
    return output + 1


def test_tables_are_empty_at_first_and_each_registration_fills_its_own(oracle):
    def program(lib):
        layer, found = lib.nn.Linear(2, 2), []

        def lengths():
            found.append([len(getattr(layer, name)) for name in TABLES])

        lengths()
        for register, options in (
            ("register_forward_hook", {"with_kwargs": True}),
            ("register_forward_hook", {"always_call": True}),
            ("register_forward_pre_hook", {"with_kwargs": True}),
            ("register_full_backward_hook", {}),
            ("register_full_backward_pre_hook", {}),
            ("register_state_dict_post_hook", {}),
            ("register_state_dict_pre_hook", {}),
            ("register_load_state_dict_pre_hook", {}),
            ("register_load_state_dict_post_hook", {}),
            ("_register_state_dict_hook", {}),
            ("_register_load_state_dict_pre_hook", {}),
        ):
            getattr(layer, register)(lambda *a: None, **options)
            lengths()
        return found, layer._is_full_backward_hook

    assert program(tensorbus) == oracle(program)


def test_hooks_can_be_read_taken_out_and_set_through_the_tables():
    layer = nn.Identity()
    x = tensorbus.tensor(1.0)
    layer.register_forward_hook(plus_one)
    assert list(layer._forward_hooks.values()) == [plus_one]
    for hook_id, hook in list(layer._forward_hooks.items()):
        assert hook is plus_one
        del layer._forward_hooks[hook_id]
    assert layer(x).item() == 1.0
    layer._forward_hooks[-1] = plus_one
    assert layer(x).item() == 2.0
    layer._forward_hooks = {7: plus_one, 8: plus_one}
    assert layer(x).item() == 3.0
    layer._forward_hooks.clear()
    assert layer(x).item() == 1.0


def test_marks_of_hooks_that_are_gone_do_not_pile_up():
    layer = nn.Identity()
    for _ in range(5):
        layer.register_forward_hook(lambda m, args, kwargs, out: None, with_kwargs=True).remove()
    assert len(layer._forward_hooks_with_kwargs) <= 1


def with_options(module, args, kwargs, output):
    return output + kwargs["by"]


class Takes(nn.Module):
    def forward(self, x, by):
        return x


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_hooks_with_their_options(again):
    module = Takes()
    module.register_forward_hook(with_options, with_kwargs=True)
    assert again(module)(tensorbus.tensor(1.0), by=5).item() == 6.0


def test_older_backward_hooks_see_the_gradients_of_the_last_node(oracle):
    def program(lib):
        seen = []
        layer = lib.nn.ReLU()
        layer.register_backward_hook(
            lambda m, grad_input, grad_output: seen.append((grad_input, grad_output))
        )
        x = lib.tensor([2.0, -3.0], requires_grad=True)
        (layer(x * 1.0) * lib.tensor([5.0, 7.0])).sum().backward()
        return [[t.tolist() for t in ts] for ts in seen[0]], layer._is_full_backward_hook

    assert program(tensorbus) == oracle(program)


@pytest.mark.parametrize("case", ["chain", "list", "keyword"])
def test_older_backward_hooks_warn_where_gradients_are_missing(case, oracle):
    def program(lib):
        class Net(lib.nn.Module):
            def forward(self, x):
                x = x["x"] if case == "keyword" else x
                y = x * 2 + 1 if case == "chain" else x * 2
                return [y] if case == "list" else y

        net = Net()
        net.register_backward_hook(lambda *a: None)
        x = lib.ones(2, requires_grad=True) * 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            net({"x": x} if case == "keyword" else x)
        return [(w.category.__name__, str(w.message).split("This hook")[0]) for w in caught]

    assert program(tensorbus) == oracle(program)


def test_both_sorts_of_backward_hooks_on_one_module_are_refused(oracle):
    def program(lib):
        texts = []
        for first, second in (
            ("register_backward_hook", "register_full_backward_hook"),
            ("register_full_backward_hook", "register_backward_hook"),
        ):
            layer = lib.nn.ReLU()
            getattr(layer, first)(lambda *a: None)
            try:
                getattr(layer, second)(lambda *a: None)
            except RuntimeError as error:
                texts.append(str(error).split(". Please")[0])
        return texts

    ours = program(tensorbus)
    assert len(ours) == 2
    assert ours == oracle(program)


def test_private_state_dict_hooks():
    layer = nn.Linear(1, 1)
    layer._register_state_dict_hook(lambda m, state, prefix, meta: {"only": state["bias"]})
    assert list(layer.state_dict()) == ["only"]
    seen = []
    other = nn.Linear(1, 1)
    other._register_load_state_dict_pre_hook(lambda *args: seen.append(len(args)))
    other._register_load_state_dict_pre_hook(lambda *args: seen.append(args[0]), with_module=True)
    other.load_state_dict(other.state_dict())
    assert seen == [7, other]


def test_hooks_of_registration_see_and_replace_members():
    seen = []
    handles = [
        registering.register_module_parameter_registration_hook(
            lambda m, name, p: seen.append(name)
        ),
        registering.register_module_buffer_registration_hook(
            lambda m, name, b: None if b is None else b + 1
        ),
        registering.register_module_module_registration_hook(
            lambda m, name, child: nn.Identity() if name == "swapped" else None
        ),
    ]
    try:
        net = nn.Module()
        net.weight = nn.Parameter(tensorbus.ones(1))
        net.register_parameter("bias", None)
        net.register_buffer("count", tensorbus.zeros(1))
        net.swapped = nn.ReLU()
        net.add_module("kept", nn.ReLU())
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["weight"]  # as in PyTorch, no parameter that is None
    assert net.count.item() == 1.0
    assert (type(net.swapped), type(net.kept)) == (nn.Identity, nn.ReLU)


def test_older_global_backward_hook():
    seen = []
    EVERYWHERE.hooks.backward_is_full = None  # one that is full, though removed, would count
    handle = registering.register_module_backward_hook(lambda m, gi, go: seen.append(type(m)))
    try:
        with pytest.warns(FutureWarning, match="multiple autograd Nodes"):
            nn.ReLU()(tensorbus.ones(2, requires_grad=True)).sum().backward()
    finally:
        handle.remove()
        EVERYWHERE.hooks.backward_is_full = None
    assert seen == [nn.ReLU]


def test_what_load_state_dict_returns_has_pytorch_s_name():
    result = nn.Linear(1, 1).load_state_dict({}, strict=False)
    assert type(result) is registering._IncompatibleKeys
    missing, unexpected = result
    assert (missing, unexpected) == (["weight", "bias"], [])
