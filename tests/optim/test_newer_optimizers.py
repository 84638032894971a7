"""Muon and Adafactor on devices, global hooks of steps, and the tables that programs look into."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus
from tensorbus import nn, optim
from tensorbus.optim import lr_scheduler, optimizer


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def polynomial(matrix, steps=5):
    """The iteration of Newton and Schulz in float64."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / np.linalg.norm(x)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


ULPS = 2.0**-8 * 16
"""bfloat16 rounds each of the 15 products of five steps, of numbers up to about 1."""


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3)])
@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({}, lambda a, b: max(1, a / b) ** 0.5),
        ({"adjust_lr_fn": "match_rms_adamw"}, lambda a, b: 0.2 * max(a, b) ** 0.5),
        ({"nesterov": False, "momentum": 0.5}, lambda a, b: max(1, a / b) ** 0.5),
    ],
    ids=["original", "rms", "plain"],
)
def test_muon_steps_along_orthogonal_momentum(shape, options, factor, device):
    start = draw(*shape)
    param = nn.Parameter(tensorbus.tensor(start).float().to(device))
    made = optim.Muon([param], lr=0.5, weight_decay=0.2, **options)
    momentum, nesterov = made.defaults["momentum"], made.defaults["nesterov"]
    expected, v = start, np.zeros(shape)
    for t in range(3):
        g = draw(*shape, seed=t + 1)
        param.grad = tensorbus.tensor(g).float().to(device)
        made.step()
        v = momentum * v + (1 - momentum) * g
        direction = momentum * v + (1 - momentum) * g if nesterov else v
        update = polynomial(direction)
        expected = expected * (1 - 0.5 * 0.2) - 0.5 * factor(*shape) * update
        bound = ULPS * (t + 1) * 0.5 * factor(*shape)
        np.testing.assert_allclose(param.detach().cpu().numpy(), expected, atol=bound)
        buffer = made.state[param]["momentum_buffer"].cpu().numpy()
        np.testing.assert_allclose(buffer, v, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 5), (2, 6), (6, 2)])
def test_muon_is_near_pytorch_s(shape, oracle):
    def program(lib):
        param = lib.nn.Parameter(lib.tensor(draw(*shape)))
        made = lib.optim.Muon([param], lr=0.1)
        for t in range(4):
            param.grad = lib.tensor(draw(*shape, seed=t + 1))
            made.step()
        return param, made.state_dict()

    param, state = program(tensorbus)
    # Which products round how is the processor's choice.
    theirs, their_state = oracle(program, rtol=0.05)
    bound = ULPS * 4 * 0.1 * max(1, shape[0] / shape[1]) ** 0.5
    np.testing.assert_allclose(param.detach().numpy(), theirs.values, atol=bound)
    assert state["param_groups"] == [
        {**group, "ns_coefficients": tuple(group["ns_coefficients"])}
        for group in their_state["param_groups"]
    ]
    buffer = state["state"][0]["momentum_buffer"]
    np.testing.assert_allclose(
        buffer.numpy(), their_state["state"][0]["momentum_buffer"].values, rtol=1e-10
    )


def adafactor(p, grads, lr=0.3, decay=0.1, lowest=1e-3, least=0.1, d=1.0):
    """The published formulas in float64."""
    row = column = flat = 0.0
    for t, g in enumerate(grads, 1):
        new = t**-0.8
        size = max(least, np.sqrt((p * p).mean())) * min(lr, t**-0.5)
        p = p * (1 - lr * decay)
        if g.ndim > 1:
            row = (1 - new) * row + new * (g * g).mean(-1, keepdims=True)
            column = (1 - new) * column + new * (g * g).mean(-2, keepdims=True)
            moments = row * column / np.maximum(row.mean(-2, keepdims=True), lowest)
        else:
            moments = flat = (1 - new) * flat + new * g * g
        update = g / np.sqrt(np.maximum(moments, lowest**2))
        p = p - size * update / max(1.0, np.sqrt((update * update).mean()) / d)
    return p


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4), (), (0, 3)])
@pytest.mark.parametrize("lowest", [1e-3, 0.5])
def test_adafactor_follows_its_formulas(shape, lowest, device):
    start, grads = draw(*shape), [draw(*shape, seed=t) * 10.0 ** (t - 2) for t in range(1, 6)]
    param = nn.Parameter(tensorbus.tensor(start).float().to(device))
    made = optim.Adafactor([param], lr=0.3, weight_decay=0.1, eps=(lowest, 0.1))
    for g in grads:
        param.grad = tensorbus.tensor(g).float().to(device)
        made.step()
    found = param.detach().cpu().numpy()
    if param.numel():
        # float32: five steps of a few dozen roundings each
        expected = adafactor(np.float64(start), [np.float64(g) for g in grads], lowest=lowest)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert found.shape == shape


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_complex_parameters_are_refused(name):
    param = nn.Parameter(tensorbus.ones(2, 2, dtype=tensorbus.complex64))
    param.grad = tensorbus.ones(2, 2, dtype=tensorbus.complex64)
    with pytest.raises(RuntimeError, match=f"{name} does not support complex parameters"):
        getattr(optim, name)([param]).step()


def test_sparse_adam_refuses_dense_gradients():
    param = nn.Parameter(tensorbus.ones(2))
    param.grad = tensorbus.ones(2)
    with pytest.raises(RuntimeError, match="does not support dense gradients, please consider"):
        optim.SparseAdam([param]).step()


def test_hooks_of_all_optimizers_run_around_those_of_one(oracle):
    def program(lib):
        from importlib import import_module

        home, seen = import_module(f"{lib.__name__}.optim.optimizer"), []

        def note(what):
            return lambda optimizer, args, kwargs: seen.append((what, type(optimizer).__name__))

        handles = [
            home.register_optimizer_step_pre_hook(note("all before")),
            home.register_optimizer_step_post_hook(note("all after")),
        ]
        try:
            param = lib.nn.Parameter(lib.ones(2))
            first = lib.optim.SGD([param])
            first.register_step_pre_hook(note("before"))
            first.register_step_post_hook(note("after"))
            first.step()
            lib.optim.Adam([param]).step()
        finally:
            for handle in handles:
                handle.remove()
        lib.optim.Adam([param]).step()
        return seen

    assert program(tensorbus) == [tuple(each) for each in oracle(program)]


SORTS = [
    "step_pre",
    "step_post",
    "state_dict_pre",
    "state_dict_post",
    "load_state_dict_pre",
    "load_state_dict_post",
]


@pytest.mark.parametrize("sort", SORTS)
def test_tables_of_hooks_can_be_read_and_emptied(sort):
    made = optim.SGD([nn.Parameter(tensorbus.ones(2))])
    table, calls = f"_optimizer_{sort}_hooks", []
    assert len(getattr(made, table)) == 0
    hook = lambda *args: calls.append(args)  # noqa: E731
    getattr(made, f"register_{sort}_hook")(hook)
    assert list(getattr(made, table).values()) == [hook]

    def use():
        made.step()
        made.load_state_dict(made.state_dict())

    use()
    assert len(calls) == 1
    getattr(made, table).clear()
    use()
    assert len(calls) == 1


def test_the_older_base_of_schedules():
    class Halving(lr_scheduler._LRScheduler):
        def get_lr(self):
            return [base * 0.5**self.last_epoch for base in self.base_lrs]

    made = optim.SGD([nn.Parameter(tensorbus.ones(2))], lr=1.0)
    schedule = Halving(made)
    made.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5]
    assert isinstance(schedule, lr_scheduler.LRScheduler)
    assert not optimizer._global_optimizer_pre_hooks
