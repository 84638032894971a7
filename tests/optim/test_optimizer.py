"""Optimizer: groups, closures, gradients, hooks, checkpoints, subclasses."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import tensorbus
from tensorbus import nn, optim


def parameter(*values):
    return nn.Parameter(tensorbus.tensor(values))


def with_grad(values, grad):
    param = parameter(*values)
    param.grad = tensorbus.tensor(grad)
    return param


def test_sgd_by_hand():
    param = with_grad([1.0, 2.0], [10.0, -10.0])
    optimizer = optim.SGD([param], lr=0.1, momentum=0.5, weight_decay=1.0)
    optimizer.step()
    assert param.tolist() == pytest.approx([1.0 - 0.1 * 11, 2.0 + 0.1 * 8])
    optimizer.step()
    second = 0.5 * 11 + (10 - 0.1)
    assert param.tolist()[0] == pytest.approx(-0.1 - 0.1 * second)


def test_parameters_without_gradients_stay():
    still, moved = parameter(1.0), with_grad([1.0], [1.0])
    optimizer = optim.Adam([still, moved], lr=0.1)
    optimizer.step()
    assert still.tolist() == [1.0]
    assert moved.tolist() == pytest.approx([0.9])
    assert list(optimizer.state) == [moved]


def test_steps_are_not_recorded_and_keep_the_parameter_a_leaf():
    param = with_grad([1.0], [1.0])
    optim.SGD([param], lr=0.1).step()
    assert param.is_leaf
    assert param.requires_grad
    (param * 2).backward()
    assert param.grad.tolist() == [3.0]


def test_groups_have_options_of_their_own():
    a, b = with_grad([1.0], [1.0]), with_grad([1.0], [1.0])
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    c = with_grad([1.0], [1.0])
    optimizer.add_param_group({"params": [c], "lr": 1.0})
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == pytest.approx([0.9, 0.5, 0.0])
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0]


def test_changing_an_option_takes_effect():
    param = with_grad([1.0], [1.0])
    optimizer = optim.SGD([param], lr=0.1)
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    assert param.tolist() == [0.5]


def test_the_rate_may_be_a_tensor():
    param = with_grad([1.0], [1.0])
    rate = tensorbus.tensor(0.25)
    optimizer = optim.SGD([param], lr=rate)
    optimizer.step()
    assert param.tolist() == [0.75]
    rate.fill_(0.5)
    optimizer.step()
    assert param.tolist() == [0.25]


def test_a_closure_runs_with_gradients_on_and_its_loss_is_returned():
    param = parameter(3.0)
    optimizer = optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with tensorbus.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 9.0
    assert param.tolist() == pytest.approx([2.4])


def test_zero_grad():
    param = with_grad([1.0], [1.0])
    optimizer = optim.SGD([param], lr=0.1)
    kept = param.grad
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is kept
    assert kept.tolist() == [0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_duplicates_in_a_group_warn():
    param = parameter(1.0)
    with pytest.warns(UserWarning, match="a parameter group with duplicate parameters"):
        optim.SGD([param, param], lr=0.1)


def test_state_dict_numbers_parameters_through():
    a, b, c = (with_grad([1.0], [1.0]) for _ in range(3))
    optimizer = optim.SGD([{"params": [a, b]}, {"params": [c]}], lr=0.1, momentum=0.9)
    optimizer.step()
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0, 1], [2]]
    assert list(state["state"]) == [0, 1, 2]
    assert state["state"][2]["momentum_buffer"].tolist() == [1.0]


def test_loading_converts_to_the_parameter_s_dtype_and_leaves_the_given_dict_alone():
    source = with_grad([1.0], [1.0])
    saver = optim.Adam([source])
    saver.step()
    target = nn.Parameter(tensorbus.ones(1).double())
    loader = optim.Adam([target], lr=0.5)
    saved = saver.state_dict()
    loader.load_state_dict(saved)
    state = loader.state[target]
    assert state["exp_avg"].dtype == tensorbus.float64
    assert state["step"].dtype == tensorbus.float32
    assert loader.param_groups[0]["lr"] == 1e-3
    assert loader.param_groups[0]["params"][0] is target
    assert saved["param_groups"][0]["params"] == [0]


def test_options_that_an_old_checkpoint_lacks_have_their_defaults():
    optimizer = optim.Adam([parameter(1.0)], amsgrad=True)
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False


def test_counts_of_steps_in_old_checkpoints_are_plain_numbers():
    param = with_grad([1.0], [1.0])
    optimizer = optim.Adam([param])
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 1
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 2.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_step_alike_and_on_their_own(copied):
    param = with_grad([1.0, 2.0], [1.0, -1.0])
    optimizer = optim.Adam([param], lr=0.1)
    optimizer.step()
    twin = copied(optimizer)
    (twin_param,) = twin.param_groups[0]["params"]
    assert twin_param is not param
    twin_param.grad = param.grad.clone()
    optimizer.step()
    twin.step()
    np.testing.assert_array_equal(param.detach().numpy(), twin_param.detach().numpy())
    assert param.detach().numpy().tolist() != [1.0, 2.0]


def test_step_hooks():
    param, calls = with_grad([1.0], [1.0]), []
    optimizer = optim.SGD([param], lr=0.1)
    before = optimizer.register_step_pre_hook(
        lambda opt, args, kwargs: calls.append(("pre", param.item()))
    )
    optimizer.register_step_post_hook(
        lambda opt, args, kwargs: calls.append(("post", round(param.item(), 3)))
    )
    optimizer.step()
    before.remove()
    optimizer.step()
    assert calls == [("pre", 1.0), ("post", 0.9), ("post", 0.8)]


def test_a_pre_hook_may_replace_the_arguments():
    param = with_grad([1.0], [1.0])
    optimizer = optim.SGD([param], lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: "loss"), {}))
    assert optimizer.step() == "loss"


def test_hooks_of_steps_get_pytorchs_arguments(oracle):
    def program(lib):
        seen = []
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))])

        def note(opt, args, kwargs):
            seen.append([opt is optimizer, len(args), args[0] is optimizer, sorted(kwargs)])

        optimizer.register_step_pre_hook(note)
        optimizer.register_step_post_hook(note)
        optimizer.step()
        optimizer.step(lambda: 1.0)
        optimizer.step(closure=lambda: 1.0)
        return seen

    assert program(tensorbus) == oracle(program)


def test_a_closures_loss_is_read_without_a_warning():
    """LBFGS reads it where nothing records, as PyTorch does."""
    param = parameter(1.0)
    optimizer = optim.LBFGS([param])

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    tensorbus.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            optimizer.step(closure)
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            float(param)
    finally:
        tensorbus.set_warn_always(False)


def test_state_dict_hooks():
    optimizer = optim.SGD([parameter(1.0)], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("pre"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
    state = optimizer.state_dict()
    assert calls == ["pre"]
    assert state["more"] == 1

    def halve(opt, state):
        groups = [{**group, "lr": group["lr"] / 2} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(halve)
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("loaded"))
    optimizer.load_state_dict(state)
    assert calls == ["pre", "loaded"]
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_a_user_s_optimizer_defines_step_and_gets_hooks():
    class SignDescent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with tensorbus.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.sub_(param.grad.sign() * group["lr"])

    param, calls = with_grad([1.0, 1.0], [5.0, -0.1]), []
    optimizer = SignDescent([param], lr=0.5)
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    optimizer.step()
    assert param.tolist() == [0.5, 1.5]
    assert calls == [1]


def test_required_options():
    from tensorbus.optim.optimizer import required

    with pytest.raises(ValueError, match="didn't specify a value of required optimization par"):
        optim.Optimizer([parameter(1.0)], {"lr": required})


def test_a_differentiable_step_is_recorded():
    rate_of = tensorbus.tensor(2.0, requires_grad=True)
    param = (rate_of * 1.0).reshape(1)
    param.retain_grad()
    param.grad = (rate_of * 3.0).reshape(1)
    optim.SGD([param], lr=0.5, differentiable=True).step()
    param.sum().backward()
    assert rate_of.grad.item() == pytest.approx(1.0 - 0.5 * 3.0)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Rprop", "NAdam"])
def test_a_line_is_fitted(name):
    tensorbus.manual_seed(0)
    x = tensorbus.linspace(-1, 1, 32).reshape(-1, 1)
    target = 3 * x - 0.5
    layer = nn.Linear(1, 1)
    optimizer = getattr(optim, name)(layer.parameters(), lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        nn.functional.mse_loss(layer(x), target).backward()
        optimizer.step()
    assert layer.weight.item() == pytest.approx(3, abs=0.05)
    assert layer.bias.item() == pytest.approx(-0.5, abs=0.05)


def test_lbfgs_finds_the_minimum_of_rosenbrock_s_valley():
    point = parameter(-1.5, 2.0)
    optimizer = optim.LBFGS([point], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (point[1] - point[0] ** 2) ** 2 + (1 - point[0]) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    assert point.tolist() == pytest.approx([1.0, 1.0], abs=1e-2)


def test_lbfgs_knows_only_one_line_search():
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([parameter(1.0)], line_search_fn="armijo")
