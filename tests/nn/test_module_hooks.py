"""Hooks of modules: what they see, what they may change, and in which order they run."""

import copy

import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
)


class Doubler(nn.Module):
    def forward(self, x, *, add=0.0):
        return x * 2 + add


def number(tensor):
    return tensor.item()


ONE = tensorbus.tensor(1.0)


def test_pre_hook_replaces_arguments():
    module = Doubler()
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert number(module(ONE)) == 4.0
    module.register_forward_pre_hook(lambda m, args: (args[0] * 10,))
    assert number(module(ONE)) == 40.0
    module.register_forward_pre_hook(lambda m, args: None)
    assert number(module(ONE)) == 40.0


def test_pre_hook_with_kwargs():
    module = Doubler()
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"add": kwargs["add"] + 1}), with_kwargs=True
    )
    assert number(module(ONE, add=1.0)) == 4.0


def test_pre_hook_with_kwargs_must_return_both():
    module = Doubler()
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        module(ONE)


def test_forward_hook_sees_and_replaces_the_output():
    module = Doubler()
    seen = []
    module.register_forward_hook(lambda m, args, out: seen.append((m, number(args[0]))))
    module.register_forward_hook(lambda m, args, out: out * 100)
    module.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["add"], with_kwargs=True)
    assert number(module(ONE, add=1.0)) == 301.0
    assert seen == [(module, 1.0)]


def test_prepend_runs_first():
    module, order = Doubler(), []
    module.register_forward_hook(lambda *_: order.append("a"))
    module.register_forward_hook(lambda *_: order.append("b"), prepend=True)
    module(ONE)
    assert order == ["b", "a"]


def test_handles_remove_hooks():
    module, calls = Doubler(), []
    handle = module.register_forward_hook(lambda *_: calls.append(1))
    handle.remove()
    handle.remove()
    module(ONE)
    assert calls == []
    with module.register_forward_hook(lambda *_: calls.append(2)):
        module(ONE)
    module(ONE)
    assert calls == [2]


def test_a_hook_may_remove_itself():
    module, calls = Doubler(), []

    def once(*_):
        calls.append(1)
        handle.remove()

    handle = module.register_forward_hook(once)
    module(ONE)
    module(ONE)
    assert calls == [1]


def test_always_call_runs_after_an_error_and_once_otherwise():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    seen = []
    module = Fails()
    module.register_forward_hook(lambda m, a, out: seen.append("plain"))
    module.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    with pytest.raises(KeyError, match="inside"):
        module(1)
    assert seen == [None]

    fine, seen = Doubler(), []
    fine.register_forward_hook(lambda m, a, out: seen.append(number(out)), always_call=True)
    fine(ONE)
    assert seen == [2.0]


def test_an_error_in_an_always_called_hook_does_not_hide_the_first_one():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    module = Fails()

    def broken(m, args, out):
        raise ValueError("hook")

    module.register_forward_hook(broken, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(KeyError, match="inside"):
        module(1)


def test_global_hooks_run_before_the_module_s_own():
    order = []
    module = Doubler()
    module.register_forward_hook(lambda *_: order.append("own"))
    module.register_forward_pre_hook(lambda *_: order.append("own pre"))
    handles = [
        register_module_forward_hook(lambda *_: order.append("global")),
        register_module_forward_pre_hook(lambda *_: order.append("global pre")),
    ]
    try:
        module(ONE)
        Doubler()(ONE)
    finally:
        for handle in handles:
            handle.remove()
    module(ONE)
    assert order == [
        *("global pre", "own pre", "global", "own"),
        *("global pre", "global"),
        *("own pre", "own"),
    ]


def test_backward_hook_sees_gradients_on_both_sides():
    module, seen = Doubler(), []
    module.register_full_backward_hook(
        lambda m, grad_in, grad_out: seen.append((number(grad_in[0]), number(grad_out[0])))
    )
    x = tensorbus.tensor(1.0, requires_grad=True)
    (module(x) * 5).backward()
    assert seen == [(10.0, 5.0)]
    assert number(x.grad) == 10.0


def test_backward_hooks_replace_gradients():
    module = Doubler()
    module.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 10,))
    module.register_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] + 1,))
    x = tensorbus.tensor(1.0, requires_grad=True)
    module(x).backward()
    assert number(x.grad) == 21.0


def test_backward_hook_with_arguments_that_are_no_tensors():
    class Scale(nn.Module):
        def forward(self, factor, x, fixed):
            return x * factor, fixed

    module, seen = Scale(), []
    module.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append(grad_in))
    x = tensorbus.tensor(2.0, requires_grad=True)
    result, _ = module(3.0, x, tensorbus.tensor(1.0))
    result.backward()
    ((first, second, third),) = seen
    assert first is None
    assert third is None
    assert number(second) == 3.0
    assert number(x.grad) == 3.0


def test_backward_hook_where_no_input_needs_a_gradient():
    layer, seen = nn.Linear(1, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, number(go[0]))))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(tensorbus.ones(1)).sum().backward()
    assert seen == [((None,), 1.0)]
    assert number(layer.bias.grad) == 1.0


def test_a_backward_hook_that_returns_too_many_gradients():
    module = Doubler()
    module.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    x = tensorbus.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        module(x).backward()


def test_backward_hook_leaves_values_and_no_grad_mode_alone():
    module, seen = Doubler(), []
    module.register_full_backward_hook(lambda *_: seen.append(1))
    x = tensorbus.tensor(3.0, requires_grad=True)
    with tensorbus.no_grad():
        result = module(x)
    assert number(result) == 6.0
    assert not result.requires_grad
    assert seen == []


def test_global_backward_hook():
    seen = []
    handle = register_module_full_backward_hook(lambda m, gi, go: seen.append(type(m).__name__))
    try:
        x = tensorbus.tensor(1.0, requires_grad=True)
        nn.Sequential(Doubler(), nn.ReLU())(x).backward()
    finally:
        handle.remove()
    assert seen == ["ReLU", "Doubler", "Sequential"]


def test_hooks_are_copied_with_the_module():
    module = Doubler()
    module.register_forward_hook(lambda m, args, out: out + 1)
    twin = copy.deepcopy(module)
    assert number(twin(ONE)) == 3.0
    assert twin._hooks is not module._hooks
